"""The variants that `training_speed.py` compares: litebert and transformers, from the same weights and batches.

Before: a config. After: models whose outputs were compared, and the mean loss of each on a batch.
"""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn

from litebert.corpus.sampling.pretrain_batches import PretrainBatch
from litebert.machine import has_bf16_instructions
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.kernels.layout import AttentionKernel
from litebert.model.losses import NO_LABEL, classification_loss
from litebert.model.models import ForPretraining

MASKED_FRACTION = 0.15
TOLERANCE = 1e-3
"""Largest relative difference of the logits, ‖litebert − transformers‖ / ‖transformers‖, in fp32."""


@dataclass(frozen=True)
class Contestant:
    """One library in one configuration."""

    library: str
    variant: str
    load: Callable[[Path], nn.Module]
    """The model from a model directory."""
    loss: Callable[[nn.Module, PretrainBatch], Tensor]
    """Mean MLM loss plus mean SOP loss."""
    bf16: bool = True
    """Whether it trains in bf16, or in fp32, which is the default of transformers."""


def in_bf16(device: torch.device) -> bool:
    """Whether the contestants train in bf16: not on a processor without its instructions."""
    return device.type != "cpu" or has_bf16_instructions()


def contestants(device: torch.device, *, compiled: bool) -> list[Contestant]:
    """All variants that can run here, in pairs; at a timeout the last ones are left out, which are slower on a GPU."""
    bf16 = in_bf16(device)
    theirs = [_theirs("sdpa"), *([_theirs("sdpa", compiled=True)] if compiled else []), _theirs("eager")]
    theirs += [replace(_theirs("sdpa"), variant="fp32", bf16=False)] if device.type == "cpu" and bf16 else []
    ours = [_ours("sdpa"), *([_ours("sdpa", compiled=True)] if compiled else []), _ours("unpadded")]
    pairs = zip_longest(theirs if has_transformers() else [], ours)
    return [replace(one, bf16=one.bf16 and bf16) for pair in pairs for one in pair if one is not None]


def has_transformers() -> bool:
    """Whether transformers is installed."""
    return importlib.util.find_spec("transformers") is not None


def save_weights(config: ModelConfig, directory: Path) -> Path:
    """A model directory with random weights, which every contestant loads."""
    return save_model(ForPretraining(config, seed=0), directory)


def full_rows(*, batch_size: int, length: int) -> list[int]:
    """Lengths of a batch without padding."""
    return [length] * batch_size


def mixed_rows(*, batch_size: int, length: int) -> list[int]:
    """Lengths of short documents: log-normal, median 116, deviation of the logarithm 0.53, cut at `length`.

    So are the paragraphs of Wikipedia that SQuAD asks about, in tokens of the released vocabulary.
    """
    generator = torch.Generator().manual_seed(0)
    drawn = 116 * (torch.randn(batch_size, generator=generator) * 0.53).exp()
    return drawn.round().long().clamp(min=8, max=length).tolist()


ROWS: Final = {"full": full_rows, "mixed": mixed_rows}


def random_batch(config: ModelConfig, lengths: Sequence[int]) -> PretrainBatch:
    """Random tokens in rows of these lengths, padded to the longest, with the share of predictions of pretraining."""
    rows, longest = torch.tensor(lengths)[:, None], max(lengths)
    generator = torch.Generator().manual_seed(sum(lengths))
    ids = torch.randint(5, config.vocab_size, (len(lengths), longest), generator=generator)
    real = torch.arange(longest) < rows
    predicted = (torch.rand(ids.shape, generator=generator) < MASKED_FRACTION) & real
    predicted[:, 1] = True
    return PretrainBatch(
        input_ids=ids,
        attention_mask=real,
        token_type_ids=((torch.arange(longest) >= rows // 2) & real).long(),
        masked_positions=predicted.flatten().nonzero()[:, 0],
        labels=ids[predicted],
        sentence_pair_labels=torch.randint(0, 2, (len(lengths),), generator=generator),
        num_tokens=int(real.sum()),
        sequence_starts=None,
    )


@torch.no_grad()
def output_difference(directory: Path, batch: PretrainBatch, device: torch.device) -> float:
    """Relative difference of litebert's and transformers' logits at the predicted positions, in fp32."""
    batch = batch.to(device)
    ours: Any = load_model(directory).eval().to(device)(*_inputs(batch), batch.masked_positions)
    theirs = load_theirs(directory, "sdpa").eval().to(device)(*_inputs(batch))
    logits = theirs.prediction_logits.flatten(0, 1)[batch.masked_positions]
    pairs = [(ours.mlm_logits, logits), (ours.sentence_pair_logits, theirs.sop_logits)]
    return max(((a - b).norm() / b.norm()).item() for a, b in pairs)


def _ours(kernel: AttentionKernel, *, compiled: bool = False) -> Contestant:
    def load(directory: Path) -> nn.Module:
        model: Any = load_model(directory)
        model.encoder.attention_kernel = kernel
        if compiled:
            model.encoder.compile_blocks()
        return model

    return Contestant("litebert", f"{kernel}, compiled" if compiled else kernel, load, our_loss)


def _theirs(attention: str, *, compiled: bool = False) -> Contestant:
    def load(directory: Path) -> nn.Module:
        model: Any = load_theirs(directory, attention)
        return torch.compile(model) if compiled else model

    return Contestant("transformers", f"{attention}, compiled" if compiled else attention, load, their_loss)


def load_theirs(directory: Path, attention: str) -> nn.Module:
    """`AlbertForPreTraining` with the weights of a model directory."""
    from transformers import AlbertForPreTraining

    return AlbertForPreTraining.from_pretrained(directory, attn_implementation=attention)


def our_loss(model: nn.Module, batch: PretrainBatch) -> Tensor:
    """Mean MLM loss plus mean SOP loss of litebert."""
    output = model(*_inputs(batch), batch.masked_positions, masked_labels=batch.labels)
    pairs = batch.sentence_pair_labels
    pair_loss = classification_loss(output.sentence_pair_logits, pairs) / len(pairs)
    return output.mlm.loss / len(batch.labels) + pair_loss


def their_arguments(batch: PretrainBatch) -> dict[str, Tensor]:
    """The arguments of `AlbertForPreTraining`."""
    labels = torch.full_like(batch.input_ids, NO_LABEL).flatten()
    labels[batch.masked_positions] = batch.labels
    names = ("input_ids", "attention_mask", "token_type_ids")
    return {
        **dict(zip(names, _inputs(batch), strict=True)),
        "labels": labels.view_as(batch.input_ids),
        "sentence_order_label": batch.sentence_pair_labels,
    }


def their_loss(model: nn.Module, batch: PretrainBatch) -> Tensor:
    """Mean MLM loss plus mean SOP loss of transformers."""
    return model(**their_arguments(batch)).loss


def _inputs(batch: PretrainBatch) -> tuple[Tensor, Tensor, Tensor]:
    return batch.input_ids, batch.attention_mask, batch.token_type_ids
