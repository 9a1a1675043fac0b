"""Many sequences through a model in batches of similar length.

Before: `tasks.encoded`. After: `predictor`, and the evaluation of fine-tuning.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import nn

from litebert.tasks.encoded import Encoded
from litebert.tasks.features import Inputs

TOKENS_PER_BATCH = 4096
"""Padded tokens that go through the model at once: bounds the memory whatever the lengths."""


def length_sorted(lengths: np.ndarray, *, tokens_per_batch: int = TOKENS_PER_BATCH) -> Iterator[np.ndarray]:
    """Positions of each batch, longest first: little padding, and memory is short at once or never."""
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        end = start + max(1, tokens_per_batch // int(lengths[order[start]]))
        yield order[start:end]
        start = end


def outputs_of(
    model: nn.Module,
    encoded: Encoded,
    outputs: Callable[[nn.Module, Inputs], Sequence[np.ndarray]],
    *,
    rank: int = 0,
    world_size: int = 1,
) -> list[np.ndarray]:
    """What `outputs` gives for each sequence, in their order; dropout is off.

    With more than one process, for the sequences rank, rank + world_size, … only.
    """
    training = model.training
    model.eval()
    device = next(model.parameters()).device
    own = np.arange(rank, len(encoded), world_size)
    given: dict[int, np.ndarray] = {}
    with torch.inference_mode():
        for places in length_sorted(encoded.lengths[own]):
            batch = encoded.inputs(own[places]).to(device)
            given.update(zip(places.tolist(), outputs(model, batch), strict=True))
    model.train(training)
    return [given[place] for place in range(len(own))]
