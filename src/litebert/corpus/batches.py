"""Examples to batches of tensors. Before: masking. After: training, which asks for a step and gets its microbatches.

The batch of a step is a function of (seed, step, corpus, settings) alone: any number of ranks share it, and a run that
goes on at step one million pays nothing for the steps before.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from litebert.corpus.example_settings import ExampleSettings
from litebert.corpus.masking import DRAWS, Grid, mask
from litebert.corpus.pairing import Example, ExampleSource
from litebert.corpus.shards import Corpus
from litebert.corpus.stream import ExampleStream
from litebert.corpus.vocabulary import Vocabulary
from litebert.errors import ConfigError

PAD_MULTIPLE = 8
"""Lengths of padded examples are multiples of this, which fast kernels like."""


@dataclass(frozen=True)
class PretrainBatch:
    """B examples padded to S tokens, of which P are to be predicted."""

    input_ids: Tensor
    """Int64 [B, S]."""
    attention_mask: Tensor
    """Bool [B, S]: True where there is a token."""
    token_type_ids: Tensor
    """Int64 [B, S]: 1 in the second segment and its [SEP]."""
    predicted_positions: Tensor
    """Int64 [P]: positions b * S + s in the grid."""
    mlm_labels: Tensor
    """Int64 [P]: the tokens that belong there."""
    sop_labels: Tensor
    """Int64 [B]: 0 in order, 1 swapped or from another document, -100 no label."""
    num_tokens: int
    """Tokens without padding."""
    example_starts: Tensor | None = None
    """Int64 [X]: positions b * S + s of the [CLS] of each example, ascending; None when every row holds one."""

    @property
    def num_examples(self) -> int:
        """B."""
        return len(self.input_ids)

    def to(self, device: torch.device | str) -> Self:
        """The same batch on a device."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
        return replace(self, **{name: tensor.to(device, non_blocking=True) for name, tensor in tensors.items()})


class PretrainBatches:
    """One rank's share of an endless sequence of batches of `batch_size` examples."""

    def __init__(
        self,
        corpus: Corpus,
        settings: ExampleSettings,
        *,
        batch_size: int,
        microbatch_size: int,
        rank: int = 0,
        world_size: int = 1,
        seed: int,
    ) -> None:
        if not microbatch_size > 0:
            raise ConfigError(f"microbatch_size: must be at least 1, found {microbatch_size}")
        if batch_size < world_size:
            raise ConfigError(f"batch_size: must be at least the number of processes, {world_size}; found {batch_size}")
        self.settings, self.batch_size, self.microbatch_size = settings, batch_size, microbatch_size
        self.rank, self.world_size = rank, world_size
        self.vocabulary = corpus.vocabulary
        self.stream = ExampleStream(corpus, settings, seed=seed)
        self.source = ExampleSource(corpus, settings, seed=seed)
        identity = json.dumps([corpus.fingerprint, settings.to_dict(), batch_size, seed], sort_keys=True)
        self.fingerprint = hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()
        """Hex digest of all that decides which examples there are and in which order."""

    @property
    def examples_per_epoch(self) -> int:
        """Examples in one pass over the corpus, on average."""
        return self.stream.examples_per_epoch

    def microbatches(self, step: int) -> Sequence[PretrainBatch]:
        """This rank's part of the batch at `step`, counted from 0."""
        first = step * self.batch_size
        return self._microbatches([self.stream.locate(first + offset) for offset in range(self.batch_size)])

    def one_epoch(self, epoch: int = 0) -> Iterator[PretrainBatch]:
        """This rank's part of one pass over the corpus: over all ranks every example once, as evaluation needs it."""
        size = len(self.stream.epoch(epoch).order)
        for start in range(0, size, self.batch_size):
            places = range(start, min(start + self.batch_size, size))
            yield from self._microbatches([(epoch, place) for place in places])

    def _microbatches(self, places: Sequence[tuple[int, int]]) -> Sequence[PretrainBatch]:
        """Batches of this rank's part of the examples at (epoch, place in its order)."""
        epochs = [self.stream.epoch(epoch) for epoch, _ in places]
        indices = [int(epoch.order[place]) for epoch, (_, place) in zip(epochs, places, strict=True)]
        if self.settings.group_by_length:
            lengths = [epoch.tokens[index] for epoch, index in zip(epochs, indices, strict=True)]
            by_length = np.argsort(np.array(lengths), kind="stable")
            epochs, indices = [epochs[i] for i in by_length], [indices[i] for i in by_length]
        mine = slice(self.rank, None, self.world_size)
        examples = [self.source.draw(*place) for place in zip(epochs[mine], indices[mine], strict=True)]
        starts = range(0, len(examples), self.microbatch_size)
        return [self._batch(examples[start : start + self.microbatch_size]) for start in starts]

    def _batch(self, examples: Sequence[Example]) -> PretrainBatch:
        grid = to_grid(examples, self.vocabulary, max_length=self.settings.max_length)
        shown, predicted = mask(grid, self.vocabulary, self.settings)
        positions = np.arange(shown.shape[1])
        real = positions < grid.lengths[:, None]
        return PretrainBatch(
            input_ids=torch.from_numpy(shown),
            attention_mask=torch.from_numpy(real),
            token_type_ids=torch.from_numpy((real & (positions > grid.first_lengths[:, None] + 1)).astype(np.int64)),
            predicted_positions=torch.from_numpy(np.flatnonzero(predicted)),
            mlm_labels=torch.from_numpy(grid.input_ids[predicted]),
            sop_labels=torch.tensor([example.label for example in examples]),
            num_tokens=int(grid.lengths.sum()),
        )


def to_grid(examples: Sequence[Example], vocabulary: Vocabulary, *, max_length: int) -> Grid:
    """[CLS] first [SEP] second [SEP] of each example, padded to the longest, rounded up to PAD_MULTIPLE."""
    lengths = np.array([example.length for example in examples])
    width = min(max_length, -(-int(lengths.max()) // PAD_MULTIPLE) * PAD_MULTIPLE)
    input_ids = np.full((len(examples), width), vocabulary.pad_id, dtype=np.int64)
    draws = np.zeros((DRAWS, len(examples), width))
    for row, example in enumerate(examples):
        middle = 1 + len(example.first)
        input_ids[row, 0] = vocabulary.cls_id
        input_ids[row, 1:middle] = example.first
        input_ids[row, middle + 1 : example.length - 1] = example.second
        input_ids[row, [middle, example.length - 1]] = vocabulary.sep_id
        draws[:, row, : example.length] = example.rng.random((DRAWS, example.length))
    first_lengths = np.array([len(example.first) for example in examples])
    return Grid(input_ids, lengths, first_lengths, draws)
