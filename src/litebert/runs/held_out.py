"""Scores on held-out text, beside what knowing nothing would score. Before: corpus, model. After: pretrain, evaluate.

The examples and their masks are fixed by the seed of the evaluation, not by that of the training, so that figures of
different runs on the same corpus compare.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import nn

from litebert.corpus.batches import PretrainBatch, PretrainBatches
from litebert.corpus.example_settings import ExampleSettings
from litebert.corpus.frequency import most_frequent_token
from litebert.corpus.shards import Corpus
from litebert.runs.objectives import PretrainingObjective
from litebert.runs.result import Result
from litebert.tasks.metrics import wilson_interval
from litebert.training.evaluate import evaluate
from litebert.training.settings import Precision

EVALUATION_SEED = 0
BATCH_SIZE = 64


@dataclass(frozen=True)
class HeldOutScores(Result):
    """Masked-token and sentence-order accuracy on held-out text; accuracies are shares in [0, 1]."""

    mlm_accuracy: float
    mlm_loss: float
    """Mean cross-entropy in nats; its exponential is the perplexity."""
    mlm_count: int
    baseline_accuracy: float
    """Accuracy of always naming the most frequent token of the training text."""
    sop_accuracy: float | None
    """None without pairs that carry a label."""
    sop_count: int
    sop_interval: tuple[float, float] | None
    """Wilson's 95 % interval of the order accuracy; chance is 0.5."""

    def to_text(self) -> str:
        """One line for a person."""
        mlm = f"MLM accuracy {self.mlm_accuracy:.1%} (most frequent token {self.baseline_accuracy:.1%})"
        if self.sop_accuracy is None or self.sop_interval is None:
            return mlm
        low, high = self.sop_interval
        return f"{mlm}, SOP accuracy {self.sop_accuracy:.1%} (95 % interval {low:.1%} to {high:.1%}, chance 50 %)"


class HeldOut:
    """The held-out part of a corpus as fixed evaluation batches."""

    def __init__(
        self, corpus: Path, examples: ExampleSettings, *, most_examples: int, precision: Precision, device: torch.device
    ) -> None:
        self._precision: Precision = precision
        self._device = device
        self._frequent = most_frequent_token(Corpus.open(corpus, "train"))
        held_out = Corpus.open(corpus, "held_out")
        self._source = PretrainBatches(
            held_out, examples, batch_size=BATCH_SIZE, microbatch_size=BATCH_SIZE, seed=EVALUATION_SEED
        )
        self._most_batches = math.ceil(most_examples / BATCH_SIZE)

    def batches(self) -> Iterator[PretrainBatch]:
        """Each batch once, in the same order every time."""
        return islice(self._source.one_epoch(), self._most_batches)

    def measure(self, model: nn.Module) -> dict[str, float]:
        """The numbers a training run logs: losses, accuracies and counts by name."""
        return evaluate(model, PretrainingObjective(), self.batches(), device=self._device, precision=self._precision)

    def score(self, model: nn.Module) -> HeldOutScores:
        """The same, beside the baselines."""
        values = self.measure(model)
        pairs = int(values["sop_count"])
        right = round(values["sop_accuracy"] * pairs)
        return HeldOutScores(
            mlm_accuracy=values["mlm_accuracy"],
            mlm_loss=values["mlm_loss"],
            mlm_count=int(values["mlm_count"]),
            baseline_accuracy=self._baseline(),
            sop_accuracy=values["sop_accuracy"] if pairs else None,
            sop_count=pairs,
            sop_interval=wilson_interval(right, pairs) if pairs else None,
        )

    def _baseline(self) -> float:
        labels = torch.cat([batch.mlm_labels for batch in self.batches()])
        return (labels == self._frequent).float().mean().item()
