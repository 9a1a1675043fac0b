"""Answers to a published file, as its leaderboard takes them. Before: a model directory. After: a file, or several.

Needs no training data: labels and their order are in the model directory.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litebert.commands.predict.predict_questions import SquadPredictions, predict_squad
from litebert.commands.result import Result
from litebert.errors import ConfigError
from litebert.files import write_text
from litebert.inference.predictor import Predictor
from litebert.settings import Precision
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.benchmarks.benchmarks import official_task
from litebert.tasks.benchmarks.submission_files import glue_file, race_file
from litebert.tasks.labelled_data import LETTERS, LabelledData


@dataclass(frozen=True)
class OfficialAnswers(Result):
    """What was written for one part."""

    output: Path
    rows: int
    accuracy: float | None
    """Where the part has labels, as RACE's test has."""

    def to_text(self) -> str:
        """One line for a person."""
        known = "" if self.accuracy is None else f", {self.accuracy:.4f} of them right"
        return f"{self.output}: {self.rows:,} rows answered{known}"


def predict_official(
    model: Path,
    part: BenchmarkSplit,
    directory: Path,
    output: Path,
    *,
    precision: Precision = "fp32",
    threads: int | None = None,
    threshold: float | None = None,
) -> OfficialAnswers | SquadPredictions:
    """Answer a part of a published task: a .tsv of GLUE, a .json of RACE, a directory of files of SQuAD.

    `threshold` is that of `predict_squad`.
    """
    form = official_task(part.task).format
    if form == "squad":
        path = part.path(directory)
        return predict_squad(model, path, output, precision=precision, threads=threads, threshold=threshold)
    is_race = form == "race"
    ending = ".json" if is_race else ".tsv"
    if output.suffix != ending:
        raise ConfigError(f"output: {output.name!r}, but answers to {part.task} are a {ending} file; give such a name")
    data = part.read(directory)
    predictor = Predictor.load(model, precision=precision, threads=threads, threshold=threshold)
    answers = _answers(predictor, part.task, data)
    write_text(output, race_file(data.examples, answers) if is_race else glue_file(data.examples, answers))
    return OfficialAnswers(output, len(answers), _accuracy(data, answers))


def _answers(predictor: Predictor, name: str, data: LabelledData) -> list[Any]:
    row = official_task(name)
    labels = predictor.description.labels
    if row.labels and set(labels) != set(row.labels):
        raise ConfigError(
            f"{name}: this model answers {', '.join(labels) or 'no labels'}, the task is {', '.join(row.labels)}; "
            "give a model that was fine-tuned on it"
        )
    if row.kind == "multiple_choice":
        questions = [(each.text, each.question, each.options) for each in data.examples]
        return [answer.letter for answer in predictor.choose(questions)]
    texts = [(each.text, each.text_pair) if each.text_pair is not None else each.text for each in data.examples]
    if row.kind == "regression":
        return predictor.score(texts)
    return [answer.label for answer in predictor.classify(texts)]


def _accuracy(data: LabelledData, answers: list[Any]) -> float | None:
    targets = [each.target for each in data.examples]
    if None in targets or data.kind == "regression":
        return None
    names = data.labels or LETTERS
    return sum(names[target] == answer for target, answer in zip(targets, answers, strict=True)) / len(answers)
