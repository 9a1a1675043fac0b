"""The training objective of fine-tuning."""

import numpy as np
import torch
from torch import nn

from litebert.tasks.encoded import LabelledBatch
from litebert.tasks.types.task_type import Loss
from litebert.training.protocols import LossSums


class TaskObjective:
    """The loss of a task type as `training`'s Objective."""

    def __init__(self, loss: Loss, class_weights: np.ndarray | None = None) -> None:
        self._loss = loss
        self._weights = None if class_weights is None else torch.tensor(class_weights, dtype=torch.float32)

    def counts(self, batch: LabelledBatch) -> dict[str, int]:
        """How many labels each loss sums over."""
        return self._loss.counts(batch)

    def __call__(self, model: nn.Module, batch: LabelledBatch) -> LossSums:
        """Summed losses and numbers of correct predictions of one microbatch."""
        sums = self._loss.sums(model, batch, self._weights)
        return LossSums(sums.losses, sums.correct)
