"""The pretraining loss: masked language modelling and sentence-pair classification, as the trainer's `Objective`."""

from torch import Tensor, nn

from litebert.corpus.sampling.pretrain_batches import PretrainBatch
from litebert.corpus.sampling.sampling_settings import Pairing
from litebert.model.losses import NO_LABEL, classification_loss
from litebert.model.outputs import PretrainingOutput
from litebert.training.protocols import LossSums


class PretrainingObjective:
    """Masked language modelling ("mlm") plus the sentence-pair objective ("sop" or "nsp"), weighted equally.

    With pairing "none" there is no pair loss and no pair metric. A causal batch has the loss of its next tokens alone
    ("clm"). Sources: ALBERT section 3.1, GPT-BERT (arXiv 2410.24159).
    """

    def __init__(self, pairing: Pairing = "sop") -> None:
        self._pair_name = None if pairing == "none" else pairing

    def counts(self, batch: PretrainBatch) -> dict[str, int]:
        """Number of labels of each loss."""
        if batch.causal:
            return {"clm": _num_labels(batch.mlm_labels)}
        counts = {"mlm": _num_labels(batch.mlm_labels)}
        return counts | ({self._pair_name: _num_labels(batch.sentence_pair_labels)} if self._pair_name else {})

    def __call__(self, model: nn.Module, batch: PretrainBatch) -> LossSums:
        """Summed cross-entropies and numbers of correct predictions of one microbatch."""
        return self.sums(pretraining_output(model, batch), batch)

    def sums(self, output: PretrainingOutput, batch: PretrainBatch) -> LossSums:
        """As `__call__`, for an output already computed."""
        name = "clm" if batch.causal else "mlm"
        token_loss = classification_loss(output.mlm_logits, batch.mlm_labels)
        correct = {name: num_correct(output.mlm_logits, batch.mlm_labels)}
        pair_logits, pair_labels = output.sentence_pair_logits, batch.sentence_pair_labels
        pair_loss = classification_loss(pair_logits, pair_labels)
        if self._pair_name is None or batch.causal:
            # No pair has a label, so this adds 0; it gives the head a zero gradient on every rank instead of none.
            return LossSums({name: token_loss + pair_loss}, correct)
        return LossSums(
            {name: token_loss, self._pair_name: pair_loss},
            correct | {self._pair_name: num_correct(pair_logits, pair_labels)},
        )


def pretraining_output(model: nn.Module, batch: PretrainBatch) -> PretrainingOutput:
    """The logits of both heads for a batch."""
    inputs = batch.input_ids, batch.attention_mask, batch.token_type_ids
    return model(*inputs, batch.masked_positions, batch.sequence_starts, causal=batch.causal)


def _num_labels(labels: Tensor) -> int:
    return int((labels != NO_LABEL).sum())


def num_correct(logits: Tensor, labels: Tensor) -> Tensor:
    """Number of predictions for which `is_correct` holds."""
    return is_correct(logits, labels).sum()


def is_correct(logits: Tensor, labels: Tensor) -> Tensor:
    """Whether the largest logit of each row is that of its label; False without a label (no index is NO_LABEL)."""
    logits = logits.detach()
    if not logits.is_cpu:
        return logits.max(-1).indices == labels
    # On a CPU the maximum alone takes a third of the time; its index only decides between equal logits.
    correct = (labels != NO_LABEL) & (logits.gather(1, labels.clamp(min=0)[:, None])[:, 0] == logits.amax(-1))
    rows = correct.nonzero()[:, 0]
    correct[rows] = logits[rows].max(-1).indices == labels[rows]
    return correct
