"""Examples to batches of tensors. Before: masking. After: training, which asks for a step and gets its microbatches.

The batch of a step is a function of (seed, step, corpora, settings) alone: any number of ranks share it, and a run that
goes on at step one million pays nothing for the steps before.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Self

import numpy as np
import torch
from torch import Tensor

from litebert.corpus.format.shards import Corpus
from litebert.corpus.format.vocabulary import Vocabulary
from litebert.corpus.sampling.example_grid import to_grid
from litebert.corpus.sampling.masking import mask
from litebert.corpus.sampling.mixture import ExampleRef, Mixture, WeightedCorpora
from litebert.corpus.sampling.mlm_probability import LinearSchedule
from litebert.corpus.sampling.packing import Layout, pack
from litebert.corpus.sampling.pairing import Example
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError
from litebert.tokenization.tokenizer import Tokenizer


@dataclass(frozen=True)
class PretrainBatch:
    """X examples in B rows of S tokens, of which P are to be predicted; without packing, X is B."""

    input_ids: Tensor
    """Int64 [B, S]."""
    attention_mask: Tensor
    """Bool [B, S]: True where there is a token."""
    token_type_ids: Tensor
    """Int64 [B, S]: 1 in the second segment and its [SEP]."""
    masked_positions: Tensor
    """Int64 [P]: positions b * S + s in the grid."""
    mlm_labels: Tensor
    """Int64 [P]: the tokens that belong there."""
    sentence_pair_labels: Tensor
    """Int64 [X]: 0 in order, 1 swapped or from another document, -100 no label."""
    sequence_starts: Tensor | None
    """Int64 [X]: positions b * S + s of the [CLS] of each example, ascending; None if every row holds one."""
    num_tokens: int
    """Tokens without padding."""

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
    """One rank's share of an endless sequence of batches of `batch_size` examples.

    `corpus` has weight 1 beside the corpora `data_mixture` it.
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
        identity = json.dumps([self.mixture.identity, settings.to_dict(), batch_size, seed], sort_keys=True)
        self.fingerprint = hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()
        """Hex digest of all that decides which examples there are and in which order."""

    @property
    def examples_per_epoch(self) -> int:
        """Examples in one pass over the corpus, on average; those of the corpora mixed with it are counted."""
        return self.mixture.examples_per_epoch

    def microbatches(self, step: int) -> Sequence[PretrainBatch]:
        """This rank's part of the batch at `step`, counted from 0."""
        first = step * self.batch_size
        places = [self.mixture.at(first + offset) for offset in range(self.batch_size)]
        return self._microbatches(places, mlm_probability=self.mlm_probability.at(step))

    def one_epoch(self, epoch: int = 0) -> Iterator[PretrainBatch]:
        """This rank's part of one pass over each corpus: over all ranks every example once, as evaluation needs it."""
        remaining = self.mixture.one_epoch(epoch)
        while places := list(islice(remaining, self.batch_size)):
            yield from self._microbatches(places, mlm_probability=self.mlm_probability.end)

    def epoch_size(self, epoch: int = 0) -> int:
        """Examples of that pass, over all ranks."""
        return sum(len(source.stream.epoch(epoch).order) for source in self.mixture.sources)

    def _microbatches(self, places: Sequence[ExampleRef], *, mlm_probability: float) -> Sequence[PretrainBatch]:
        """Batches of this rank's part of some examples."""
        grouped = self.settings.group_by_length
        if grouped:  # every rank gets long and short ones alike
            places = sorted(places, key=lambda place: place.tokens)
        examples = [place.draw() for place in places[self.rank :: self.world_size]]
        if grouped:  # a partner of another document or a cut has changed some lengths
            examples.sort(key=lambda example: example.length)
        capacity = self.settings.max_length
        lengths = [example.length for example in examples]
        rows = pack(lengths, capacity=capacity) if self.settings.pack else [[i] for i in range(len(examples))]
        filled = [[examples[i] for i in row] for row in rows]
        starts = range(0, len(rows), self.microbatch_size)
        return [self._batch(filled[s : s + self.microbatch_size], mlm_probability=mlm_probability) for s in starts]

    def _batch(self, rows: Sequence[Sequence[Example]], *, mlm_probability: float) -> PretrainBatch:
        """Examples masked side by side, then laid out in rows."""
        examples = [example for row in rows for example in row]
        grid = to_grid(examples, self.vocabulary)
        masked = mask(grid, self.vocabulary, self.settings, mlm_probability=mlm_probability)
        layout = Layout.of([[e.length for e in row] for row in rows], capacity=self.settings.max_length)
        return PretrainBatch(
            input_ids=torch.from_numpy(layout.spread(masked.input_ids, padding=self.vocabulary.pad_id)),
            attention_mask=torch.from_numpy(layout.spread(grid.real, padding=False)),
            token_type_ids=torch.from_numpy(layout.spread(grid.in_second.astype(np.int64), padding=0)),
            masked_positions=torch.from_numpy(layout.flat[masked.predicted]),
            mlm_labels=torch.from_numpy(grid.input_ids[masked.predicted]),
            sentence_pair_labels=torch.tensor([example.label for example in examples]),
            sequence_starts=torch.from_numpy(layout.starts) if layout.is_packed else None,
            num_tokens=int(grid.lengths.sum()),
        )


def vocabulary_for(corpus: Corpus, settings: SamplingSettings) -> Vocabulary:
    """The vocabulary of a corpus, with the rule for the beginnings of words that the settings ask for."""
    if settings.mask_unit != "whole_word_google":
        return corpus.vocabulary
    tokenizer = Tokenizer.load(corpus.tokenizer_directory)
    return replace(corpus.vocabulary, word_starts=np.asarray(tokenizer.google_word_starts, dtype=bool))
