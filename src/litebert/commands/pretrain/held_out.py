"""Scores on held-out text, beside what knowing nothing would score. Before: corpus, model. After: pretrain, evaluate.

The examples and their masks are fixed by the seed of the evaluation, not by that of the training, so that figures of
different runs on the same corpus compare.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from litebert.commands.pretrain.held_out_objective import HeldOutObjective
from litebert.commands.pretrain.held_out_scores import HeldOutScores, perplexity
from litebert.commands.pretrain.pretraining_objective import PretrainingObjective
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pretrain_batches import PretrainBatch, PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.statistics.token_frequency import most_frequent_token
from litebert.settings import Precision
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.evaluation_loop import evaluate
from litebert.training.protocols import Number

EVALUATION_SEED = 0
BATCH_SIZE = 64

PairTask = Literal["sop", "nsp"]


@dataclass(frozen=True)
class HeldOut:
    """The held-out part of a corpus as fixed evaluation batches, shared among the processes of `world`.

    Masked tokens are scored under the pairing of `examples`, pairs under that and under each of `eval_pair_objectives`: a model
    that learned sentence order is asked for next sentences too. Source: ALBERT, table 5.
    """

    corpus: Path
    examples: SamplingSettings
    max_eval_examples: int
    precision: Precision
    world: DistributedContext
    eval_pair_objectives: Sequence[PairTask] = ()

    def measure(self, model: nn.Module) -> dict[str, Number]:
        """The numbers a training run logs: losses, accuracies and counts by name; every process must call."""
        values = self._evaluated(model, self._objective, self.batches())
        values["mlm_perplexity"] = perplexity(values["mlm_loss"])
        for task in self.eval_pair_objectives:
            if task != self.examples.pairing:
                values |= self._pairs(model, task)
        return values

    def score(self, model: nn.Module) -> HeldOutScores:
        """The same as a result."""
        return HeldOutScores.of(self.measure(model))

    def batches(self) -> Iterator[PretrainBatch]:
        """This process's part of each batch, in the same order every time."""
        return self._batches(self.examples)

    @cached_property
    def _objective(self) -> HeldOutObjective:
        train = Corpus.open(self.corpus, "train")
        starts = torch.from_numpy(train.vocabulary.word_starts.copy())
        return HeldOutObjective(self.examples.pairing, word_starts=starts, most_frequent=most_frequent_token(train))

    def _pairs(self, model: nn.Module, task: PairTask) -> Mapping[str, Number]:
        """Scores of the pairs alone, drawn for another task on the same text."""
        batches = (without_predictions(batch) for batch in self._batches(self.examples.replace(pairing=task)))
        values = self._evaluated(model, PretrainingObjective(task), batches)
        return {name: value for name, value in values.items() if name.startswith(task)}

    def _evaluated(
        self, model: nn.Module, objective: HeldOutObjective | PretrainingObjective, batches: Iterable[PretrainBatch]
    ) -> dict[str, Number]:
        return evaluate(model, objective, batches, device=self.world.device, precision=self.precision)

    def _batches(self, examples: SamplingSettings) -> Iterator[PretrainBatch]:
        size = max(BATCH_SIZE, self.world.size)
        examples = examples.replace(pack=False)  # each row one example, whose length is then known
        source = PretrainBatches(
            Corpus.open(self.corpus, "held_out"),
            examples,
            batch_size=size,
            microbatch_size=size,
            rank=self.world.rank,
            world_size=self.world.size,
            seed=EVALUATION_SEED,
        )
        full, rest = divmod(source.epoch_size(), size)
        # Every process gets a part of each batch: the forward of a sharded model waits for all of them.
        batches = full + (rest >= self.world.size)
        return islice(source.one_epoch(), min(batches, math.ceil(self.max_eval_examples / size)))


def without_predictions(batch: PretrainBatch) -> PretrainBatch:
    """The same examples with nothing to predict, which spares the head over the vocabulary."""
    return replace(batch, masked_positions=batch.masked_positions[:0], mlm_labels=batch.mlm_labels[:0])
