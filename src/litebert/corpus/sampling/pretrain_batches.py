"""Batches of tensors for pretraining.

The batch of a step is a function of (seed, step, corpora, settings) alone: any number of ranks share it, and a run that
resumes at step one million does not read the steps before.
"""

import hashlib
import json
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Self

import numpy as np
import torch
from torch import Tensor

from litebert.corpus.format.shards import Corpus, Vocabulary
from litebert.corpus.sampling.corpus_examples import ExampleRef
from litebert.corpus.sampling.example_grid import to_grid
from litebert.corpus.sampling.masking import masked_tokens, next_tokens
from litebert.corpus.sampling.mixture import Mixture, WeightedCorpora
from litebert.corpus.sampling.pairing import NO_LABEL, Example
from litebert.corpus.sampling.sampling_settings import LinearSchedule, SamplingSettings
from litebert.errors import ConfigError
from litebert.tokenization.tokenizer import Tokenizer


@dataclass(frozen=True)
class PretrainBatch:
    """X examples in B rows of S tokens, of which P are predicted; without packing, X is B."""

    input_ids: Tensor
    """Int64 [B, S]."""
    attention_mask: Tensor
    """Bool [B, S]: True where there is a token."""
    token_type_ids: Tensor
    """Int64 [B, S]: 1 in the second segment and its [SEP]."""
    masked_positions: Tensor
    """Int64 [P]: flat positions b * S + s at which a token is predicted: the masked ones, or with `causal` all but the
    last one of each example."""
    labels: Tensor
    """Int64 [P]: the original tokens, or with `causal` the next ones."""
    sentence_pair_labels: Tensor
    """Int64 [X]: 0 in order, 1 swapped (SOP) or from another document (NSP), -100 without a label, as all are with
    `causal`: there [CLS] attends to itself only."""
    sequence_starts: Tensor | None
    """Int64 [X]: flat position of the [CLS] of each example, ascending; None if every row holds one example."""
    num_tokens: int
    """Tokens without padding."""
    causal: bool = False
    """Whether nothing is masked, next tokens are predicted, and no token may attend to a later one."""

    @property
    def num_examples(self) -> int:
        """X."""
        return len(self.sentence_pair_labels)

    def to(self, device: torch.device | str) -> Self:
        """The same batch on a device."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
        return replace(self, **{name: tensor.to(device, non_blocking=True) for name, tensor in tensors.items()})


class PretrainBatches:
    """The part of one rank of an endless sequence of batches of `batch_size` examples.

    `corpus` has weight 1; `data_mixture` holds further corpora with their weights.
    """

    def __init__(
        self,
        corpus: Corpus,
        settings: SamplingSettings,
        *,
        batch_size: int,
        microbatch_size: int,
        rank: int = 0,
        world_size: int = 1,
        seed: int,
        data_mixture: WeightedCorpora = (),
    ) -> None:
        if not microbatch_size > 0:
            raise ConfigError(f"microbatch_size: must be at least 1, found {microbatch_size}")
        if batch_size < world_size:
            raise ConfigError(f"batch_size: must be at least the number of processes, {world_size}; found {batch_size}")
        self.settings, self.batch_size, self.microbatch_size = settings, batch_size, microbatch_size
        self.rank, self.world_size = rank, world_size
        self.mlm_probability = LinearSchedule.parse(settings.mlm_probability)
        self.vocabulary = vocabulary_for(corpus, settings)
        self.mixture = Mixture([(corpus, 1.0), *data_mixture], settings, seed=seed)
        identity = json.dumps([self.mixture.identity, settings.digested(), batch_size, seed], sort_keys=True)
        self.fingerprint = hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()
        """Hex digest of everything that determines the examples and their order."""

    @property
    def examples_per_epoch(self) -> int:
        """Mean number of examples of an epoch of the corpus, examples of the other corpora of a mixture included."""
        return self.mixture.examples_per_epoch

    def microbatches(self, step: int) -> Sequence[PretrainBatch]:
        """The part of this rank of the batch at `step`, counted from 0."""
        first = step * self.batch_size
        refs = [self.mixture.at(first + offset) for offset in range(self.batch_size)]
        mlm_probability = None if self.settings.is_causal(step) else self.mlm_probability.at(step)
        return self._microbatches(refs, mlm_probability=mlm_probability)

    def one_epoch(
        self, epoch: int = 0, *, causal: bool = False, max_examples: int | None = None
    ) -> Iterator[PretrainBatch]:
        """The part of this rank of one pass over each corpus; the ranks together see every example once.

        With `max_examples`, the pass ends after so many examples of all ranks.
        """
        remaining = islice(self.mixture.one_epoch(epoch), max_examples)
        while refs := list(islice(remaining, self.batch_size)):
            yield from self._microbatches(refs, mlm_probability=None if causal else self.mlm_probability.end)

    def in_epoch(self, position: int, epoch: int = 0) -> PretrainBatch:
        """The example at a position of `one_epoch` by itself, masked."""
        ref = self.mixture.in_epoch(epoch, position)
        (batch,) = self._microbatches([ref], mlm_probability=self.mlm_probability.end)
        return batch

    def epoch_size(self, epoch: int = 0) -> int:
        """Number of examples of that pass, over all ranks."""
        return self.mixture.epoch_size(epoch)

    def _share(self, count: int) -> list[int]:
        """Which of `count` examples are for this rank: one of each `world_size`.

        In every other round the order of the ranks is reversed. In order of length, their numbers of tokens are then
        nearly equal; otherwise the last rank would always have the most, and the others wait for it.
        """
        places = (self.rank, self.world_size - 1 - self.rank)
        rounds = count // self.world_size
        share = [turn * self.world_size + places[turn % 2] for turn in range(rounds)]
        rest = rounds * self.world_size + self.rank
        return share if rest >= count else [*share, rest]

    def _microbatches(self, refs: Sequence[ExampleRef], *, mlm_probability: float | None) -> Sequence[PretrainBatch]:
        """Microbatches of the part of this rank of some examples; causal ones without a probability."""
        grouped = self.settings.group_by_length
        if grouped:  # so that every rank has examples of all lengths
            refs = sorted(refs, key=lambda ref: ref.tokens)
        examples = [refs[index].draw() for index in self._share(len(refs))]
        if grouped:  # pairing and truncation have changed some lengths
            examples.sort(key=lambda example: example.length)
        rows = [[example] for example in examples]
        if self.settings.packing:
            packed = pack_examples([example.length for example in examples], capacity=self.settings.max_length)
            regular = with_regular_count(packed, microbatch_size=self.microbatch_size)
            rows = [[examples[index] for index in row] for row in regular]
        return [
            self._batch(rows[start : start + self.microbatch_size], mlm_probability=mlm_probability)
            for start in range(0, len(rows), self.microbatch_size)
        ]

    def _batch(self, rows: Sequence[Sequence[Example]], *, mlm_probability: float | None) -> PretrainBatch:
        """Mask the examples as one grid, unless the batch is causal, then lay them out in rows."""
        examples = [example for row in rows for example in row]
        grid = to_grid(examples, self.vocabulary)
        pairs = torch.tensor([example.label for example in examples])
        if mlm_probability is None:
            targets, pairs = next_tokens(grid), torch.full_like(pairs, NO_LABEL)
        else:
            targets = masked_tokens(grid, self.vocabulary, self.settings, mlm_probability=mlm_probability)
        layout = RowLayout.of([[e.length for e in row] for row in rows], capacity=self.settings.max_length)
        return PretrainBatch(
            input_ids=torch.from_numpy(layout.to_rows(targets.input_ids, padding=self.vocabulary.pad_id)),
            attention_mask=torch.from_numpy(layout.to_rows(grid.attention_mask, padding=False)),
            token_type_ids=torch.from_numpy(layout.to_rows(grid.in_second_segment.astype(np.int64), padding=0)),
            masked_positions=torch.from_numpy(layout.flat_positions[targets.predicted]),
            labels=torch.from_numpy(targets.labels),
            sentence_pair_labels=pairs,
            sequence_starts=torch.from_numpy(layout.sequence_starts) if layout.is_packed else None,
            num_tokens=int(grid.lengths.sum()),
            causal=mlm_probability is None,
        )


def vocabulary_for(corpus: Corpus, settings: SamplingSettings) -> Vocabulary:
    """The vocabulary of a corpus with the word starts that `settings.mask_unit` requires."""
    if settings.mask_unit != "whole_word_google":
        return corpus.vocabulary
    tokenizer = Tokenizer.load(corpus.tokenizer_directory)
    return replace(corpus.vocabulary, word_starts=np.asarray(tokenizer.google_word_starts, dtype=bool))


PAD_MULTIPLE = 8
"""Row lengths are multiples of this, because kernels are faster on such shapes."""


def pack_examples(lengths: Sequence[int], *, capacity: int) -> list[list[int]]:
    """Indices of the examples of each row of at most `capacity` tokens; every example is in one row.

    Best-fit decreasing: the longest example first, each into the row with the least space that is sufficient.
    """
    rows: list[list[int]] = []
    open_rows: list[tuple[int, int]] = []  # (free tokens, row), ascending
    for index in np.argsort(-np.asarray(lengths), kind="stable").tolist():
        best = bisect_left(open_rows, (lengths[index], -1))
        if best == len(open_rows):
            rows.append([])
            free, row = capacity, len(rows) - 1
        else:
            free, row = open_rows.pop(best)
        rows[row].append(index)
        insort(open_rows, (free - lengths[index], row))
    return rows


def with_regular_count(rows: Sequence[Sequence[int]], *, microbatch_size: int) -> list[list[int]]:
    """The rows, at most 1/32 of them divided, so that their number is a multiple of a power of two.

    Rows are not divided into more microbatches. The last microbatch of a step then has one of few numbers of rows,
    because cuDNN builds a plan of attention for every shape that it has not seen.
    """
    step = 1 << max(0, len(rows).bit_length() - 6)
    count = min(-(-len(rows) // step) * step, -(-len(rows) // microbatch_size) * microbatch_size)
    divided = [list(row) for row in rows]
    while len(divided) < count and (several := [row for row in divided if len(row) > 1]):
        divided += [[row.pop()] for row in several[: count - len(divided)]]
    return divided


@dataclass(frozen=True)
class RowLayout:
    """Where X examples of up to S tokens are in R rows of W positions.

    Packing several examples in one row changes the layout only, so that a batch has little padding. Examples, masks and
    labels of a step are those of unpacked rows, and the model keeps the examples apart (`sequence_starts`), so losses
    and gradients are the same.
    """

    sequence_starts: np.ndarray
    """Int64 [X]: flat position row * W + column of the first token of each example, ascending."""
    attention_mask: np.ndarray
    """Bool [X, S]: where an example has a token."""
    shape: tuple[int, int]
    """R and W."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], *, capacity: int) -> Self:
        """The layout of rows that consist of examples of these lengths."""
        lengths = np.array([length for row in rows for length in row])
        longest_row = max(map(sum, rows))
        width = min(capacity, -(-longest_row // PAD_MULTIPLE) * PAD_MULTIPLE)
        columns = np.concatenate([np.cumsum([0, *row[:-1]]) for row in rows])
        starts = np.repeat(np.arange(len(rows)), [len(row) for row in rows]) * width + columns
        return cls(starts, np.arange(int(lengths.max())) < lengths[:, None], (len(rows), width))

    @property
    def is_packed(self) -> bool:
        """Whether a row holds more than one example."""
        return len(self.sequence_starts) > self.shape[0]

    @property
    def flat_positions(self) -> np.ndarray:
        """Int64 [X, S]: flat position row * W + column of each token."""
        return self.sequence_starts[:, None] + np.arange(self.attention_mask.shape[1])

    def to_rows(self, values: np.ndarray, *, padding: int) -> np.ndarray:
        """Values of examples, [X, S], as values of rows, [R, W]."""
        out = np.full(self.shape[0] * self.shape[1], padding, dtype=values.dtype)
        out[self.flat_positions[self.attention_mask]] = values[self.attention_mask]
        return out.reshape(self.shape)
