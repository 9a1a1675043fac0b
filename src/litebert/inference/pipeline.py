"""`Pipeline`: the model of a model directory in torch, which predicts in batches of sequences of similar length."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import torch
from torch import nn

from litebert.inference.inference_model import inference_model, resolve_precision
from litebert.inference.task_pipeline import TaskPipeline
from litebert.model.io.model_directory import load_model
from litebert.model.io.model_spec import read_model_spec
from litebert.model.model_inputs import ModelInputs
from litebert.settings import InferencePrecision
from litebert.tasks.encoded import Encoded, batches_by_length
from litebert.tasks.readers.columns import SavedTask
from litebert.tasks.types.registry import task_type_of
from litebert.tokenization.tokenizer import Tokenizer

TOKENS_PER_BATCH: Final = 4096
"""Padded tokens of a batch: bounds the memory for any lengths."""
MIN_TOKENS_PER_BATCH: Final = 512
"""Below, the calls of operators cost more than the cache saves."""
CACHED_ELEMENTS: Final = 2**20
"""Elements of the hidden states of a batch on a CPU."""


@dataclass(frozen=True, kw_only=True)
class Pipeline(TaskPipeline):
    """A fine-tuned model in torch."""

    model: nn.Module

    @classmethod
    def load(
        cls,
        directory: Path,
        *,
        device: torch.device | str = "cpu",
        precision: InferencePrecision = "fp32",
        dtype: type[np.floating] = np.float32,
    ) -> Self:
        """The model in a directory, with its tokenizer and settings."""
        spec = read_model_spec(directory)
        task_type = task_type_of(directory, spec)
        settings = task_type.settings.stored(directory, max_length=spec.config.max_position_embeddings)
        model = load_model(directory).to(device)
        return cls(
            model=model,
            tokenizer=Tokenizer.load(directory),
            task_type=task_type,
            labels=spec.labels,
            settings=settings,
            precision=resolve_precision(precision, model),
            dtype=dtype,
            place=str(directory),
            saved_task=SavedTask.stored(directory),
        )

    def in_fp32(self) -> Self:
        """The same model in fp32."""
        return replace(self, precision="fp32")

    def _outputs(self, encoded: Encoded, *, rank: int, world_size: int) -> list[Any]:
        forward, precision = self.task_type.forward, self.precision
        return model_outputs(self.model, encoded, forward, precision=precision, rank=rank, world_size=world_size)


def model_outputs(
    model: nn.Module,
    encoded: Encoded,
    forward: Callable[[nn.Module, ModelInputs], Sequence[Any]],
    *,
    precision: InferencePrecision = "fp32",
    rank: int = 0,
    world_size: int = 1,
) -> list[Any]:
    """The output of `forward` for each sequence, without dropout; for sequences rank, rank + world_size, … only."""
    device = next(model.parameters()).device
    own = np.arange(rank, len(encoded), world_size)
    outputs: list[Any] = [None] * len(own)
    with inference_model(model, precision) as running:
        most = tokens_per_batch(model, device, precision)
        for positions in batches_by_length(encoded.lengths[own], tokens_per_batch=most):
            batch = encoded.inputs(own[positions]).to(device)
            for position, output in zip(positions, forward(running, batch), strict=True):
                outputs[position] = output
    return outputs


def tokens_per_batch(model: Any, device: torch.device, precision: InferencePrecision) -> int:
    """Padded tokens of a batch: on a CPU few enough for its hidden states to stay in the cache."""
    if device.type != "cpu" or not hasattr(model, "config"):
        return TOKENS_PER_BATCH
    # The products of int8 are followed by steps in fp32, which need more room.
    elements = CACHED_ELEMENTS // 2 if precision == "int8" else CACHED_ELEMENTS
    return min(max(elements // model.config.hidden_size, MIN_TOKENS_PER_BATCH), TOKENS_PER_BATCH)
