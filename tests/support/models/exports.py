"""Graphs in onnxruntime, and torch's outputs for the same random tokens."""

from typing import Any

import numpy as np
import torch

from litebert.export.model_graph import build_graph
from litebert.export.reference_outputs import reference_outputs
from litebert.model.model_inputs import ModelInputs
from litebert.runtime.onnx_model import open_session, run_session


def session_of(model: Any, precision: str = "fp32"):
    return open_session(build_graph(model, precision).SerializeToString(), where="test", threads=1)


def random_inputs(model: Any, rows: int, length: int) -> dict[str, np.ndarray]:
    """Padded at the end; the first row has no padding."""
    rng = np.random.default_rng(rows * 1000 + length)
    shape = (rows, 3, length) if type(model).__name__ == "ForMultipleChoice" else (rows, length)
    lengths = rng.integers(1, length + 1, shape[:-1])
    lengths.flat[0] = length
    return {
        "input_ids": rng.integers(0, model.config.vocab_size, shape),
        "attention_mask": np.arange(length) < lengths[..., None],
        "token_type_ids": rng.integers(0, model.config.type_vocab_size, shape),
    }


def largest_difference(model: Any, session: Any, inputs: dict[str, np.ndarray], *, layers: int | None = None) -> float:
    """Of any output at the real tokens, relative to the largest value of that output or to 1; NaN if one is NaN."""
    expected = reference_outputs(model, ModelInputs(*map(torch.from_numpy, inputs.values())))
    found = run_session(session, inputs, list(expected), layers=layers)
    mask, differences = inputs["attention_mask"], []
    for value, (name, wanted) in zip(found, expected.items(), strict=True):
        assert value.shape == wanted.shape, name
        by_token = wanted.shape[:2] == (mask.size // mask.shape[-1], mask.shape[-1])
        allowed = mask.reshape(wanted.shape[:2]) if by_token else wanted > -1e29
        differences.append(np.abs(value - wanted)[allowed].max() / max(1.0, np.abs(wanted[allowed]).max()))
    return float(np.max(differences))
