"""Answers to the questions of a SQuAD file. Before: a model directory and a file. After: the official script.

A directory of `predictions.json`, `nbest_predictions.json` and, from a model that may say no, `null_odds.json`.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

from litebert.commands.result import Result
from litebert.errors import ConfigError
from litebert.inference.predictor import Predictor
from litebert.settings import Precision
from litebert.tasks.readers.squad_json import read_squad_questions
from litebert.tasks.types.question_settings import Threshold
from litebert.tasks.types.squad_files import N_BEST, NULL_ODDS, PREDICTIONS, write_predictions

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SquadPredictions(Result):
    """What was written."""

    output: Path
    questions: int
    unanswered: int
    """Questions to which the answer is that there is none."""
    threshold: Threshold | None
    """When there is none; null from a model that always answers."""

    def to_text(self) -> str:
        """One line for a person."""
        by = f" (no-answer threshold {self.threshold.to_text()})" if self.threshold else ""
        return f"{self.output}: {self.questions:,} questions, {self.unanswered:,} of them without an answer{by}"


def predict_squad(
    model: Path,
    questions_file: Path,
    output: Path,
    *,
    precision: Precision = "fp32",
    threads: int | None = None,
    threshold: float | None = None,
) -> SquadPredictions:
    """Answer every question of a file in the layout of SQuAD, which need not hold answers; `output` is a directory.

    `threshold` takes the place of the one kept with the model: a greater null score means no answer.
    """
    if output.suffix or (output.exists() and not output.is_dir()):
        raise ConfigError(
            f"output: {output} is to be a file, but the answers to a SQuAD file are several ({PREDICTIONS}, {N_BEST}, "
            f"{NULL_ODDS}); give a directory"
        )
    questions = read_squad_questions(questions_file)
    predictor = Predictor.load(model, precision=precision, threads=threads, threshold=threshold)
    answers, limit = predictor.question_answers(questions)
    write_predictions(output, questions, answers, threshold=limit)
    logger.info("%s: %d questions answered", output, len(questions))
    unanswered = sum(not each.has_answer(limit) for each in answers)
    return SquadPredictions(output, len(questions), unanswered, predictor.threshold)
