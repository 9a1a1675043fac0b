"""Speed and accuracy of prediction on a CPU: litebert against other libraries, ALBERT-base with random weights.

All start from the same weights and the same token ids; logits are compared with those of transformers in fp32 (of
litebert in fp32 if that is left out) before anything is timed, and a contestant in fp32 that differs is an error; of
those in other precisions the difference is stated. Contestants take turns, and each one's fastest call counts. On one
thread the processor time of the process is measured, which other processes do not lengthen much; on several threads
the time that passes.

    python benchmarks/inference.py FOLDER --prepare --tokenizer TOKENIZER --texts SST-2/dev.tsv dev-v1.1.json
    /other/environment/python benchmarks/libraries/quantize_openvino.py FOLDER
    OMP_NUM_THREADS=1 python benchmarks/inference.py FOLDER --threads 1 --out results.json
"""

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from libraries import inference_contestants as libraries
from libraries.inference_contestants import Contestant, Ids
from measurement.clocks import clock_for, fastest_in_turn

from litebert.files import write_json
from litebert.machine import environment
from litebert.model.io.model_directory import read_model_spec, save_model
from litebert.model.models import ForSequenceClassification
from litebert.model.prepacked.prepack import DENSE
from litebert.model.presets import preset
from litebert.tokenization.tokenizer import Tokenizer

MAX_LENGTH = 512
TOLERANCE = 1e-4
"""Of logits in fp32."""
CALLS = {"short": 20}
"""Consecutive calls of a turn: as in a server, the weights are in the cache where they fit."""


def main() -> None:
    """Prepare the files, or measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--texts", type=Path, nargs=2, help="a .tsv of SST-2 and a .json of SQuAD")
    parser.add_argument("--count", type=int, default=1000, help="texts of the offline case")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--cases", nargs="+", default=["short", "full", "offline"])
    parser.add_argument("--libraries", nargs="+", help="beginnings of their names (all)")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.prepare:
        sentences, paragraphs = arguments.texts
        tokenizer = Tokenizer.load(arguments.tokenizer)
        prepare(arguments.folder, tokenizer, sentences=sentences, paragraphs=paragraphs)
        return
    torch.set_num_threads(arguments.threads)
    result = measure(arguments.folder, arguments)
    print(table(result))
    if arguments.out:
        write_json(arguments.out, result)


def prepare(folder: Path, tokenizer: Tokenizer, *, sentences: Path, paragraphs: Path) -> None:
    """The model, its exports, and the texts: as many sentences as paragraphs, in turn."""
    folder.mkdir(parents=True, exist_ok=True)
    config = preset("albert-base-v2").replace(vocab_size=tokenizer.vocab_size)
    model = ForSequenceClassification(config, num_labels=2, seed=0)
    save_model(model, folder / "model", labels=("0", "1"), extra_files=tokenizer.files())
    short = [line.split("\t")[0] for line in sentences.read_text(encoding="utf-8").splitlines()[1:]]
    articles = json.loads(paragraphs.read_text(encoding="utf-8"))["data"]
    long = [paragraph["context"] for article in articles for paragraph in article["paragraphs"]]
    texts = [text for pair in zip(short, long, strict=False) for text in pair][:2000]
    ids = [[tokenizer.cls_id, *each[: MAX_LENGTH - 2], tokenizer.sep_id] for each in tokenizer.encode_batch(texts)]
    write_json(folder / "ids.json", ids)
    write_json(folder / "texts.json", texts)
    libraries.export_unrolled(folder / "model", folder)


def measure(folder: Path, arguments: Any) -> dict[str, Any]:
    """The logits, then the times of every contestant in every case."""
    ids = json.loads((folder / "ids.json").read_text(encoding="utf-8"))
    texts = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    config = read_model_spec(folder / "model").config
    random = np.random.default_rng(0)
    cases: dict[str, Ids] = {
        "short": [random.integers(5, config.vocab_size, 16).tolist()],
        "full": random.integers(5, config.vocab_size, (16, 128)).tolist(),
        "offline": ids[: arguments.count],
    }
    text_of = dict(zip(map(tuple, ids), texts, strict=True))
    contestants, failed = load_contestants(folder, text_of, threads=arguments.threads, chosen=arguments.libraries)
    result: dict[str, Any] = {
        "threads": arguments.threads,
        "environment": environment(),
        "packages": versions(),
        "failed": failed,
        "matmul_gflops": {name: matmul_gflops(name) for name in ("fp32", "bf16", "int8")},
        "tokens": {name: sum(map(len, case)) for name, case in cases.items()},
    }
    for name in arguments.cases:
        case = cases[name]
        used = [each for each in contestants if name == "offline" or not each.sorts or each.name == "litebert"]
        used = [each for each in used if name == "offline" or not each.name.startswith("sentence-transformers")]
        result[name] = rows(used, case, rounds=arguments.rounds, calls=CALLS.get(name, 1), threads=arguments.threads)
    if "full" in arguments.cases:
        result["parts"] = {name: parts(folder, name, cases["full"]) for name in ("fp32", "bf16", "int8")}
        for row in result["full"]:
            if row["library"] == "litebert":
                gflops = encoder_flops(config, cases["full"]) / row["seconds"] / 1e9
                row["of_matmul"] = gflops / result["matmul_gflops"][row["precision"]]
    return result


def load_contestants(
    folder: Path, texts: dict[tuple[int, ...], str], *, threads: int, chosen: Sequence[str] | None
) -> tuple[list[Contestant], dict[str, str]]:
    """Every contestant that loads, of the chosen libraries, and the errors of the others."""
    int8 = folder / "model-int8.xml"
    loaders: dict[str, Callable[[], list[Contestant]]] = {
        "transformers": lambda: libraries.transformers(folder / "model"),
        "sentence-transformers torch": lambda: libraries.sentence_transformers(
            folder / "model", texts, backend="torch", threads=threads
        ),
        "sentence-transformers onnx": lambda: libraries.sentence_transformers(
            folder / "model", texts, backend="onnx", threads=threads
        ),
        "onnxruntime fp32": lambda: libraries.onnxruntime(folder / "model.onnx", "fp32", threads=threads),
        "onnxruntime int8": lambda: libraries.onnxruntime(folder / "model-int8.onnx", "int8", threads=threads),
        "openvino fp32": lambda: libraries.openvino(folder / "model.onnx", "fp32", threads=threads),
        "openvino bf16": lambda: libraries.openvino(folder / "model.onnx", "bf16", threads=threads),
        "openvino int8": lambda: libraries.openvino(int8, "int8", threads=threads),
        "litebert": lambda: libraries.litebert(folder / "model"),
    }
    loaded: list[Contestant] = []
    failed: dict[str, str] = {}
    for name, load in loaders.items():
        if chosen and not any(name.startswith(each) for each in chosen):
            continue
        try:
            loaded += load()
        except Exception as error:  # a contestant that crashes is a result
            failed[name] = f"{type(error).__name__}: {str(error)[:200]}"
    return loaded, failed


def rows(contestants: list[Contestant], ids: Ids, *, rounds: int, calls: int, threads: int) -> list[dict[str, Any]]:
    """Difference from the reference and fastest time of each, of `calls` in every turn."""
    differences = logit_differences(contestants, ids)
    actions = [partial(each.run, ids) for each in contestants]
    fastest = fastest_in_turn(actions, turns=rounds, calls=calls, clock=clock_for(threads))
    return [
        {
            "library": each.name,
            "precision": each.precision,
            "sorts": each.sorts,
            "seconds": seconds,
            "max_difference": difference,
        }
        for each, seconds, difference in zip(contestants, fastest, differences, strict=True)
    ]


def logit_differences(contestants: Sequence[Contestant], ids: Ids) -> list[float]:
    """Largest difference of each from the reference; ValueError if one in fp32 differs by more than rounding."""
    in_fp32 = [each for each in contestants if each.precision == "fp32"]
    references = [each for name in ("transformers", "litebert") for each in in_fp32 if each.name == name]
    if not references:
        raise ValueError("nothing to compare with: choose transformers or litebert among the libraries")
    reference = references[0].run(ids)
    differences = [float(np.abs(each.run(ids) - reference).max()) for each in contestants]
    for each, difference in zip(contestants, differences, strict=True):
        if each.precision == "fp32" and not difference <= TOLERANCE:
            raise ValueError(f"{each.name}, fp32: the logits differ by {difference:.1e} from {references[0].name}")
    return differences


def matmul_gflops(precision: Any) -> float:
    """The fastest of the four products of a block of ALBERT-base on 2,048 tokens, without activation."""
    shapes = ((768, 2304), (768, 768), (768, 3072), (3072, 768))
    return max(2e-9 * 2048 * width * outputs / product_seconds(precision, width, outputs) for width, outputs in shapes)


def product_seconds(precision: Any, inputs: int, outputs: int) -> float:
    """Of the fastest of seven products; operands are already in the precision."""
    generator = torch.Generator().manual_seed(0)
    dense = DENSE[precision](torch.randn(outputs, inputs, generator=generator), None)
    x = torch.randn(2048, inputs, generator=generator).to(torch.bfloat16 if precision == "bf16" else torch.float32)
    call = partial(dense, x)
    if precision == "int8":
        unsigned = torch.randint(0, 255, x.shape, dtype=torch.uint8, generator=generator)
        call = partial(dense.products, unsigned)
    (seconds,) = fastest_in_turn([call], turns=7, clock=clock_for(torch.get_num_threads()))
    return seconds


def encoder_flops(config: Any, ids: Ids) -> float:
    """Of the products that are computed: the last block computes one token of each text after its attention."""
    hidden, inner, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    tokens, squares = sum(map(len, ids)), sum(len(each) ** 2 for each in ids)
    after = 2 * (hidden**2 + 2 * hidden * inner)
    blocks = layers * (tokens * 6 * hidden**2 + 4 * squares * hidden) + ((layers - 1) * tokens + len(ids)) * after
    return blocks + 2 * tokens * config.embedding_size * hidden


def parts(folder: Path, precision: Any, ids: Ids) -> dict[str, float]:
    """Share of the processor time of each operator."""
    (contestant,) = [each for each in libraries.litebert(folder / "model") if each.precision == precision]
    contestant.run(ids)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        contestant.run(ids)
    times = {each.key: each.self_cpu_time_total for each in profile.key_averages()}
    whole = sum(times.values())
    return {name: round(value / whole, 4) for name, value in sorted(times.items(), key=lambda item: -item[1])[:12]}


def versions() -> dict[str, str]:
    """Of the contestants."""
    from litebert.machine import package_version

    return {
        name: package_version(name)
        for name in ("torch", "transformers", "sentence-transformers", "onnxruntime", "openvino")
    }


def table(result: dict[str, Any]) -> str:
    """The result for a person."""
    lines = [f"{result['threads']} threads; matmul GFLOP/s {result['matmul_gflops']}; failed {result['failed']}"]
    for name in ("short", "full", "offline"):
        for row in sorted(result.get(name, []), key=lambda row: row["seconds"]):
            order = "sorted" if row["sorts"] else "as given"
            share = f", {row['of_matmul']:.0%} of matmul" if "of_matmul" in row else ""
            lines.append(
                f"{name:8}{row['library']:30}{row['precision']:6}{order:10}{1e3 * row['seconds']:10.1f} ms"
                f"  difference {row['max_difference']:.1e}{share}"
            )
    lines += [f"{name}: {shares}" for name, shares in result.get("parts", {}).items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
