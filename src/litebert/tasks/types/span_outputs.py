"""A batch of windows through the two models of questions. Before: `squad_features`. After: `squad_answers`.

A model leaves one array a window, so that processes can exchange them; here is also what these arrays mean.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from litebert.tasks.features import Inputs
from litebert.tasks.types.span_answers import Candidates, best_pairs

BEAMS = 5
"""Starts, and ends of each, that a model of unanswerable questions proposes. Source: start_n_top, end_n_top."""


def answer_mask(inputs: Inputs) -> Tensor:
    """Bool [B, S]: where an answer may begin or end: the document, and `[CLS]`, which stands for no answer.

    Source: `p_mask` in the original's squad_utils.py, which is 0 there.
    """
    length = inputs.attention_mask.sum(1, keepdim=True)
    positions = torch.arange(inputs.attention_mask.shape[1], device=length.device)
    is_document = (inputs.token_type_ids == 1) & (positions < length - 1)
    return is_document | (positions == 0)


def span_outputs(model: nn.Module, inputs: Inputs) -> list[np.ndarray]:
    """Float32 [2, S] for each window, without its padding: the score of each position as start and as end."""
    output = model(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids)
    scores = torch.stack([output.start_logits, output.end_logits], dim=1).float().cpu().numpy()
    lengths = inputs.attention_mask.sum(1).tolist()
    return [window[:, :length] for window, length in zip(scores, lengths, strict=True)]


def span_candidates(outputs: Sequence[np.ndarray], *, best: int) -> list[Candidates]:
    """The best starts with the best ends of each window."""
    return [best_pairs(starts, ends, best=best) for starts, ends in outputs]


def beam_outputs(model: nn.Module, inputs: Inputs) -> list[np.ndarray]:
    """Float32 [1 + K, 4] for each window: first and last position and their scores of each beam.

    The first row holds the score of no answer in its column 2.
    """
    ids = inputs.input_ids, inputs.attention_mask, inputs.token_type_ids
    # A wrapper for several processes passes on `forward` only; the model itself has the beams.
    reader: Any = getattr(model, "module", model)
    beams = reader.beams(*ids, answer_mask(inputs), num_starts=BEAMS, num_ends=BEAMS)
    ends = beams.end_positions
    columns = (
        beams.start_positions[..., None].expand_as(ends),
        ends,
        beams.start_log_probs[..., None].expand_as(ends),
        beams.end_log_probs,
    )
    rows = torch.stack([column.float() for column in columns], dim=-1).flatten(1, 2)  # B K·K2 4
    nothing = rows.new_zeros(len(rows), 1, 4)
    nothing[:, 0, 2] = beams.impossible_logits.float()
    return list(torch.cat([nothing, rows], dim=1).cpu().numpy())


def beam_candidates(outputs: Sequence[np.ndarray]) -> list[Candidates]:
    """The beams of each window."""
    return [
        Candidates(
            first=window[1:, 0].astype(np.int64),
            last=window[1:, 1].astype(np.int64),
            scores=window[1:, 2:].astype(np.float64),
            null_score=float(window[0, 2]),
        )
        for window in outputs
    ]
