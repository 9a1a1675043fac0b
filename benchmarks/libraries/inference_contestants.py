"""The libraries that `inference.py` compares, each as its users run it, on one ALBERT with random weights.

Before: a model directory and token ids. After: functions from token ids to logits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from litebert.inference.pipeline import model_outputs
from litebert.model.io.model_directory import load_model
from litebert.settings import InferencePrecision
from litebert.tasks.encoded import Encoded, Feature
from litebert.tasks.types.task_type import sequence_logits

BATCH_SIZE = 32
"""Texts of a batch of the other libraries; the default of `SentenceTransformer.encode` and `CrossEncoder.predict`."""
Ids = Sequence[Sequence[int]]
Forward = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Int64 [B, S] ids and mask to logits [B, C]."""


@dataclass(frozen=True)
class Contestant:
    """One library in one configuration."""

    name: str
    precision: str
    sorts: bool
    """Whether texts of similar length are batched together."""
    run: Callable[[Ids], np.ndarray]
    """Token ids to logits [N, C]."""


def litebert(directory: Path) -> list[Contestant]:
    """The prediction pipeline of this package in each precision, from the encoded texts on."""

    def run(model: Any, ids: Ids, precision: InferencePrecision) -> np.ndarray:
        features = [Feature(np.array(each, np.int32), np.zeros(len(each), np.int8)) for each in ids]
        sequences = Encoded(features, [None] * len(ids), pad_id=0)
        return np.stack(model_outputs(model, sequences, sequence_logits, precision=precision))

    def contestant(precision: InferencePrecision) -> Contestant:
        model = load_model(directory)  # one for each: a model keeps only its last prepacked copy
        return Contestant("litebert", precision, sorts=True, run=lambda ids: run(model, ids, precision))

    return [contestant(precision) for precision in ("fp32", "bf16", "int8")]


def transformers(directory: Path) -> list[Contestant]:
    """`AlbertForSequenceClassification` in padded batches."""
    from transformers import AlbertForSequenceClassification

    def contestants(precision: str, dtype: torch.dtype) -> list[Contestant]:
        model = AlbertForSequenceClassification.from_pretrained(directory, dtype=dtype).eval()

        @torch.inference_mode()
        def forward(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
            output = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))
            return output.logits.float().numpy()

        return _both_orders("transformers", precision, forward)

    return [*contestants("fp32", torch.float32), *contestants("bf16", torch.bfloat16)]


def sentence_transformers(
    directory: Path, texts: dict[tuple[int, ...], str], *, backend: Literal["torch", "onnx"], threads: int
) -> list[Contestant]:
    """`SentenceTransformer.encode`, which sorts by length and tokenizes; then the same pooler and head.

    The backend "onnx" exports the encoder by `optimum-onnx`, which needs transformers before version 4.58.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    head: Any = load_model(directory).eval()
    options: dict[str, Any] = {}
    if backend == "onnx":
        import onnxruntime as ort

        session_options = ort.SessionOptions()
        session_options.intra_op_num_threads, session_options.inter_op_num_threads = threads, 1
        options = {"provider": "CPUExecutionProvider", "export": True, "session_options": session_options}
    encoder = Transformer(str(directory), max_seq_length=512, backend=backend, model_kwargs=options)
    model = SentenceTransformer(modules=[encoder, Pooling(head.config.hidden_size, pooling_mode="cls")], device="cpu")

    @torch.inference_mode()
    def run(ids: Ids) -> np.ndarray:
        first = model.encode(
            [texts[tuple(each)] for each in ids], batch_size=BATCH_SIZE, convert_to_tensor=True, show_progress_bar=False
        )
        return head.classifier(head.encoder.pool(first)).numpy()

    return [Contestant(f"sentence-transformers {backend}", "fp32", sorts=True, run=run)]


def onnxruntime(file: Path, precision: str, *, threads: int) -> list[Contestant]:
    """An unrolled export."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = ort.InferenceSession(file, options, providers=["CPUExecutionProvider"])

    def forward(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return np.asarray(session.run(None, {"input_ids": ids, "attention_mask": mask})[0])

    return _both_orders("onnxruntime", precision, forward)


def openvino(file: Path, precision: str, *, threads: int) -> list[Contestant]:
    """The same export, or the model that `quantize_openvino.py` made of it."""
    import openvino as ov

    core = ov.Core()
    settings: dict[str, Any] = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    settings["INFERENCE_PRECISION_HINT"] = {"bf16": "bf16"}.get(precision, "f32")
    compiled = core.compile_model(core.read_model(file), "CPU", settings)

    def forward(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return np.array(compiled({"input_ids": ids, "attention_mask": mask})[0])

    return _both_orders("openvino", precision, forward)


def export_unrolled(directory: Path, folder: Path) -> None:
    """Write `model.onnx` by torch's exporter from transformers, and `model-int8.onnx` by onnxruntime's quantization."""
    from onnxruntime.quantization import quantize_dynamic
    from transformers import AlbertForSequenceClassification

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = AlbertForSequenceClassification.from_pretrained(directory, attn_implementation="eager")

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            return self.model(input_ids=input_ids, attention_mask=attention_mask).logits

    ids = torch.randint(5, 1000, (2, 16), generator=torch.Generator().manual_seed(0))
    axes = {0: "batch", 1: "length"}
    torch.onnx.export(
        Logits().eval(),
        (ids, torch.ones_like(ids)),
        str(folder / "model.onnx"),
        input_names=["input_ids", "attention_mask"],
        output_names=["logits"],
        dynamic_axes={"input_ids": axes, "attention_mask": axes, "logits": {0: "batch"}},
        opset_version=17,
        dynamo=False,
    )
    quantize_dynamic(folder / "model.onnx", folder / "model-int8.onnx", per_channel=True)


def _both_orders(name: str, precision: str, forward: Forward) -> list[Contestant]:
    """Padded batches in the order of the texts, and sorted by length."""

    def run(ids: Ids, *, sort: bool) -> np.ndarray:
        order = np.argsort([-len(each) for each in ids], kind="stable") if sort else np.arange(len(ids))
        logits: list[Any] = [None] * len(ids)
        for start in range(0, len(ids), BATCH_SIZE):
            rows = order[start : start + BATCH_SIZE]
            lengths = np.array([len(ids[row]) for row in rows])
            mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
            padded = np.zeros_like(mask)
            for number, row in enumerate(rows):
                padded[number, : lengths[number]] = ids[row]
            for row, value in zip(rows, forward(padded, mask), strict=True):
                logits[row] = value
        return np.stack(logits)

    return [
        Contestant(name, precision, sorts=sort, run=lambda ids, sort=sort: run(ids, sort=sort))
        for sort in (True, False)
    ]
