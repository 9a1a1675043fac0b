"""Texts to vectors with an exported encoder in onnxruntime."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from litebert.inference.embeddings.text_embedder import TextEmbedder
from litebert.tasks.encoded import Encoded, PaddedArrays
from litebert.tasks.task_inference import GraphOutputs


@dataclass(frozen=True, kw_only=True)
class ExportedEmbedder(TextEmbedder):
    """An encoder in onnxruntime."""

    outputs: Callable[[Encoded, GraphOutputs], list[Any]]
    """What is read of the outputs of the graph, for each sequence."""

    def _pooled(self, encoded: Encoded) -> Sequence[np.ndarray]:
        read = GraphOutputs(names=("last_hidden_state",), by_sequence=POOLINGS[self.pooling])
        return [np.asarray(each, np.float32) for each in self.outputs(encoded, read)]


def _mean(outputs: Sequence[np.ndarray], batch: PaddedArrays) -> Sequence[np.ndarray]:
    mask = batch.attention_mask[..., None]
    return list((outputs[0] * mask).sum(1) / mask.sum(1, dtype=np.float32))


POOLINGS: Final = {"mean": _mean, "cls": lambda outputs, batch: list(outputs[0][:, 0])}
"""Name of a pooling → the pooled hidden states of a batch."""
