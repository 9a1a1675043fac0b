"""Many inputs through a model in batches of similar length.

Before: `tasks.features`. After: `predictor`, and the evaluation of fine-tuning.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import nn

from litebert.tasks.features import Feature, Inputs, pad

TOKENS_PER_BATCH = 4096
"""Padded tokens that go through the model at once: bounds the memory whatever the lengths."""


def length_sorted(
    features: Sequence[Feature], *, pad_id: int, tokens_per_batch: int = TOKENS_PER_BATCH
) -> Iterator[tuple[np.ndarray, Inputs]]:
    """(positions in `features`, padded batch), longest first: little padding, and memory is short at once or never."""
    lengths = np.array([len(feature.input_ids) for feature in features], dtype=np.int64)
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        end = start + max(1, tokens_per_batch // int(lengths[order[start]]))
        positions = order[start:end]
        yield positions, pad([features[position] for position in positions], pad_id=pad_id)
        start = end


def classifier_logits(model: nn.Module, features: Sequence[Feature], *, pad_id: int) -> np.ndarray:
    """Float32 [N, C]: what a sequence classifier gives for each feature, in their order; dropout is off."""
    training = model.training
    model.eval()
    device = next(model.parameters()).device
    logits: dict[int, np.ndarray] = {}
    with torch.inference_mode():
        for positions, inputs in length_sorted(features, pad_id=pad_id):
            moved = inputs.to(device)
            output = model(moved.input_ids, moved.attention_mask, moved.token_type_ids)
            logits.update(zip(positions.tolist(), output.logits.float().cpu().numpy(), strict=True))
    model.train(training)
    return np.array([logits[position] for position in range(len(features))], dtype=np.float32)
