"""Who runs in `training_speed.py`: litebert and transformers, each in several ways, from the same weights and batches.

Before: a config. After: models whose outputs were compared, and the mean loss of each on a batch.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from litebert.corpus.batches import PretrainBatch
from litebert.model.config import ModelConfig
from litebert.model.directory import load_model, save_model
from litebert.model.layout import AttentionKernel
from litebert.model.losses import NO_LABEL, classification_loss, masked_lm_loss
from litebert.model.models import ForPretraining

MASKED_FRACTION = 0.15
TOLERANCE = 1e-3
"""Largest relative difference of the logits, ‖ours − theirs‖ / ‖theirs‖, in fp32."""


@dataclass(frozen=True)
class Contestant:
    """One library in one of its ways to run."""

    library: str
    variant: str
    load: Callable[[Path], nn.Module]
    """The model from a model directory."""
    loss: Callable[[nn.Module, PretrainBatch], Tensor]
    """Mean MLM loss plus mean SOP loss."""


def contestants(*, compiled: bool) -> list[Contestant]:
    """Everyone who can run here. Where time runs out it is litebert's best that is missing, not the others'."""
    ours = [_ours("sdpa"), _ours("unpadded"), *([_ours("sdpa", compiled=True)] if compiled else [])]
    if not has_transformers():
        return ours
    theirs = [_theirs("sdpa"), _theirs("eager"), *([_theirs("sdpa", compiled=True)] if compiled else [])]
    return [one for pair in zip(theirs, ours, strict=True) for one in pair]


def has_transformers() -> bool:
    """Whether there is somebody to compare with."""
    return importlib.util.find_spec("transformers") is not None


def save_weights(config: ModelConfig, directory: Path) -> Path:
    """A model directory with random weights, which every contestant loads."""
    return save_model(ForPretraining(config, seed=0), directory)


def random_batch(config: ModelConfig, *, batch_size: int, length: int, padded: bool = False) -> PretrainBatch:
    """Random tokens, without padding unless wanted, with the share of predictions that pretraining has."""
    generator = torch.Generator().manual_seed(batch_size * length)
    ids = torch.randint(5, config.vocab_size, (batch_size, length), generator=generator)
    lengths = torch.randint(length // 2, length, (batch_size,), generator=generator)
    real = torch.arange(length) < lengths[:, None] if padded else torch.ones_like(ids, dtype=torch.bool)
    predicted = (torch.rand(ids.shape, generator=generator) < MASKED_FRACTION) & real
    predicted[:, 1] = True
    return PretrainBatch(
        input_ids=ids,
        attention_mask=real,
        token_type_ids=(torch.arange(length) >= length // 2).long().expand_as(ids).contiguous(),
        predicted_positions=predicted.flatten().nonzero()[:, 0],
        mlm_labels=ids[predicted],
        sop_labels=torch.randint(0, 2, (batch_size,), generator=generator),
        num_tokens=int(real.sum()),
    )


@torch.no_grad()
def output_difference(directory: Path, batch: PretrainBatch, device: torch.device) -> float:
    """Relative difference of litebert's and transformers' logits at the predicted positions, in fp32."""
    batch = batch.to(device)
    ours = _load_ours(directory).eval().to(device)(*_inputs(batch), batch.predicted_positions)
    theirs = _load_theirs(directory, "sdpa").eval().to(device)(*_inputs(batch))
    logits = theirs.prediction_logits.flatten(0, 1)[batch.predicted_positions]
    pairs = [(ours.mlm_logits, logits), (ours.sop_logits, theirs.sop_logits)]
    return max(((a - b).norm() / b.norm()).item() for a, b in pairs)


def _ours(kernel: AttentionKernel, *, compiled: bool = False) -> Contestant:
    def load(directory: Path) -> nn.Module:
        model: Any = _load_ours(directory)
        model.encoder.attention_kernel = kernel
        if compiled:
            model.encoder.compile_blocks()
        return model

    return Contestant("litebert", f"{kernel}, compiled" if compiled else kernel, load, _our_loss)


def _theirs(attention: str, *, compiled: bool = False) -> Contestant:
    def load(directory: Path) -> nn.Module:
        model: Any = _load_theirs(directory, attention)
        return torch.compile(model) if compiled else model

    return Contestant("transformers", f"{attention}, compiled" if compiled else attention, load, _their_loss)


def _load_ours(directory: Path) -> nn.Module:
    return load_model(directory)


def _load_theirs(directory: Path, attention: str) -> nn.Module:
    from transformers import AlbertForPreTraining

    return AlbertForPreTraining.from_pretrained(directory, attn_implementation=attention)


def _our_loss(model: nn.Module, batch: PretrainBatch) -> Tensor:
    output = model(*_inputs(batch), batch.predicted_positions)
    mlm = masked_lm_loss(output.mlm_logits, batch.mlm_labels) / len(batch.mlm_labels)
    return mlm + classification_loss(output.sop_logits, batch.sop_labels) / len(batch.sop_labels)


def _their_loss(model: nn.Module, batch: PretrainBatch) -> Tensor:
    labels = torch.full_like(batch.input_ids, NO_LABEL).flatten()
    labels[batch.predicted_positions] = batch.mlm_labels
    labels = labels.view_as(batch.input_ids)
    return model(*_inputs(batch), labels=labels, sentence_order_label=batch.sop_labels).loss


def _inputs(batch: PretrainBatch) -> tuple[Tensor, Tensor, Tensor]:
    return batch.input_ids, batch.attention_mask, batch.token_type_ids
