"""Questions that may have no answer: start, end given the start, and whether there is none. Written by litebert.

Source: `create_v2_model` in squad_utils.py of google-research/albert, after XLNet. Shapes: B batch, S sequence,
K starts, E ends of each.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.modeling_outputs import ModelOutput

from .configuration_litebert import LitebertConfig
from .modeling_litebert import LitebertModel, LitebertPreTrainedModel

FORBIDDEN = -1e30
IMPOSSIBLE_WEIGHT = 0.5
"""Weight of the loss of the no-answer logit, as in google-research/albert."""


@dataclass
class AnswerBeamsOutput(ModelOutput):
    """The best starts of an answer, and the best ends of each."""

    loss: Tensor | None = None
    start_log_probs: Tensor | None = None
    """[B, K], the best first."""
    start_positions: Tensor | None = None
    end_log_probs: Tensor | None = None
    """[B, K, E]: given the start."""
    end_positions: Tensor | None = None
    impossible_logits: Tensor | None = None
    """[B]: greater where there is no answer."""
    hidden_states: tuple[Tensor, ...] | None = None


class LitebertForQuestionAnsweringWithNoAnswer(LitebertPreTrainedModel):
    """Answers by beam search over starts and ends; position 0 means no answer."""

    def __init__(self, config: LitebertConfig):
        super().__init__(config)
        hidden = config.hidden_size
        self.encoder = LitebertModel(config, add_pooling_layer=False)
        self.start = nn.Linear(hidden, 1)
        self.end_dense = nn.Linear(2 * hidden, hidden)
        self.end_norm = nn.LayerNorm(hidden, eps=config.layer_norm_eps)
        self.end = nn.Linear(hidden, 1)
        self.answer_dense = nn.Linear(2 * hidden, hidden)
        self.answer = nn.Linear(hidden, 1, bias=False)
        self.dropout = nn.Dropout(config.classifier_dropout_prob)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        answer_mask: Tensor | None = None,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
        is_impossible: Tensor | None = None,
        num_starts: int = 5,
        num_ends: int = 5,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> AnswerBeamsOutput | tuple[Any, ...]:
        """Beams; the loss too if there are labels. `answer_mask` [B, S] is true where an answer may start or end.

        By default that is the second segment without its last token, and position 0; padding stands at the end.
        """
        if answer_mask is None:
            answer_mask = default_answer_mask(input_ids, attention_mask, token_type_ids)
        output = self.encoder(input_ids, attention_mask, token_type_ids, output_hidden_states, return_dict=True)
        states, length = output.last_hidden_state, input_ids.shape[1]
        start = masked_log_softmax(self.start(states)[..., 0], answer_mask)
        impossible = self._impossible_logits(states, start)
        best_start, starts = start.topk(min(num_starts, length))
        best_end, ends = self._end_log_probs(states, starts, answer_mask).topk(min(num_ends, length))
        loss = None
        if start_positions is not None and end_positions is not None:
            end = self._end_log_probs(states, start_positions[:, None], answer_mask)[:, 0]
            loss = (F.nll_loss(start, start_positions) + F.nll_loss(end, end_positions)) / 2
        if loss is not None and is_impossible is not None:
            none = F.binary_cross_entropy_with_logits(impossible.float(), is_impossible.float())
            loss = loss + IMPOSSIBLE_WEIGHT * none
        beams = AnswerBeamsOutput(loss, best_start, starts, best_end, ends, impossible, output.hidden_states)
        return self._returned(beams, return_dict)

    def _end_log_probs(self, states: Tensor, starts: Tensor, answer_mask: Tensor) -> Tensor:
        """[B, K, S]: the log probability of each position as the end of the answer that starts at each of `starts`."""
        start_states = states.gather(1, starts[..., None].expand(-1, -1, states.shape[-1]))
        of_state, of_start = self.end_dense.weight.chunk(2, dim=1)
        hidden = F.linear(states, of_state)[:, None] + F.linear(start_states, of_start, self.end_dense.bias)[:, :, None]
        return masked_log_softmax(self.end(self.end_norm(torch.tanh(hidden)))[..., 0], answer_mask[:, None])

    def _impossible_logits(self, states: Tensor, start_log_probs: Tensor) -> Tensor:
        expected_start = torch.einsum("bs,bsh->bh", start_log_probs.exp().to(states.dtype), states)
        features = torch.cat([expected_start, states[:, 0]], dim=-1)
        return self.answer(self.dropout(torch.tanh(self.answer_dense(features))))[:, 0]


def default_answer_mask(ids: Tensor, attention_mask: Tensor | None, token_type_ids: Tensor | None) -> Tensor:
    """Bool [B, S]: the second segment without its last token, and position 0."""
    lengths = (torch.ones_like(ids) if attention_mask is None else attention_mask).sum(1, keepdim=True)
    positions = torch.arange(ids.shape[1], device=ids.device)
    types = torch.zeros_like(ids) if token_type_ids is None else token_type_ids
    return ((types == 1) & (positions < lengths - 1)) | (positions == 0)


def masked_log_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Log-softmax over the positions in `mask`, in at least 32 bits."""
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return wide.masked_fill(~mask, FORBIDDEN).log_softmax(-1)
