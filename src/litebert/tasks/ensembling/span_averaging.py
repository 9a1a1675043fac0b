"""Several models' scores → one. Before: `squad_answers.scores_of` of each model. After: `squad_answers.answers_from`.

"For SQuAD, we average the prediction scores for those spans that have multiple probabilities; we also average the
scores of the unanswerable decision." Source: ALBERT section 4.9, and `write_predictions_v2` in the original's
squad_utils.py: a span's mean is over the models that proposed it.
"""

from collections.abc import Sequence

import numpy as np

from litebert.errors import ConfigError
from litebert.tasks.types.span_answers import SpanScores


def average_scores(members: Sequence[Sequence[SpanScores]]) -> list[SpanScores]:
    """For each question the mean of what the members give; [member][question], all over the same pieces."""
    if not members or len({len(member) for member in members}) > 1:
        found = ", ".join(str(len(member)) for member in members) or "no member"
        raise ConfigError(f"ensemble: members must answer the same questions; found {found}")
    return [_average(question) for question in zip(*members, strict=True)]


def _average(members: Sequence[SpanScores]) -> SpanScores:
    null_scores = [member.null_score for member in members if member.null_score is not None]
    if null_scores and len(null_scores) < len(members):
        raise ConfigError("ensemble: some members can say that there is no answer and some cannot; use one kind")
    pieces, index = np.unique(np.concatenate([member.pieces for member in members]), axis=0, return_inverse=True)
    scores = np.concatenate([member.scores for member in members])
    totals = np.zeros((len(pieces), 2))
    np.add.at(totals, index.reshape(-1), scores)
    proposed = np.bincount(index.reshape(-1), minlength=len(pieces))
    return SpanScores(
        pieces=pieces,
        scores=totals / proposed[:, None],
        null_score=sum(null_scores) / len(null_scores) if null_scores else None,
    )
