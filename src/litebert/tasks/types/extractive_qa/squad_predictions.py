"""The prediction files of SQuAD, as run_squad_v1.py and run_squad_v2.py of google-research/albert write them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from litebert.files import write_json
from litebert.tasks.types.extractive_qa.questions import Question
from litebert.tasks.types.extractive_qa.span_answers import Answer

PREDICTIONS: Final = "predictions.json"
"""Question id → answer, for the official evaluation scripts."""
N_BEST: Final = "nbest_predictions.json"
NULL_ODDS: Final = "null_odds.json"
"""Question id → null score; only of a model that can predict "no answer"."""


def write_squad_predictions(directory: Path, questions: Sequence[Question], answers: Sequence[Answer]) -> None:
    """Write the three files."""
    pairs = list(zip(questions, answers, strict=True))
    write_json(directory / PREDICTIONS, {question.id: answer.text for question, answer in pairs})
    write_json(directory / N_BEST, {question.id: _candidates(answer) for question, answer in pairs})
    odds = {question.id: answer.null_score for question, answer in pairs if answer.null_score is not None}
    if odds:
        write_json(directory / NULL_ODDS, odds)


def _candidates(answer: Answer) -> list[dict[str, Any]]:
    return [
        {
            "text": each.text,
            "probability": each.probability,
            "start_log_prob": each.start_score,
            "end_log_prob": each.end_score,
        }
        for each in answer.n_best
    ]
