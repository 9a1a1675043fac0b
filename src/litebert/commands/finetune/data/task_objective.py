"""The loss of a task on its training rows, with the weights of labels and the scale of scores."""

import numpy as np
import torch
from torch import nn

from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.errors import ConfigError
from litebert.loss_sums import LossSums
from litebert.tasks.encoded import LabelledBatch
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.types.registry import get_task_type
from litebert.tasks.types.task_type import Loss, ScoreScale


class TaskObjective:
    """The loss of a task type as `training`'s Objective."""

    def __init__(self, loss: Loss, weights: np.ndarray | None = None) -> None:
        self._loss = loss
        self._weights = None if weights is None else torch.tensor(weights, dtype=torch.float32)

    def counts(self, batch: LabelledBatch) -> dict[str, int]:
        """How many labels each loss sums over."""
        return self._loss.counts(batch)

    def __call__(self, model: nn.Module, batch: LabelledBatch) -> LossSums:
        """Summed losses and numbers of correct predictions of one microbatch."""
        return self._loss.sums(model, batch, self._weights)


def class_weights(run: FinetuneRun, train: LabelledData) -> np.ndarray | None:
    """The weights of the labels in the loss; None if all are equal."""
    if run.class_weights is None:
        return None
    weights = get_task_type(train.task_type).loss.class_weights
    if weights is None:
        raise ConfigError(f"class_weights: {train.task_type} has no weights for labels; set it to null")
    return weights(run.class_weights, train)


def score_scale(run: FinetuneRun, train: LabelledData) -> ScoreScale | None:
    """Mean and standard deviation by which the head is standardized; None: it is not.

    DataError where all scores are equal, in any case.
    """
    measure = get_task_type(train.task_type).loss.score_scale
    scale = measure(train) if measure else None
    return scale if run.standardize_scores else None


def loss_weights(run: FinetuneRun, train: LabelledData) -> np.ndarray | None:
    """Weights of the loss: of each label, or one that all scores are multiplied by; None: 1."""
    weights, scale = class_weights(run, train), score_scale(run, train)
    return weights if scale is None else np.array([1 / scale.std])
