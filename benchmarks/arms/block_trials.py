"""Other blocks and embeddings than those of litebert, as patches of a run; an arm of ladder.py names one, `trial=NAME`.

Each begins as the reference: what it adds is zero at first. Its parameters are saved with the run, and no other code
reads them, so a run is scored by its own evaluations. Figures are in log.md.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import nn

from litebert.model.encoder import Encoder
from litebert.model.layers.block import Attention, Embeddings, to_autocast_dtype
from litebert.training.callbacks.callback import Callback

CONVOLVED_TOKENS: Final = 3
BIGRAM_BUCKETS: Final = 16_384
HASH_FACTORS: Final = (1_000_003, 7_919)


@contextmanager
def short_convolution() -> Iterator[list[Callback]]:
    """Attention reads a weighted sum of each token and the three before it, with a weight for each dimension.

    Source: the convolutions of So et al. 2021 (Primer, arXiv 2109.08668), of the input of queries, keys and values
    instead of their output.
    """

    def init(self: Attention, config: Any) -> None:
        original_init(self, config)
        self.before = _vectors(CONVOLVED_TOKENS, config.hidden_size)

    def projected(self: Attention, x: torch.Tensor, inputs: Any) -> torch.Tensor:
        x = to_autocast_dtype(x)
        positions = inputs.layout.positions
        earlier = (_tokens_before(x, positions, distance) for distance in range(1, CONVOLVED_TOKENS + 1))
        summed = x + sum(w.to(x.dtype) * each for w, each in zip(self.before, earlier, strict=True))
        return original(self, summed, inputs)

    original_init, original = Attention.__init__, Attention._projected
    with patch.object(Attention, "__init__", init), patch.object(Attention, "_projected", projected):
        yield []


@contextmanager
def value_residual() -> Iterator[list[Callback]]:
    """Each layer adds a learned multiple of the first layer's values to its own.

    Source: Zhou et al. 2024, ResFormer (arXiv 2410.17897).
    """
    state: dict[str, Any] = {}

    def run(self: Encoder, schedule: Any, x: torch.Tensor, inputs: Any) -> Iterator[torch.Tensor]:
        for layer, blocks, read in _numbered_layers(self, schedule, inputs):
            state["factor"] = self.added[layer - 1] if layer else None
            (x,) = original_run(self, (blocks,), x, (read,))
            yield x

    def projected(self: Attention, x: torch.Tensor, inputs: Any) -> torch.Tensor:
        query, key, value = original(self, x, inputs).unbind(-3)
        if state["factor"] is None:
            state["first"] = value
        else:
            value = value + state["factor"].to(value.dtype) * state["first"]
        return torch.stack([query, key, value], -3)

    original_run, original = Encoder._run_blocks, Attention._projected
    with (
        _added_vectors(lambda config: 1),
        patch.object(Encoder, "_run_blocks", run),
        patch.object(Attention, "_projected", projected),
    ):
        yield []


@contextmanager
def input_injection() -> Iterator[list[Callback]]:
    """Each layer adds a learned multiple, for each dimension, of the first layer's input to its own.

    Source: Bansal et al. 2022 (arXiv 2202.05826), which concatenate it in every recursion.
    """
    state: dict[str, torch.Tensor] = {}

    def run(self: Encoder, schedule: Any, x: torch.Tensor, inputs: Any) -> Iterator[torch.Tensor]:
        for layer, blocks, read in _numbered_layers(self, schedule, inputs):
            if layer:
                x = x + self.added[layer - 1] * state["first"]
            else:
                state["first"] = x
            (x,) = original(self, (blocks,), x, (read,))
            yield x

    original = Encoder._run_blocks
    with _added_vectors(lambda config: config.hidden_size), patch.object(Encoder, "_run_blocks", run):
        yield []


@contextmanager
def bigram_embeddings() -> Iterator[list[Callback]]:
    """Add an embedding of each token and the one before it, found by a hash. Source: Huang et al. 2025 (2501.16975)."""

    def init(self: Embeddings, config: Any) -> None:
        original_init(self, config)
        self.bigrams = nn.Parameter(torch.zeros(1, BIGRAM_BUCKETS, config.embedding_size))  # three axes: begins at zero

    def forward(self: Embeddings, input_ids: Any, token_type_ids: Any, positions: Any) -> torch.Tensor:
        before = _tokens_before(input_ids[..., None], positions, 1)[..., 0]
        bucket = (before * HASH_FACTORS[0] + input_ids * HASH_FACTORS[1]) % BIGRAM_BUCKETS
        summed = self.word(input_ids) + self.token_type(token_type_ids) + F.embedding(bucket, self.bigrams[0])
        return self.dropout(self.norm(summed))  # rotary positions have no embedding

    original_init = Embeddings.__init__
    with patch.object(Embeddings, "__init__", init), patch.object(Embeddings, "forward", forward):
        yield []


@contextmanager
def _added_vectors(width: Callable[[Any], int]) -> Iterator[None]:
    """The encoder has a vector for each layer but the first."""

    def init(self: Encoder, config: Any, **options: Any) -> None:
        original(self, config, **options)
        self.added = _vectors(len(self.schedule) - 1, width(config))

    original = Encoder.__init__
    with patch.object(Encoder, "__init__", init):
        yield


def _vectors(count: int, width: int) -> nn.ParameterList:
    """Vectors, because Muon would update the rows of a matrix together."""
    return nn.ParameterList(nn.Parameter(torch.zeros(width)) for _ in range(count))


def _tokens_before(x: torch.Tensor, positions: torch.Tensor, distance: int) -> torch.Tensor:
    """For each token of `x` [B S W] the one `distance` before it in its example, and zeros where there is none."""
    moved = F.pad(x, (0, 0, distance, 0))[:, : x.shape[1]]
    return moved * (positions >= distance)[..., None]


def _numbered_layers(encoder: Encoder, schedule: Any, inputs: Any) -> Iterator[tuple[int, Any, Any]]:
    """Index of each layer that runs, with its entry of the schedule and its inputs; the last layer may run alone."""
    first = len(encoder.schedule) - 1 if len(schedule) == 1 else 0
    for layer, (blocks, read) in enumerate(zip(schedule, inputs, strict=True), first):
        yield layer, blocks, read


BLOCK_TRIALS: Final[dict[str, Callable[[], AbstractContextManager[list[Callback]]]]] = {
    "short_convolution": short_convolution,
    "value_residual": value_residual,
    "input_injection": input_injection,
    "bigram_embeddings": bigram_embeddings,
}
