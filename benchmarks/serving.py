"""The server under load, beside two others of the same model.

    python benchmarks/serving.py model DIR TOKENIZER           an ALBERT-base with random weights, and its ONNX
    python benchmarks/serving.py throughput DIR --texts FILE   64 clients: requests a second of three servers
    python benchmarks/serving.py overload DIR --texts FILE     goodput and rejections at three times the peak
    python benchmarks/serving.py half-load DIR --texts FILE    latencies at half of the peak
    python benchmarks/serving.py memory DIR --texts FILE       memory of the server over some minutes of load

Texts are lines of FILE. All servers have the same threads and requests; the scores of the first of them are compared,
label by label, before a server is timed, and those of all afterwards. Times include the client, which runs on the same
machine.
"""

import argparse
import asyncio
import itertools
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from subprocess import Popen
from typing import Any

import numpy as np
from measurement.server_load import Answer, closed_loop, open_loop
from measurement.server_process import running_server

HERE = Path(__file__).parent
TOLERANCE = 1e-4
SAME_BATCH_SECONDS = 0.05
COMPARED_FIRST = 64
SERVERS = ["litebert", "onnxruntime", "transformers", "litebert-onnx", "litebert"]
"""In this order; what is measured twice shows how steady the machine is."""


def build(arguments: argparse.Namespace) -> None:
    """Write the model and its export."""
    import torch

    from litebert.commands.export import ExportRun, export
    from litebert.model.io.model_directory import save_model
    from litebert.model.models import ForSequenceClassification
    from litebert.model.presets import preset
    from litebert.tokenization.tokenizer import Tokenizer

    torch.manual_seed(0)
    tokenizer = Tokenizer.load(arguments.tokenizer)
    model = ForSequenceClassification(preset("albert-base-v2").replace(vocab_size=tokenizer.vocab_size), num_labels=2)
    save_model(
        model,
        arguments.model,
        labels=("0", "1"),
        problem_type="single_label_classification",
        extra_files=tokenizer.files(),
    )
    export(ExportRun(model=str(arguments.model), out=str(arguments.model) + "-onnx"))


def server(name: str, arguments: argparse.Namespace) -> AbstractContextManager[Popen[bytes]]:
    """The process of a running server: litebert with torch or onnxruntime, or one of the contestants."""
    model = f"{arguments.model}-onnx" if "onnx" in name else str(arguments.model)
    environment = {"OMP_NUM_THREADS": str(arguments.threads)}
    if name.startswith("litebert"):
        words = ["-m", "litebert", "serve", model, "--port", str(arguments.port), "--threads", str(arguments.threads)]
        words += ["--timeout-seconds", "600", "--receive-timeout-seconds", "600"]
        words += ["--runtime", "onnx"] if "onnx" in name else ["--device", "cpu"]
    else:
        words = ["-m", "uvicorn", "--factory", "libraries.serving_contestants:create", "--port", str(arguments.port)]
        words += ["--app-dir", str(HERE), "--log-level", "error"]
        environment |= {"CONTESTANT": name, "MODEL": model, "THREADS": str(arguments.threads)}
    return running_server(words, port=arguments.port, environment=environment)


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Median and 99th percentile in milliseconds; empty without values."""
    if not values:
        return {}
    return {f"p{q}_ms": round(float(np.percentile(values, q)) * 1000, 1) for q in (50, 99)}


def throughput(arguments: argparse.Namespace) -> dict[str, Any]:
    """Requests a second and latencies of each server, in the order of `--servers`; ValueError for other scores."""
    texts = lines(arguments)[: arguments.requests]
    result: dict[str, list[dict[str, Any]]] = {}
    reference: list[dict[str, float]] = []
    for name in arguments.servers:
        with server(name, arguments):
            if reference:
                compare(scores(load(texts[:COMPARED_FIRST], arguments)), reference, name)
            answers = load(texts, arguments)
        reference = reference or scores(answers)
        compare(scores(answers), reference, name)
        seconds = max(answer.at for answer in answers)
        latencies = percentiles([answer.latency for answer in answers])
        measured = {"requests": len(texts), "requests_per_second": round(len(texts) / seconds, 2), **latencies}
        result.setdefault(name, []).append(measured)
        print(name, measured, file=sys.stderr)
    return result


def scores(answers: Sequence[Answer]) -> list[dict[str, float]]:
    """The score of each label of each answer."""
    return [{each["label"]: each["score"] for each in answer.body} for answer in answers]


def compare(found: Sequence[dict[str, float]], expected: Sequence[dict[str, float]], name: str) -> None:
    """Raise ValueError where a label has another score than in `expected`, which may be longer."""
    for scored, reference in zip(found, expected, strict=False):
        if scored.keys() != reference.keys():
            raise ValueError(f"{name}: labels {sorted(scored)}, expected {sorted(reference)}")
        difference = max(abs(scored[label] - reference[label]) for label in scored)
        if not difference < TOLERANCE:
            raise ValueError(f"{name}: scores differ by {difference}")


def overload(arguments: argparse.Namespace) -> dict[str, Any]:
    """Rounds of peak load and of three times as much, because the speed of a machine with neighbours varies."""
    texts = lines(arguments)[: arguments.requests]  # the same mix of lengths for both rates
    answers: list[Answer] = []
    with server("litebert", arguments) as process:
        peaks, goodput = [measured_peak(texts, process, arguments)], []
        for _ in range(arguments.rounds):
            before = processor_seconds(process)
            load_of_round = open_loop(
                texts, port=arguments.port, per_second=3 * peaks[0]["per_second"], seconds=arguments.seconds
            )
            of_round = asyncio.run(load_of_round)
            answered = [answer for answer in of_round if answer.status == 200]
            inside = [answer for answer in answered if answer.at <= arguments.seconds]
            goodput.append(speed(rate(inside), len(answered), processor_seconds(process) - before))
            answers += of_round
            peaks.append(measured_peak(texts, process, arguments))
        alone = load(texts[:20], arguments, clients=1)
    neighbours = [(one["per_second"] + two["per_second"]) / 2 for one, two in itertools.pairwise(peaks)]
    shares = [each["per_second"] / peak for each, peak in zip(goodput, neighbours, strict=True)]
    statuses = sorted({answer.status for answer in answers})
    return {
        "peaks": peaks,
        "goodput": goodput,
        "goodput_shares_of_peak": [round(share, 3) for share in shares],
        "median_share": round(float(np.median(shares)), 3),
        "statuses": {str(status): sum(answer.status == status for answer in answers) for status in statuses},
        **{
            name: percentiles([answer.latency for answer in answers if answer.status == status])
            for name, status in (("rejected", 429), ("answered", 200))
        },
        "alone_afterwards": percentiles([answer.latency for answer in alone]),
    }


def half_load(arguments: argparse.Namespace) -> dict[str, Any]:
    """Latencies of requests that arrive at random at half the rate that the server answers at most."""
    texts = lines(arguments)[: arguments.requests]
    with server("litebert", arguments) as process:
        peak = measured_peak(texts, process, arguments)
        per_second = peak["per_second"] / 2
        answers = asyncio.run(open_loop(texts, port=arguments.port, per_second=per_second, seconds=arguments.seconds))
    latencies = percentiles([answer.latency for answer in answers])
    return {
        "peak": peak,
        "offered_per_second": round(per_second, 2),
        "requests": len(answers),
        "lost": sum(answer.status != 200 for answer in answers),
        **latencies,
        "p99_by_p50": round(latencies["p99_ms"] / latencies["p50_ms"], 2),
    }


def measured_peak(texts: Sequence[str], process: Popen[bytes], arguments: argparse.Namespace) -> dict[str, float]:
    """The `speed` while every client waits for an answer."""
    before = processor_seconds(process)
    answers = load(texts, arguments)
    return speed(rate(answers), len(answers), processor_seconds(process) - before)


def speed(per_second: float, answers: int, processor: float) -> dict[str, float]:
    """Answers a second, and a second of the server's processor time."""
    return {"per_second": round(per_second, 2), "per_processor_second": round(answers / processor, 2)}


def memory(arguments: argparse.Namespace) -> dict[str, Any]:
    """Memory of the first of `--servers` after each load of `--requests` random texts, for `--seconds`."""
    texts, generator = lines(arguments), np.random.default_rng(0)
    with server(arguments.servers[0], arguments) as process:
        begin, requests = time.monotonic(), 0
        resident: dict[int, int] = {}
        while (now := time.monotonic() - begin) < arguments.seconds:
            chosen = [texts[index] for index in generator.integers(len(texts), size=arguments.requests)]
            answers = asyncio.run(closed_loop(chosen, port=arguments.port, clients=arguments.clients))
            requests += sum(answer.status == 200 for answer in answers)
            resident[round(now)] = resident_mib(process)
    reached = [minute for minute in (1, 5, 10) if 60 * minute <= arguments.seconds]
    minutes = {
        minute: next((mib for now, mib in resident.items() if now >= 60 * minute - 30), None) for minute in reached
    }
    return {"requests": requests, "rss_mib_at_minutes": minutes, "rss_mib": list(resident.values())}


def load(texts: Sequence[str], arguments: argparse.Namespace, *, clients: int | None = None) -> list[Answer]:
    """The answers to some texts, all with status 200."""
    answers = asyncio.run(closed_loop(texts, port=arguments.port, clients=clients or arguments.clients))
    statuses = {answer.status for answer in answers}
    assert statuses == {200}, f"a request was not answered: {statuses}"
    return answers


def rate(answers: Sequence[Answer]) -> float:
    """Answers a second between the first batch, which fills the queue, and the last answer."""
    times = np.sort([answer.at for answer in answers])
    after = times[times > times[0] + SAME_BATCH_SECONDS]
    return len(after) / float(times[-1] - times[0])


def resident_mib(process: Popen[bytes]) -> int:
    """Memory that the process holds now."""
    return int(Path(f"/proc/{process.pid}/status").read_text().split("VmRSS:")[1].split()[0]) // 1024


def processor_seconds(process: Popen[bytes]) -> float:
    """Processor time of the process so far, in its own code and in the system."""
    user, system = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def lines(arguments: argparse.Namespace) -> list[str]:
    return arguments.texts.read_text(encoding="utf-8").splitlines()


COMMANDS = {"throughput": throughput, "overload": overload, "half-load": half_load, "memory": memory}


def main() -> None:
    """Build the model, or print what one command measures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("model", *COMMANDS))
    parser.add_argument("model", type=Path)
    parser.add_argument("tokenizer", type=Path, nargs="?")
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--servers", nargs="+", default=SERVERS)
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--requests", type=int, default=512)
    parser.add_argument("--seconds", type=float, help="30; of memory 600")
    parser.add_argument("--rounds", type=int, default=4, help="of overload")
    arguments = parser.parse_args()
    if arguments.command == "model":
        build(arguments)
        return
    if arguments.seconds is None:
        arguments.seconds = 600.0 if arguments.command == "memory" else 30.0
    result = {"command": arguments.command, "threads": arguments.threads, "clients": arguments.clients}
    print(json.dumps(result | COMMANDS[arguments.command](arguments), indent=2))


if __name__ == "__main__":
    main()
