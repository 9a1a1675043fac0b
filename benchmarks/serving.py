"""The server under load, beside two others of the same model.

    python benchmarks/serving.py model DIR TOKENIZER           an ALBERT-base with random weights, and its ONNX
    python benchmarks/serving.py throughput DIR --texts FILE   64 clients: requests a second of three servers
    python benchmarks/serving.py overload DIR --texts FILE     goodput and rejections at three times the peak
    python benchmarks/serving.py memory DIR --texts FILE       memory of the server over some minutes of load

Texts are lines of FILE. All servers have the same threads; their scores are compared before anything is timed. Times
include the client, which runs on the same machine.
"""

import argparse
import asyncio
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

PORT = 8765
URL = f"http://127.0.0.1:{PORT}"
HERE = Path(__file__).parent
TOLERANCE = 1e-4


def build(arguments: argparse.Namespace) -> None:
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


@contextmanager
def server(name: str, arguments: argparse.Namespace) -> Iterator[int]:
    """The process id of a running server: litebert with torch or onnxruntime, or one of the contestants."""
    model = f"{arguments.model}-onnx" if "onnx" in name else str(arguments.model)
    command, environment = [], {**os.environ, "OMP_NUM_THREADS": str(arguments.threads), "HF_HUB_OFFLINE": "1"}
    if name.startswith("litebert"):
        command = ["-m", "litebert", "serve", model, "--port", str(PORT), "--threads", str(arguments.threads)]
        command += ["--timeout-seconds", "600", *(["--runtime", "onnx"] if "onnx" in name else [])]
    else:
        command = ["-m", "uvicorn", "--factory", "serving_contestants:create", "--port", str(PORT)]
        command += ["--app-dir", str(HERE), "--log-level", "error"]
        environment |= {"CONTESTANT": name, "MODEL": model, "THREADS": str(arguments.threads)}
    process = subprocess.Popen([sys.executable, *command], env=environment)
    try:
        wait_for_answer(process)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def wait_for_answer(process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            if httpx.post(f"{URL}/predict", json={"inputs": "a"}, timeout=60).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise SystemExit("the server ended before it answered")


async def closed_loop(texts: Sequence[str], *, clients: int) -> tuple[list[float], list[float], float]:
    """Score and latency in seconds of each text, and the seconds of all: each client asks when it has its answer."""
    waiting = iter(enumerate(texts))
    scores, latencies = [0.0] * len(texts), [0.0] * len(texts)
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx.AsyncClient(base_url=URL, timeout=600, limits=limits) as session:

        async def client() -> None:
            for index, text in waiting:
                started = time.monotonic()
                response = await session.post("/predict", json={"inputs": text})
                response.raise_for_status()
                latencies[index] = time.monotonic() - started
                scores[index] = max(each["score"] for each in response.json())

        started = time.monotonic()
        await asyncio.gather(*(client() for _ in range(clients)))
        return scores, latencies, time.monotonic() - started


async def open_loop(texts: Sequence[str], *, per_second: float, seconds: float) -> list[tuple[int, float, float]]:
    """(status or 0, latency, time of the answer) of requests that arrive as a Poisson process, whatever is answered."""
    arrivals = np.random.default_rng(0).exponential(1 / per_second, int(per_second * seconds)).cumsum()
    found: list[tuple[int, float, float]] = []
    begin = time.monotonic()

    async def ask(at: float, text: str) -> None:
        await asyncio.sleep(max(0.0, begin + at - time.monotonic()))
        started = time.monotonic()
        status = await ask_once(text)
        now = time.monotonic()
        found.append((status, now - started, now - begin))

    await asyncio.gather(*map(ask, arrivals, itertools.cycle(texts)))
    return found


async def ask_once(text: str) -> int:
    """The status of a request on a connection of its own, 0 if that fails.

    Without httpx, whose connection pool needs more of the processor than the server with hundreds of open requests.
    """
    body = json.dumps({"inputs": text}).encode()
    head = f"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
        writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
        answer = await reader.read()
        writer.close()
        return int(answer.split()[1])
    except (OSError, IndexError):
        return 0


def percentiles(values: Sequence[float]) -> dict[str, float]:
    return {f"p{q}_ms": round(float(np.percentile(values, q)) * 1000, 1) for q in (50, 99)}


def throughput(arguments: argparse.Namespace) -> dict[str, Any]:
    texts = lines(arguments)
    result: dict[str, Any] = {}
    reference: list[float] = []
    for name in arguments.servers:
        count = arguments.requests if name.startswith("litebert") else arguments.requests_of_others
        with server(name, arguments):
            scores, latencies, seconds = asyncio.run(closed_loop(texts[:count], clients=arguments.clients))
        reference = reference or scores
        difference = float(np.abs(np.subtract(scores, reference[:count])).max())
        assert difference < TOLERANCE, f"{name}: scores differ by {difference}"
        result[name] = {"requests": count, "requests_per_second": round(count / seconds, 2), **percentiles(latencies)}
        print(name, result[name], file=sys.stderr)
    return result


def overload(arguments: argparse.Namespace) -> dict[str, Any]:
    texts = lines(arguments)
    with server("litebert", arguments):
        peak_requests = min(arguments.requests, len(texts))
        _, _, seconds = asyncio.run(closed_loop(texts[:peak_requests], clients=arguments.clients))
        peak = peak_requests / seconds
        found = asyncio.run(open_loop(texts, per_second=3 * peak, seconds=arguments.seconds))
        _, latencies, _ = asyncio.run(closed_loop(texts[:20], clients=1))
    inside = [status for status, _, at in found if at <= arguments.seconds]
    rejected = [latency for status, latency, _ in found if status == 429]
    return {
        "peak_per_second": round(peak, 2),
        "goodput_share_of_peak": round(inside.count(200) / arguments.seconds / peak, 3),
        "statuses": {str(status): sum(each[0] == status for each in found) for status in {each[0] for each in found}},
        "rejected": percentiles(rejected),
        "answered": percentiles([latency for status, latency, _ in found if status == 200]),
        "alone_afterwards": percentiles(latencies),
    }


def memory(arguments: argparse.Namespace) -> dict[str, Any]:
    texts = lines(arguments)
    with server("litebert", arguments) as process:
        resident = []
        end = time.monotonic() + arguments.seconds
        while time.monotonic() < end:
            asyncio.run(closed_loop(texts[: arguments.requests], clients=arguments.clients))
            status = Path(f"/proc/{process}/status").read_text()
            resident.append(int(status.split("VmRSS:")[1].split()[0]) // 1024)
    return {"rss_mb": resident, "growth": round(resident[-1] / resident[len(resident) // 5] - 1, 4)}


def lines(arguments: argparse.Namespace) -> list[str]:
    return arguments.texts.read_text(encoding="utf-8").splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["model", "throughput", "overload", "memory"])
    parser.add_argument("model", type=Path)
    parser.add_argument("tokenizer", type=Path, nargs="?")
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--servers", nargs="+", default=["litebert", "litebert-onnx", "onnxruntime", "transformers"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--requests", type=int, default=512)
    parser.add_argument("--requests-of-others", type=int, default=192)
    parser.add_argument("--seconds", type=float, default=30)
    arguments = parser.parse_args()
    if arguments.command == "model":
        build(arguments)
        return
    commands = {"throughput": throughput, "overload": overload, "memory": memory}
    result = {"command": arguments.command, "threads": arguments.threads, "clients": arguments.clients}
    print(json.dumps(result | commands[arguments.command](arguments), indent=2))


if __name__ == "__main__":
    main()
