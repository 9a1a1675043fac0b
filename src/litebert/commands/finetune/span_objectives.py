"""What fine-tuning on questions minimises. Before: a model and a batch of windows. After: `objectives`, `training`."""

from torch import Tensor, nn

from litebert.model.losses import answerability_losses, span_loss
from litebert.model.outputs import QuestionAnsweringWithNoAnswerOutput, SpanOutput
from litebert.model.question_answering import FORBIDDEN
from litebert.tasks.features import LabelledBatch
from litebert.tasks.types.span_outputs import answer_mask
from litebert.training.protocols import LossSums

IMPOSSIBLE_WEIGHT = 0.5
"""Weight of the loss of answerability beside that of the span. Source: `create_v2_model` in squad_utils.py."""


class SpanObjective:
    """First and last position of the answer ("span"): the mean of two cross-entropies over the real tokens.

    The original's also run over the padding, which here depends on the batch and is left out.
    Source: `create_v1_model` in the original's squad_utils.py.
    """

    def counts(self, batch: LabelledBatch) -> dict[str, int]:
        """Windows; each has a first and a last position."""
        return {"span": batch.num_examples}

    def __call__(self, model: nn.Module, batch: LabelledBatch) -> LossSums:
        """Summed loss, and the number of windows of which both positions are right."""
        inputs, (starts, ends, _) = batch.inputs, batch.labels.unbind(1)
        output = model(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids)
        padding = ~inputs.attention_mask
        masked = SpanOutput(
            output.start_logits.masked_fill(padding, FORBIDDEN),
            output.end_logits.masked_fill(padding, FORBIDDEN),
            output.encoder,
        )
        right = _right(masked.start_logits, masked.end_logits, starts, ends)
        return LossSums({"span": span_loss(masked, starts, ends)}, {"span": right})


class QuestionAnsweringWithNoAnswerObjective:
    """The positions ("span"), the end scored after the true start, and whether there is an answer ("impossible").

    The loss of the second is weighted by half. Source: `create_v2_model` in the original's squad_utils.py.
    """

    def counts(self, batch: LabelledBatch) -> dict[str, int]:
        """Windows, for both."""
        return {"span": batch.num_examples, "impossible": batch.num_examples}

    def __call__(self, model: nn.Module, batch: LabelledBatch) -> LossSums:
        """Summed losses, and the numbers of windows that are right in both positions, and in having an answer."""
        inputs, (starts, ends, impossible) = batch.inputs, batch.labels.unbind(1)
        ids = inputs.input_ids, inputs.attention_mask, inputs.token_type_ids
        output: QuestionAnsweringWithNoAnswerOutput = model(*ids, answer_mask(inputs), starts)
        losses = answerability_losses(output, starts, ends, impossible.float())
        losses["impossible"] = IMPOSSIBLE_WEIGHT * losses["impossible"]
        right_span = _right(output.start_log_probs, output.end_log_probs, starts, ends)
        right_kind = ((output.impossible_logits > 0) == (impossible > 0)).sum()
        return LossSums(losses, {"span": right_span, "impossible": right_kind})


def _right(start_scores: Tensor, end_scores: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    return ((start_scores.argmax(-1) == starts) & (end_scores.argmax(-1) == ends)).sum()
