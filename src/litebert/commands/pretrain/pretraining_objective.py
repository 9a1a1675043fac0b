"""What pretraining minimises: `training`'s Objective for masked tokens and pairs. Before: batches. After: training."""

from torch import Tensor, nn

from litebert.corpus.sampling.pretrain_batches import PretrainBatch
from litebert.corpus.sampling.sampling_settings import Pairing
from litebert.model.losses import NO_LABEL, classification_loss, masked_lm_loss
from litebert.model.outputs import PretrainingOutput
from litebert.training.protocols import LossSums


class PretrainingObjective:
    """Masked language modelling ("mlm") and the pair task ("sop", or "nsp" for next sentences), weighted equally.

    A pair without a label (pairing "none") adds nothing to the sum and nothing to the count of "sop".
    Source: ALBERT section 3.1.
    """

    def __init__(self, pairing: Pairing = "sop") -> None:
        self._pairs = "nsp" if pairing == "nsp" else "sop"

    def counts(self, batch: PretrainBatch) -> dict[str, int]:
        """Masked tokens and pairs that carry a label."""
        return {"mlm": _labelled(batch.mlm_labels), self._pairs: _labelled(batch.sentence_pair_labels)}

    def __call__(self, model: nn.Module, batch: PretrainBatch) -> LossSums:
        """Summed cross-entropies and numbers of right answers of one microbatch."""
        return self.sums(pretraining_output(model, batch), batch)

    def sums(self, output: PretrainingOutput, batch: PretrainBatch) -> LossSums:
        """The same of predictions already made."""
        return LossSums(
            losses={
                "mlm": masked_lm_loss(output.mlm_logits, batch.mlm_labels),
                self._pairs: classification_loss(output.sentence_pair_logits, batch.sentence_pair_labels),
            },
            correct={
                "mlm": right_answers(output.mlm_logits, batch.mlm_labels),
                self._pairs: right_answers(output.sentence_pair_logits, batch.sentence_pair_labels),
            },
        )


def pretraining_output(model: nn.Module, batch: PretrainBatch) -> PretrainingOutput:
    """The predictions of both heads for a batch."""
    inputs = batch.input_ids, batch.attention_mask, batch.token_type_ids
    return model(*inputs, batch.masked_positions, batch.sequence_starts)


def _labelled(labels: Tensor) -> int:
    return int((labels != NO_LABEL).sum())


def right_answers(logits: Tensor, labels: Tensor) -> Tensor:
    """Number of rows that `is_right`."""
    return is_right(logits, labels).sum()


def is_right(logits: Tensor, labels: Tensor) -> Tensor:
    """For each row whether its largest logit is the label; never without a label, since no index is NO_LABEL."""
    # The index that argmax gives; on a CPU argmax takes four times as long where logits have 16 bits.
    return logits.detach().max(-1).indices == labels
