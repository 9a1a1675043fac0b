"""The SQuAD 2.0 model of google-research/albert."""

from typing import Final

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from litebert.model.config import ModelConfig
from litebert.model.encoder import Encoder
from litebert.model.initialization.random_init import initialize
from litebert.model.kernels.cross_entropy import at_least_32_bits
from litebert.model.outputs import AnswerBeams, QuestionAnsweringWithNoAnswerOutput
from litebert.model.shapes import Ids, Mask, States

FORBIDDEN: Final = -1e30
"""Logit of a position where no answer may start or end. Source: `p_mask` in squad_utils.py."""


class ForQuestionAnsweringWithNoAnswer(nn.Module):
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
        self.end_norm = nn.LayerNorm(hidden, eps=config.layer_norm_eps)
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
