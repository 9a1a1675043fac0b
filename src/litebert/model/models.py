"""Every model: the encoder and a head. Weights are initialized at random from `seed`; `load_model` loads saved ones."""

from typing import Final

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from litebert.model.config import ModelConfig, Pooling
from litebert.model.encoder import Encoder, row_starts
from litebert.model.encoder_outputs import POOLERS, at_positions, encoded, pooled
from litebert.model.initialization.random_init import initialize
from litebert.model.io.hub_model import HubModel
from litebert.model.io.model_spec import TrainedPairing
from litebert.model.kernels.cross_entropy import at_least_32_bits
from litebert.model.layers.block import MaskedLMHead
from litebert.model.layers.layer_norm import LayerNorm
from litebert.model.model_inputs import (
    ModelInputs,
    complete_inputs,
    label_loss,
    labelled_positions,
    span_label_loss,
    validate_masked_labels,
)
from litebert.model.outputs import (
    AnswerBeams,
    ClassifierOutput,
    MaskedLMOutput,
    PretrainingLosses,
    PretrainingOutput,
    QuestionAnsweringWithNoAnswerOutput,
    SpanOutput,
)
from litebert.model.shapes import Ids, Mask, Starts, States

AnyMask = Mask | Ids
"""A mask of bools, or of ones and zeros."""
FORBIDDEN: Final = -1e30
"""Logit of a position where no answer may start or end. Source: `p_mask` in squad_utils.py."""


class ForPretraining(HubModel):
    """Masked language model and classifier of pairs, trained with `pairing` if that is known; no dropout in the heads.

    Source: `get_masked_lm_output` and `get_sentence_order_output` in run_pretraining.py of google-research/albert.
    """

    def __init__(self, config: ModelConfig, *, seed: int = 0, pairing: TrainedPairing | None = None) -> None:
        super().__init__()
        self.config = config
        self.pairing = pairing
        self.encoder = Encoder(config)
        self.mlm = MaskedLMHead(config)
        self.sentence_pair = nn.Linear(config.hidden_size, 2)
        initialize(self, scale=config.initializer_range, seed=seed)

    def forward(
        self,
        input_ids: Ids,
        attention_mask: AnyMask | None = None,
        token_type_ids: Ids | None = None,
        masked_positions: Int[Tensor, " P"] | None = None,
        sequence_starts: Starts | None = None,
        *,
        labels: Ids | None = None,
        sentence_order_label: Int[Tensor, " X"] | None = None,
        masked_labels: Int[Tensor, " P"] | None = None,
        causal: bool = False,
    ) -> PretrainingOutput | PretrainingLosses:
        """Logits of both heads; `masked_positions` and `sequence_starts` (see `Encoder`) are flat, b·S + s.

        Without positions they are those with `labels`, or all. -100 marks what has no label. With `causal` no token
        attends to a later one, so that each position can predict the next token. With `masked_labels`, one for each of
        the `masked_positions`, the summed loss of the tokens instead of their logits, in less time and memory.
        """
        if masked_labels is not None:
            validate_masked_labels(masked_labels, masked_positions, others=(labels, sentence_order_label))
        inputs = complete_inputs(input_ids, attention_mask, token_type_ids)
        if masked_positions is None:
            masked_positions = labelled_positions(input_ids, labels)
        firsts = row_starts(input_ids) if sequence_starts is None else sequence_starts
        positions = torch.cat([masked_positions, firsts])
        states = self.encoder.at_positions(*inputs, positions, sequence_starts, causal=causal)
        count = masked_positions.shape[0]
        pairs = self.sentence_pair(self.encoder.pool(states[count:]))
        if masked_labels is not None:
            token_loss = self.mlm.loss(states[:count], self.encoder.embeddings.word.weight, masked_labels)
            return PretrainingLosses(token_loss, pairs)
        logits = self.mlm(states[:count], self.encoder.embeddings.word.weight)
        targets = None if labels is None else labels.flatten()[masked_positions]
        losses = [label_loss(logits, targets), label_loss(pairs, sentence_order_label)]
        given = [loss for loss in losses if loss is not None]
        return PretrainingOutput(logits, pairs, torch.stack(given).sum() if given else None)


class ForMaskedLM(HubModel):
    """Masked language model."""

    def __init__(self, config: ModelConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config, pooler=False)
        self.mlm = MaskedLMHead(config)
        initialize(self, scale=config.initializer_range, seed=seed)

    def forward(
        self,
        input_ids: Ids,
        attention_mask: AnyMask | None = None,
        token_type_ids: Ids | None = None,
        masked_positions: Int[Tensor, " P"] | None = None,
        *,
        labels: Ids | None = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> MaskedLMOutput:
        """Logits P V of the vocabulary at the flat positions b·S + s, or B S V without positions."""
        inputs = complete_inputs(input_ids, attention_mask, token_type_ids)
        output, attentions = encoded(self.encoder, inputs, output_hidden_states, output_attentions)
        states = output.last_hidden_state
        if masked_positions is not None:
            states = at_positions(states, masked_positions)
            labels = None if labels is None else labels.flatten()[masked_positions]
        logits = self.mlm(states, self.encoder.embeddings.word.weight)
        return MaskedLMOutput(logits, output, label_loss(logits, labels), attentions)


class ClassifierModel(HubModel):
    """An encoder and a linear layer over some of its states, with dropout before it."""

    def __init__(self, config: ModelConfig, *, num_labels: int, pooler: bool, seed: int) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config, pooler=pooler)
        self.dropout = nn.Dropout(config.classifier_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, num_labels)
        initialize(self, scale=config.initializer_range, seed=seed)

    def _logits(self, states: Float[Tensor, "*B H"]) -> Float[Tensor, "*B C"]:
        return self.classifier(self.dropout(states))


class ForSequenceClassification(ClassifierModel):
    """Classes of a sequence, or a number if `num_labels` is 1. Source: `create_model` in run_classifier.py."""

    def __init__(self, config: ModelConfig, *, num_labels: int, seed: int = 0) -> None:
        super().__init__(config, num_labels=num_labels, pooler=True, seed=seed)

    def forward(
        self,
        input_ids: Ids,
        attention_mask: AnyMask | None = None,
        token_type_ids: Ids | None = None,
        *,
        labels: Tensor | None = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> ClassifierOutput:
        """Logits B C; `labels` are classes, floats for each class, or with one class numbers."""
        inputs = complete_inputs(input_ids, attention_mask, token_type_ids)
        vectors, hidden_states, attentions = pooled(self.encoder, inputs, output_hidden_states, output_attentions)
        logits = self._logits(vectors)
        return ClassifierOutput(logits, label_loss(logits, labels, one_is_a_number=True), hidden_states, attentions)


class ForMultipleChoice(ClassifierModel):
    """One logit for each of C candidate sequences. Source: `create_model` in race_utils.py."""

    def __init__(self, config: ModelConfig, *, seed: int = 0) -> None:
        super().__init__(config, num_labels=1, pooler=True, seed=seed)

    def forward(
        self,
        input_ids: Int[Tensor, "B C S"],
        attention_mask: Bool[Tensor, "B C S"] | Int[Tensor, "B C S"] | None = None,
        token_type_ids: Int[Tensor, "B C S"] | None = None,
        *,
        labels: Int[Tensor, " B"] | None = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> ClassifierOutput:
        """Logits B C; hidden states and attentions have B·C rows."""
        inputs = complete_inputs(input_ids, attention_mask, token_type_ids)
        rows = ModelInputs(*(tensor.flatten(0, 1) for tensor in inputs))
        vectors, hidden_states, attentions = pooled(self.encoder, rows, output_hidden_states, output_attentions)
        logits = self._logits(vectors).view(input_ids.shape[:2])
        return ClassifierOutput(logits, label_loss(logits, labels), hidden_states, attentions)


class ForTokenClassification(ClassifierModel):
    """Classes of every token."""

    def __init__(self, config: ModelConfig, *, num_labels: int, seed: int = 0) -> None:
        super().__init__(config, num_labels=num_labels, pooler=False, seed=seed)

    def forward(
        self,
        input_ids: Ids,
        attention_mask: AnyMask | None = None,
        token_type_ids: Ids | None = None,
        *,
        labels: Ids | None = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> ClassifierOutput:
        """Logits B S C; -100 marks tokens without a label."""
        inputs = complete_inputs(input_ids, attention_mask, token_type_ids)
        output, attentions = encoded(self.encoder, inputs, output_hidden_states, output_attentions)
        logits = self._logits(output.last_hidden_state)
        return ClassifierOutput(logits, label_loss(logits, labels), output.hidden_states, attentions)


class ForQuestionAnswering(HubModel):
    """Start and end of an answer that is always in the text; no dropout. Source: `create_v1_model`, squad_utils.py."""

    def __init__(self, config: ModelConfig, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config, pooler=False)
        self.spans = nn.Linear(config.hidden_size, 2)
        initialize(self, scale=config.initializer_range, seed=seed)

    def forward(
        self,
        input_ids: Ids,
        attention_mask: AnyMask | None = None,
        token_type_ids: Ids | None = None,
        *,
        start_positions: Int[Tensor, " B"] | None = None,
        end_positions: Int[Tensor, " B"] | None = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> SpanOutput:
        """Logits of all positions as start and as end of the answer."""
        inputs = complete_inputs(input_ids, attention_mask, token_type_ids)
        output, attentions = encoded(self.encoder, inputs, output_hidden_states, output_attentions)
        start, end = self.spans(output.last_hidden_state).unbind(-1)
        loss = span_label_loss(start, end, start_positions, end_positions)
        return SpanOutput(start, end, output, loss, attentions)


class SentenceEmbedder(HubModel):
    """One vector per sequence: the mean of its hidden states, or the first.

    `max_length`: tokens after which a text is truncated; None: as many as the model has positions.
    """

    def __init__(
        self, config: ModelConfig, *, pooling: Pooling = "mean", max_length: int | None = None, seed: int = 0
    ) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config, pooler=False)
        self.pooling = pooling
        self.max_length = max_length
        initialize(self, scale=config.initializer_range, seed=seed)

    def forward(
        self, input_ids: Ids, attention_mask: AnyMask | None = None, token_type_ids: Ids | None = None
    ) -> Float[Tensor, "B H"]:
        """Sentence vectors, not normalised; with "mean", zeros for a sequence without tokens."""
        inputs = complete_inputs(input_ids, attention_mask, token_type_ids)
        return POOLERS[self.pooling](self.encoder(*inputs).last_hidden_state, inputs.attention_mask)


class ForQuestionAnsweringWithNoAnswer(HubModel):
    """Start of an answer, end given the start, and whether there is no answer.

    `answer_mask` is True where an answer may start or end: in the document, and at the first position, which means no
    answer. Source: `create_v2_model` in squad_utils.py, after XLNet.
    """

    def __init__(self, config: ModelConfig, *, seed: int = 0) -> None:
        super().__init__()
        hidden = config.hidden_size
        self.config = config
        self.encoder = Encoder(config, pooler=False)
        self.start = nn.Linear(hidden, 1)
        self.end_dense = nn.Linear(2 * hidden, hidden)
        self.end_norm = LayerNorm(hidden, eps=config.layer_norm_eps)
        self.end = nn.Linear(hidden, 1)
        self.answer_dense = nn.Linear(2 * hidden, hidden)
        self.answer = nn.Linear(hidden, 1, bias=False)
        self.dropout = nn.Dropout(config.classifier_dropout_prob)
        initialize(self, scale=config.initializer_range, seed=seed)

    def forward(
        self, input_ids: Ids, attention_mask: Mask, token_type_ids: Ids, answer_mask: Mask, starts: Int[Tensor, " B"]
    ) -> QuestionAnsweringWithNoAnswerOutput:
        """Outputs for training: the end is predicted given the true start."""
        output = self.encoder(input_ids, attention_mask, token_type_ids)
        states = output.last_hidden_state
        start = self._start_log_probs(states, answer_mask)
        end = self._end_log_probs(states, starts[:, None], answer_mask)[:, 0]
        return QuestionAnsweringWithNoAnswerOutput(start, end, self._impossible_logits(states, start), output)

    def beams(
        self,
        input_ids: Ids,
        attention_mask: Mask,
        token_type_ids: Ids,
        answer_mask: Mask,
        *,
        num_starts: int = 5,
        num_ends: int = 5,
    ) -> AnswerBeams:
        """The `num_starts` best starts and the `num_ends` best ends of each; at most the sequence length."""
        output = self.encoder(input_ids, attention_mask, token_type_ids)
        states, length = output.last_hidden_state, input_ids.shape[1]
        start = self._start_log_probs(states, answer_mask)
        best_start, starts = start.topk(min(num_starts, length))
        best_end, ends = self._end_log_probs(states, starts, answer_mask).topk(min(num_ends, length))
        return AnswerBeams(best_start, starts, best_end, ends, self._impossible_logits(states, start), output)

    def _start_log_probs(self, states: States, answer_mask: Mask) -> Float[Tensor, "B S"]:
        return _masked_log_softmax(self.start(states)[..., 0], answer_mask)

    def _end_log_probs(self, states: States, starts: Int[Tensor, "B K"], answer_mask: Mask) -> Float[Tensor, "B K S"]:
        """Log-probability of each position as end of the answer that starts at each of `starts`."""
        start_states = states.gather(1, starts[..., None].expand(-1, -1, states.shape[-1]))  # B K H
        # end_dense over the concatenation of a state and a start state, without the S · K pairs of width 2 H in memory
        of_state, of_start = self.end_dense.weight.chunk(2, dim=1)
        hidden = F.linear(states, of_state)[:, None] + F.linear(start_states, of_start, self.end_dense.bias)[:, :, None]
        logits = self.end(self.end_norm(torch.tanh(hidden)))[..., 0]
        return _masked_log_softmax(logits, answer_mask[:, None])

    def _impossible_logits(self, states: States, start_log_probs: Float[Tensor, "B S"]) -> Float[Tensor, " B"]:
        """No-answer logit, from the expected start state and the first position."""
        expected_start = torch.einsum("bs,bsh->bh", start_log_probs.exp().to(states.dtype), states)
        features = torch.cat([expected_start, states[:, 0]], dim=-1)
        return self.answer(self.dropout(torch.tanh(self.answer_dense(features))))[:, 0]


def _masked_log_softmax(logits: Float[Tensor, "*B S"], mask: Bool[Tensor, "*#B S"]) -> Float[Tensor, "*B S"]:
    return at_least_32_bits(logits).masked_fill(~mask, FORBIDDEN).log_softmax(-1)
