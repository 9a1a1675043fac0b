"""Evaluation on the validation split of a corpus, and its scores as a result: for JSON, tables and people.

Examples and masks depend on the seed of the evaluation, not on that of the training, so that scores of different runs
on the same corpus are comparable.
"""

import logging
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import torch
from torch import nn

from litebert.commands.pretrain.pretrain_settings import PairObjective
from litebert.commands.pretrain.pretraining_objective import (
    EXAMPLE_LENGTHS,
    MAJORITY_TOKEN,
    SPAN_LENGTHS,
    PretrainingObjective,
    ValidationObjective,
)
from litebert.commands.result import Result
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pretrain_batches import PretrainBatch, PretrainBatches
from litebert.corpus.sampling.sampling_settings import Pairing, SamplingSettings
from litebert.corpus.statistics.token_frequency import most_frequent_token
from litebert.errors import ConfigError, DataError
from litebert.settings import TrainingPrecision
from litebert.tasks.metrics.metrics import wilson_interval
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.evaluation_loop import evaluate
from litebert.training.protocols import Number

logger = logging.getLogger(__name__)

EVALUATION_SEED = 0
BATCH_SIZE = 64
_MORE_TEXT = "build the corpus with more validation text, or train without evaluation (max_eval_examples=0)"

PAIR_NAMES = {"sop": "SOP", "nsp": "NSP"}


@dataclass(frozen=True)
class ValidationSet:
    """The validation split of a corpus as fixed batches, divided among the processes of `world`.

    However many there are, the same examples are evaluated: `max_eval_examples`, rounded down to equal batches.

    Masked tokens are evaluated under the pairing of `sampling`; sentence pairs under that and under each of
    `eval_pair_objectives`, so that a model trained on sentence order is also evaluated on next sentences.
    Source: ALBERT, table 5.
    """

    corpus: Path
    sampling: SamplingSettings
    max_eval_examples: int
    precision: TrainingPrecision
    world: DistributedContext
    eval_pair_objectives: Sequence[PairObjective] = ()

    def evaluate(self, model: nn.Module) -> dict[str, Number]:
        """The metrics that a training run logs: losses, accuracies and counts by name; every process must call."""
        values = self._evaluate(model, self._objective, self.batches())
        if not values.get("mlm_count"):
            raise DataError(f"{self.corpus}: no token of the validation split is masked; {_MORE_TEXT}")
        values["mlm_perplexity"] = perplexity(values["mlm_loss"])
        for name in self.eval_pair_objectives:
            if name in self._possible and name != self._drawn.pairing:
                values |= self._evaluate_pairs(model, name)
        if self.sampling.causal_fraction:
            values |= self._evaluate_next_tokens(model)
        return {name: value for name, value in values.items() if values.get(f"{name.partition('_')[0]}_count") != 0}

    def validate_metric(self, metric: str) -> None:
        """Raise ConfigError if `evaluate` will not have this metric, because the text has no pairs to score."""
        name = metric.partition("_")[0]
        if name in PAIR_NAMES and name not in self._possible:
            raise ConfigError(
                f"metric_for_best_model: {metric} cannot be measured, because the validation split of {self.corpus} "
                f"has no pairs for {PAIR_NAMES[name]}; choose another metric, or build the corpus with more text"
            )

    def validate_scored(self, metric: str, scores: "ValidationScores") -> None:
        """Raise ConfigError if an evaluation, such as that before the first step, had no pairs for this metric."""
        name = metric.partition("_")[0]
        if name in PAIR_NAMES and name not in scores.sentence_pairs:
            raise ConfigError(
                f"metric_for_best_model: {metric} cannot be measured, because none of the validation examples of "
                f"{self.corpus} is a pair for {PAIR_NAMES[name]}; choose another metric, longer examples "
                "(sampling.max_length), or a larger max_eval_examples"
            )

    def score(self, model: nn.Module) -> "ValidationScores":
        """The metrics of `evaluate` as a result."""
        return ValidationScores.of(self.evaluate(model))

    def batches(self) -> Iterator[PretrainBatch]:
        """This process's part of each batch, in the same order every time."""
        return self._batches(self._drawn)

    @cached_property
    def _possible(self) -> Collection[Pairing]:
        """The pairings that the documents of the split allow."""
        split = Corpus.open(self.corpus, "validation")
        has_pairs = split.num_sentences > split.num_documents or self.sampling.single_sentence_policy != "no_label"
        possible: dict[Pairing, bool] = {"none": True, "sop": has_pairs, "nsp": has_pairs and split.num_documents > 1}
        for name in {self.sampling.pairing, *self.eval_pair_objectives}:
            if not possible[name]:
                needed = "documents" if has_pairs else "sentences in a document"
                logger.warning("%s: the validation split has no two %s, so %s is not scored", self.corpus, needed, name)
        return [name for name, is_possible in possible.items() if is_possible]

    @cached_property
    def _drawn(self) -> SamplingSettings:
        pairing = self.sampling.pairing if self.sampling.pairing in self._possible else "none"
        return self.sampling.replace(pairing=pairing)

    @cached_property
    def _objective(self) -> ValidationObjective:
        validation = Corpus.open(self.corpus, "validation")
        # A corpus that is only evaluated on, such as the development text of SQuAD and RACE, has no training split.
        counted = Corpus.open(self.corpus, "train") if validation.description["splits"]["train"] else validation
        starts = torch.from_numpy(counted.vocabulary.word_starts.copy())
        return ValidationObjective(self._drawn.pairing, word_starts=starts, most_frequent=most_frequent_token(counted))

    def _evaluate_pairs(self, model: nn.Module, name: PairObjective) -> Mapping[str, Number]:
        """Metrics of sentence pairs drawn for another objective from the same text."""
        sampling = self.sampling.replace(pairing=name, single_segment=False)
        batches = (without_masked_tokens(batch) for batch in self._batches(sampling))
        values = self._evaluate(model, PretrainingObjective(name), batches)
        return {metric: value for metric, value in values.items() if metric.startswith(name)}

    def _evaluate_next_tokens(self, model: nn.Module) -> Mapping[str, Number]:
        """Loss, accuracy and number of next tokens of the same text."""
        values = self._evaluate(model, PretrainingObjective("none"), self._batches(self._drawn, causal=True))
        return {metric: value for metric, value in values.items() if metric.startswith("clm")}

    def _evaluate(
        self, model: nn.Module, objective: ValidationObjective | PretrainingObjective, batches: Iterable[PretrainBatch]
    ) -> dict[str, Number]:
        return evaluate(model, objective, batches, device=self.world.device, precision=self.precision)

    def _batches(self, sampling: SamplingSettings, *, causal: bool = False) -> Iterator[PretrainBatch]:
        num_batches = math.ceil(self.max_eval_examples / BATCH_SIZE)
        size = self.max_eval_examples // num_batches
        source = PretrainBatches(
            Corpus.open(self.corpus, "validation"),
            sampling.replace(packing=False),  # `example_lengths` needs one example in each row
            batch_size=max(size, self.world.size),
            microbatch_size=size,
            rank=self.world.rank,
            world_size=self.world.size,
            seed=EVALUATION_SEED,
        )
        # The same examples for any number of processes; some of these may have fewer batches, or none.
        return source.one_epoch(causal=causal, max_examples=num_batches * size)


def without_masked_tokens(batch: PretrainBatch) -> PretrainBatch:
    """The same examples with nothing to predict, which saves the computation of the MLM head."""
    return replace(batch, masked_positions=batch.masked_positions[:0], labels=batch.labels[:0])


@dataclass(frozen=True)
class Accuracy:
    """An accuracy in [0, 1] and the number of predictions behind it."""

    accuracy: float
    count: int
    interval: tuple[float, float]
    """Wilson's 95 % interval."""

    @classmethod
    def of(cls, values: Mapping[str, Number], name: str) -> Self:
        """The accuracy called `name` among the metrics of an evaluation."""
        accuracy, count = values[f"{name}_accuracy"], int(values[f"{name}_count"])
        return cls(accuracy, count, wilson_interval(round(accuracy * count), count))


@dataclass(frozen=True, kw_only=True)
class ValidationScores(Result):
    """MLM and sentence-pair accuracy on validation text; accuracies are in [0, 1]."""

    mlm_accuracy: float
    mlm_loss: float
    """Mean cross-entropy in nats; its exponential is the perplexity."""
    mlm_count: int
    """Masked tokens."""
    majority_token_accuracy: float
    """Baseline: accuracy of always predicting the most frequent token of the training text."""
    clm_accuracy: float | None = None
    """Of next tokens; None for a model without causal steps, as `clm_loss`."""
    clm_loss: float | None = None
    sentence_pairs: dict[str, Accuracy] = field(default_factory=dict)
    """`sop`, `nsp`: the objectives that were evaluated, and no others; chance is 0.5."""
    mlm_by_span_length: dict[str, Accuracy] = field(default_factory=dict)
    """MLM accuracy by length of the masked span, in words."""
    mlm_by_example_length: dict[str, Accuracy] = field(default_factory=dict)
    """MLM accuracy by length of the example, in tokens."""

    @classmethod
    def of(cls, values: Mapping[str, Number]) -> Self:
        """The scores among the metrics of an evaluation."""
        return cls(
            mlm_accuracy=values["mlm_accuracy"],
            mlm_loss=values["mlm_loss"],
            mlm_count=int(values["mlm_count"]),
            majority_token_accuracy=values[f"{MAJORITY_TOKEN}_accuracy"],
            clm_accuracy=values.get("clm_accuracy"),
            clm_loss=values.get("clm_loss"),
            sentence_pairs={name: Accuracy.of(values, name) for name in PAIR_NAMES if values.get(f"{name}_count")},
            mlm_by_span_length=_groups(values, SPAN_LENGTHS, prefix="mlm_span_"),
            mlm_by_example_length=_groups(values, EXAMPLE_LENGTHS, prefix="mlm_length_"),
        )

    @property
    def is_at_baseline(self) -> bool:
        """Whether the MLM accuracy is no more than two standard errors above that of the most frequent token."""
        share = self.majority_token_accuracy
        error = math.sqrt(share * (1 - share) / max(self.mlm_count, 1))
        return self.mlm_accuracy <= share + 2 * error

    @property
    def perplexity(self) -> float:
        """Of the masked tokens."""
        return perplexity(self.mlm_loss)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**super().to_dict(), "mlm_perplexity": self.perplexity}

    def to_text(self) -> str:
        """One line for a person."""
        return ", ".join([self._mlm_line(), *self._clm_lines(), *self._pair_lines()])

    def to_report(self) -> str:
        """All scores, a line each."""
        lines = [
            f"{self._mlm_line()}, perplexity {self.perplexity:,.1f}; {self.mlm_count:,} masked tokens",
            *self._clm_lines(),
            *self._pair_lines(),
            "",
            *_table("masked span length (words)", self.mlm_by_span_length),
            "",
            *_table("example length (tokens)", self.mlm_by_example_length),
        ]
        return "\n".join(lines)

    def _mlm_line(self) -> str:
        return f"MLM accuracy {self.mlm_accuracy:.1%} (majority-token baseline {self.majority_token_accuracy:.1%})"

    def _clm_lines(self) -> list[str]:
        if self.clm_accuracy is None or self.clm_loss is None:
            return []
        return [f"next-token accuracy {self.clm_accuracy:.1%}, perplexity {perplexity(self.clm_loss):,.1f}"]

    def _pair_lines(self) -> list[str]:
        return [
            f"{PAIR_NAMES[name]} accuracy {pairs.accuracy:.1%} "
            f"(95 % interval {pairs.interval[0]:.1%} to {pairs.interval[1]:.1%}, chance 50 %)"
            for name, pairs in self.sentence_pairs.items()
        ]


def perplexity(loss: float) -> float:
    """The exponential of a mean cross-entropy; e^700, which a float can hold, for any larger loss."""
    return math.exp(min(loss, 700))


def _groups(values: Mapping[str, Number], names: Mapping[str, object], *, prefix: str) -> dict[str, Accuracy]:
    """The groups that have a masked token, by short name: `4 or more`, `33 to 64`."""
    return {
        name.removeprefix(prefix).replace("_", " "): Accuracy.of(values, name)
        for name in names
        if f"{name}_count" in values
    }


def _table(title: str, groups: Mapping[str, Accuracy]) -> list[str]:
    rows = [f"  {name:<28}{group.accuracy:>9.1%}{group.count:>12,}" for name, group in groups.items()]
    return [f"  {title:<28}{'accuracy':>9}{'masked':>12}", *rows]
