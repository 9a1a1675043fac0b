"""What fine-tuning minimises: `training`'s Objective for the models of this house.

Before: a model of `model` and a batch of `tasks`. After: `training` divides each sum by its own count.
"""

from torch import Tensor, nn

from litebert.model.losses import classification_loss, regression_loss
from litebert.runs.pretraining_objective import right_answers
from litebert.tasks.features import ClassificationBatch
from litebert.training.protocols import Sums


class ClassificationObjective:
    """The label of each sequence ("label"): cross-entropy. Source: run_classifier.py."""

    def counts(self, batch: ClassificationBatch) -> dict[str, int]:
        """Sequences; each has a label."""
        return {"label": batch.num_examples}

    def __call__(self, model: nn.Module, batch: ClassificationBatch) -> Sums:
        """Summed cross-entropy and number of right labels of one microbatch."""
        logits = _logits(model, batch)
        return Sums(
            {"label": classification_loss(logits, batch.labels)}, {"label": right_answers(logits, batch.labels)}
        )


class RegressionObjective:
    """The score of each sequence ("score"): squared error. Source: the STS-B branch of run_classifier.py."""

    def counts(self, batch: ClassificationBatch) -> dict[str, int]:
        """Sequences; each has a score."""
        return {"score": batch.num_examples}

    def __call__(self, model: nn.Module, batch: ClassificationBatch) -> Sums:
        """Summed squared error of one microbatch."""
        return Sums({"score": regression_loss(_logits(model, batch).squeeze(-1), batch.labels)}, {})


def _logits(model: nn.Module, batch: ClassificationBatch) -> Tensor:
    inputs = batch.inputs
    return model(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids).logits
