"""Batches for tiny models, and tolerances."""

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from litebert.model.config import ModelConfig
from litebert.model.encoder import Encoder
from litebert.model.initialization.random_init import initialize


@dataclass(frozen=True)
class TokenBatch:
    """Arguments of an encoder."""

    input_ids: Tensor
    attention_mask: Tensor
    token_type_ids: Tensor

    @property
    def arguments(self) -> tuple[Tensor, Tensor, Tensor]:
        return tuple(getattr(self, field.name) for field in fields(self))


def random_batch(config: ModelConfig, mask: Tensor) -> TokenBatch:
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, config.vocab_size, mask.shape, generator=generator)
    return TokenBatch(ids, mask, torch.randint(0, config.type_vocab_size, mask.shape, generator=generator))


def packed_rows(batch: TokenBatch, rows: list[list[int]]) -> tuple[TokenBatch, Tensor]:
    """The examples of a batch padded at the end, packed into `rows`, and the flat position of each start."""
    lengths = batch.attention_mask.sum(1).tolist()
    mask = padded_mask([sum(lengths[example] for example in row) for row in rows])
    packed = TokenBatch(*(torch.zeros_like(mask, dtype=tensor.dtype) for tensor in batch.arguments))
    starts = []
    for number, row in enumerate(rows):
        at = 0
        for example in row:
            starts.append(number * mask.shape[1] + at)
            for target, source in zip(packed.arguments, batch.arguments, strict=True):
                target[number, at : at + lengths[example]] = source[example, : lengths[example]]
            at += lengths[example]
    return packed, torch.tensor(starts)


def padded_mask(lengths: list[int], size: int | None = None) -> Tensor:
    return torch.arange(size or max(lengths))[None] < torch.tensor(lengths)[:, None]


def fresh_encoder(config: ModelConfig, *, pooler: bool = True) -> Encoder:
    encoder = Encoder(config, pooler=pooler)
    initialize(encoder, scale=config.initializer_range, seed=0)
    return encoder


MODERN = {
    "position_embedding": "rotary",
    "norm_first": True,
    "gated_feed_forward": True,
    "use_bias": False,
    "recursion_lora_rank": 2,
}
"""Every field of the modern block."""


def perturbed(model: torch.nn.Module) -> torch.nn.Module:
    """`model`, changed in place: random values are added to parameters that are initialized to zeros or ones."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model
