"""What fine-tuning minimises: `training`'s Objective for the models of this house.

Before: a model of `model` and a batch of `tasks`. After: `training` divides each sum by its own count.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from litebert.commands.finetune.span_objectives import QuestionAnsweringWithNoAnswerObjective, SpanObjective
from litebert.commands.pretrain.pretraining_objective import num_correct
from litebert.model.losses import NO_LABEL, classification_loss, regression_loss
from litebert.tasks.features import LabelledBatch
from litebert.tasks.task_type import Kind
from litebert.training.protocols import LossSums, Objective


class ClassificationObjective:
    """The label of each sequence, or the best of its options ("label"): cross-entropy, times the weight of the label.

    Source: run_classifier.py, race_utils.py.
    """

    def __init__(self, weights: Tensor | None = None) -> None:
        self._weights = weights

    def counts(self, batch: LabelledBatch) -> dict[str, int]:
        """Sequences; each has a label."""
        return {"label": batch.num_examples}

    def __call__(self, model: nn.Module, batch: LabelledBatch) -> LossSums:
        """Summed cross-entropy and number of right labels of one microbatch."""
        logits = _logits(model, batch)
        weights = _at(logits, self._weights)
        loss = (
            classification_loss(logits, batch.labels)
            if weights is None
            else F.cross_entropy(logits.float(), batch.labels, weights, reduction="sum")
        )
        return LossSums({"label": loss}, {"label": num_correct(logits, batch.labels)})


class MultiLabelObjective:
    """Each label of each sequence ("label"): binary cross-entropy, times the label's weight where it is present."""

    def __init__(self, weights: Tensor | None = None) -> None:
        self._weights = weights

    def counts(self, batch: LabelledBatch) -> dict[str, int]:
        """Decisions: sequences times labels."""
        return {"label": batch.labels.numel()}

    def __call__(self, model: nn.Module, batch: LabelledBatch) -> LossSums:
        """Summed binary cross-entropy and number of right decisions of one microbatch."""
        logits = _logits(model, batch)
        weights = _at(logits, self._weights)
        loss = F.binary_cross_entropy_with_logits(logits.float(), batch.labels, pos_weight=weights, reduction="sum")
        return LossSums({"label": loss}, {"label": ((logits >= 0) == (batch.labels > 0)).sum()})


class TokenObjective:
    """The label of each word ("word"): cross-entropy at its first piece."""

    def counts(self, batch: LabelledBatch) -> dict[str, int]:
        """Words; each has a label."""
        return {"word": int((batch.labels != NO_LABEL).sum())}

    def __call__(self, model: nn.Module, batch: LabelledBatch) -> LossSums:
        """Summed cross-entropy and number of right labels of one microbatch."""
        logits, labels = _logits(model, batch).flatten(0, 1), batch.labels.flatten()
        return LossSums({"word": classification_loss(logits, labels)}, {"word": num_correct(logits, labels)})


class RegressionObjective:
    """The score of each sequence ("score"): squared error. Source: the STS-B branch of run_classifier.py."""

    def counts(self, batch: LabelledBatch) -> dict[str, int]:
        """Sequences; each has a score."""
        return {"score": batch.num_examples}

    def __call__(self, model: nn.Module, batch: LabelledBatch) -> LossSums:
        """Summed squared error of one microbatch."""
        return LossSums({"score": regression_loss(_logits(model, batch).squeeze(-1), batch.labels)}, {})


OBJECTIVES: Final[dict[Kind, Callable[[], Objective]]] = {
    "classification": ClassificationObjective,
    "regression": RegressionObjective,
    "multi_label": MultiLabelObjective,
    "multiple_choice": ClassificationObjective,
    "tokens": TokenObjective,
    "spans": SpanObjective,
    "answerability": QuestionAnsweringWithNoAnswerObjective,
}
"""What each kind of fine-tuning minimises."""


def objective_of(kind: Kind, weights: np.ndarray | None) -> Objective:
    """What to minimise, with the weights of labels that `class_weights` gave."""
    if weights is None:
        return OBJECTIVES[kind]()
    return _WEIGHTED[kind](torch.tensor(weights, dtype=torch.float32))


_WEIGHTED: Final[dict[Kind, Callable[[Tensor], Objective]]] = {
    "classification": ClassificationObjective,
    "multi_label": MultiLabelObjective,
}


def _at(logits: Tensor, weights: Tensor | None) -> Tensor | None:
    return None if weights is None else weights.to(logits.device)


def _logits(model: nn.Module, batch: LabelledBatch) -> Tensor:
    inputs = batch.inputs
    return model(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids).logits
