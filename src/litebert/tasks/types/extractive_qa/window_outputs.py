"""What a model gives for one window, as arrays. Torch-free, so that the ONNX runtime shares it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

BEAM_SIZE: Final = 5
"""Start positions, and end positions for each, in a beam search. Source: start_n_top and end_n_top."""


class SpanLogits(NamedTuple):
    """Scores of every position of one window."""

    starts: np.ndarray
    """Float32 [S]."""
    ends: np.ndarray
    """Float32 [S]."""


class SpanBeams(NamedTuple):
    """The best spans of one window, and the score that it has no answer."""

    first: np.ndarray
    """Int64 [K]: first positions."""
    last: np.ndarray
    """Int64 [K]: last positions."""
    scores: np.ndarray
    """Float32 [K, 2]: log-probabilities of the start and of the end."""
    null_score: float


def logits_by_window(starts: np.ndarray, ends: np.ndarray, lengths: Sequence[int]) -> list[SpanLogits]:
    """The logits [B, S] of each window without padding."""
    windows = zip(starts, ends, lengths, strict=True)
    return [SpanLogits(own_starts[:length], own_ends[:length]) for own_starts, own_ends, length in windows]


def beams_by_window(
    start_log_probs: np.ndarray,
    start_positions: np.ndarray,
    end_log_probs: np.ndarray,
    end_positions: np.ndarray,
    impossible_logits: np.ndarray,
) -> list[SpanBeams]:
    """The pairs of each start [B, K] with its ends [B, K, K2]."""
    rows = len(end_positions)
    first = np.broadcast_to(start_positions[..., None], end_positions.shape).reshape(rows, -1)
    start_scores = np.broadcast_to(start_log_probs[..., None], end_log_probs.shape)
    scores = np.stack([start_scores, end_log_probs], axis=-1).reshape(rows, -1, 2)
    columns = (first, end_positions.reshape(rows, -1), scores, impossible_logits.tolist())
    return [SpanBeams(*window) for window in zip(*columns, strict=True)]
