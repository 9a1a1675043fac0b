"""Size, start and speed of an exported model, against torch.

python benchmarks/export_runtime.py MODEL OUT.json [--threads 1] [--repeats 7]

MODEL is a model directory, such as one that `litebert convert` or `pretrain` wrote; speed and size do not depend on its
weights. It is exported in both precisions, and the outputs are compared by the export itself. A new process measures
each start: seconds from the first import of `litebert.runtime` to the first answer, and its peak resident memory.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measurement.clocks import fastest_in_turn

SHAPES = ((1, 16), (1, 128), (4, 128))
"""Rows and tokens, without padding."""
PRECISIONS = ("fp32", "int8")
START = """
import time
begin = time.perf_counter()
import sys
from litebert.runtime import Predictor
imported = time.perf_counter()
predictor = Predictor.load(sys.argv[1], precision=sys.argv[2], threads=int(sys.argv[3]))
loaded = time.perf_counter()
predictor.embed(["a first short text"])
answered = time.perf_counter()
import json
from litebert.machine import peak_process_memory
print(json.dumps({
    "import_s": imported - begin,
    "load_s": loaded - imported,
    "answer_s": answered - loaded,
    "total_s": answered - begin,
    "peak_memory_mb": peak_process_memory() / 1e6,
}))
"""
"""A new process: seconds of import, load and first answer, and the peak of its resident memory."""


def starts(directory: Path, precision: str, *, threads: int, repeats: int) -> dict[str, float]:
    """The median of `START` over new processes."""
    command = [sys.executable, "-c", START, str(directory), precision, str(threads)]
    found = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(repeats)
    ]
    return {name: round(float(np.median([each[name] for each in found])), 3) for name in found[0]}


def speeds(model: Path, directory: Path, *, threads: int, repeats: int) -> list[dict[str, Any]]:
    """The fastest milliseconds of each contestant for each shape; the contestants take turns."""
    import torch

    from litebert.model.io.model_directory import load_model
    from litebert.runtime.export_metadata import GRAPH_FILES
    from litebert.runtime.onnx_model import OnnxModel

    torch.set_num_threads(threads)
    encoder = load_model(model, as_model="SentenceEmbedder")
    graphs = {each: OnnxModel.load(directory / GRAPH_FILES[each], threads=threads) for each in PRECISIONS}
    rows: list[dict[str, Any]] = []
    for batch, length in SHAPES:
        ids = np.random.default_rng(0).integers(5, encoder.config.vocab_size, (batch, length))
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        contestants: dict[str, Callable[[], np.ndarray]] = {"torch fp32": partial(_embedding_in_torch, encoder, inputs)}
        contestants |= {f"onnx {name}": partial(_embedding, graph, inputs) for name, graph in graphs.items()}
        expected = contestants["torch fp32"]()
        errors = {name: _relative(run(), expected) for name, run in contestants.items()}
        fastest = fastest_in_turn([*contestants.values()], turns=repeats)
        milliseconds = {name: round(1e3 * value, 1) for name, value in zip(contestants, fastest, strict=True)}
        rows.append({"rows": batch, "tokens": length, "ms": milliseconds, "relative_error": errors})
        print(rows[-1], file=sys.stderr)
    return rows


def _embedding_in_torch(encoder: Any, inputs: dict[str, np.ndarray]) -> np.ndarray:
    import torch

    ids, mask, types = (torch.from_numpy(each) for each in inputs.values())
    with torch.inference_mode():
        return encoder(ids, mask.bool(), types).numpy()


def _embedding(graph: Any, inputs: dict[str, np.ndarray]) -> np.ndarray:
    return graph.run(inputs, ["sentence_embedding"])[0]


def _relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(f"{np.linalg.norm(found - expected) / np.linalg.norm(expected):.2g}")


def measure(model: Path, *, threads: int, repeats: int) -> dict[str, object]:
    """Export the encoder, and measure it."""
    from litebert.export.export_model import export_model
    from litebert.machine import environment

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "export"
        graphs = export_model(model, out, precisions=PRECISIONS, as_model="SentenceEmbedder")
        return {
            "date": datetime.now(UTC).date().isoformat(),
            "environment": environment(),
            "threads": threads,
            "bytes": {each.precision: each.size for each in graphs},
            "start": {each: starts(out, each, threads=threads, repeats=repeats) for each in PRECISIONS},
            "speed": speeds(model, out, threads=threads, repeats=repeats),
        }


def main() -> None:
    """Measure one model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    found = measure(arguments.model, threads=arguments.threads, repeats=arguments.repeats)
    Path(arguments.out).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
