"""The prediction files of SQuAD. Before: `squad_answers`. After: the official scripts, a leaderboard, a person.

Source: the files that run_squad_v1.py and run_squad_v2.py write.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from litebert.files import write_json
from litebert.tasks.types.questions import Question
from litebert.tasks.types.span_answers import QuestionAnswers

PREDICTIONS, N_BEST, NULL_ODDS = "predictions.json", "nbest_predictions.json", "null_odds.json"


def write_predictions(
    directory: Path, questions: Sequence[Question], answers: Sequence[QuestionAnswers], *, threshold: float
) -> None:
    """`predictions.json` for the official scripts, `nbest_predictions.json`, and `null_odds.json` where there are."""
    pairs = list(zip(questions, answers, strict=True))
    write_json(directory / PREDICTIONS, {question.id: found.text(threshold) for question, found in pairs})
    write_json(directory / N_BEST, {question.id: _listed(found) for question, found in pairs})
    odds = {question.id: found.null_score for question, found in pairs if found.null_score is not None}
    if odds:
        write_json(directory / NULL_ODDS, odds)


def _listed(found: QuestionAnswers) -> list[dict[str, Any]]:
    return [
        {
            "text": answer.text,
            "probability": answer.probability,
            "start_log_prob": answer.start_score,
            "end_log_prob": answer.end_score,
        }
        for answer in found.best
    ]
