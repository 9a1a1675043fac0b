"""What pretraining and fine-tuning minimise: `training`'s Objective for the models of this house.

Before: a model of `model` and a batch of `corpus` or `tasks`. After: `training` divides each sum by its own count.
"""

from torch import Tensor, nn

from litebert.corpus.batches import PretrainBatch
from litebert.model.losses import NO_LABEL, classification_loss, masked_lm_loss, regression_loss
from litebert.tasks.features import ClassificationBatch
from litebert.training.protocols import Sums


class PretrainingObjective:
    """Masked language modelling ("mlm") and the order of the two segments ("sop"), weighted equally.

    A pair without a label (pairing "none") adds nothing to the sum and nothing to the count of "sop".
    Source: ALBERT section 3.1.
    """

    def counts(self, batch: PretrainBatch) -> dict[str, int]:
        """Masked tokens and pairs that carry a label."""
        return {"mlm": _labelled(batch.mlm_labels), "sop": _labelled(batch.sop_labels)}

    def __call__(self, model: nn.Module, batch: PretrainBatch) -> Sums:
        """Summed cross-entropies and numbers of right answers of one microbatch."""
        inputs = batch.input_ids, batch.attention_mask, batch.token_type_ids
        output = model(*inputs, batch.predicted_positions, batch.example_starts)
        return Sums(
            losses={
                "mlm": masked_lm_loss(output.mlm_logits, batch.mlm_labels),
                "sop": classification_loss(output.sop_logits, batch.sop_labels),
            },
            correct={
                "mlm": _right(output.mlm_logits, batch.mlm_labels),
                "sop": _right(output.sop_logits, batch.sop_labels),
            },
        )


class ClassificationObjective:
    """The label of each sequence ("label"): cross-entropy. Source: run_classifier.py."""

    def counts(self, batch: ClassificationBatch) -> dict[str, int]:
        """Sequences; each has a label."""
        return {"label": batch.num_examples}

    def __call__(self, model: nn.Module, batch: ClassificationBatch) -> Sums:
        """Summed cross-entropy and number of right labels of one microbatch."""
        logits = _logits(model, batch)
        return Sums({"label": classification_loss(logits, batch.labels)}, {"label": _right(logits, batch.labels)})


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


def _labelled(labels: Tensor) -> int:
    return int((labels != NO_LABEL).sum())


def _right(logits: Tensor, labels: Tensor) -> Tensor:
    """Number of rows whose largest logit is the label; never one without a label, since no index is NO_LABEL."""
    return (logits.argmax(-1) == labels).sum()
