"""Answers to published test files, as the leaderboards take them. Before: model directories. After: a file, a zip.

Needs no training data: labels and their order are in the model directory.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litebert.errors import ConfigError, DataError
from litebert.files import write_bytes, write_text
from litebert.inference.predictor import Precision, Predictor
from litebert.runs.result import Result
from litebert.tasks.catalogue import TASKS, PartName, official_task
from litebert.tasks.labelled import LETTERS, LabelledData
from litebert.tasks.official import parts_there, read_official
from litebert.tasks.submission import glue_archive, glue_file, race_file

logger = logging.getLogger(__name__)

DIAGNOSTICS_FROM = "mnli"
"""The task whose model also answers the diagnostics."""


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


@dataclass(frozen=True)
class Submission(Result):
    """What was packed."""

    output: Path
    files: dict[str, int]
    """Name → rows."""
    missing: tuple[str, ...]
    """Files that the leaderboard expects as well."""

    def to_text(self) -> str:
        """What is there and what is not."""
        lines = [f"{self.output}: {len(self.files)} files"]
        lines += [f"  {name.ljust(11)} {rows:,} rows" for name, rows in self.files.items()]
        if self.missing:
            lines.append(f"the leaderboard also expects {', '.join(self.missing)}")
        return "\n".join(lines)


def predict_official(
    model: Path,
    name: str,
    directory: Path,
    output: Path,
    *,
    part: PartName = "test",
    precision: Precision = "fp32",
    threads: int | None = None,
) -> OfficialAnswers:
    """Answer a part of a published task: a .tsv of GLUE, a .json of RACE."""
    is_race = official_task(name).format == "race"
    ending = ".json" if is_race else ".tsv"
    if output.suffix != ending:
        raise ConfigError(f"output: {output.name!r}, but answers to {name} are a {ending} file; give such a name")
    data = read_official(name, directory, part)
    answers = _answers(Predictor.load(model, precision=precision, threads=threads), name, data)
    write_text(output, race_file(data.examples, answers) if is_race else glue_file(data.examples, answers))
    return OfficialAnswers(output, len(answers), _accuracy(data, answers))


def submit_glue(
    models: Mapping[str, Path], directory: Path, output: Path, *, precision: Precision = "fp32"
) -> Submission:
    """The zip for the leaderboard of GLUE: every test file in `directory` of the tasks that `models` names."""
    expected = [part.submitted_as for row in TASKS.values() for part in row.parts.values() if part.submitted_as]
    files: dict[str, str] = {}
    counts: dict[str, int] = {}
    for name, model in models.items():
        predictor = Predictor.load(model, precision=precision)
        for task, part in _test_parts(name, directory):
            data = read_official(task, directory, part)
            file = str(official_task(task).parts[part].submitted_as)
            files[file] = glue_file(data.examples, _answers(predictor, task, data))
            counts[file] = len(data.examples)
            logger.info("%s: %d rows answered", file, counts[file])
    write_bytes(output, glue_archive(files))
    return Submission(output, counts, tuple(file for file in expected if file not in files))


def _test_parts(name: str, directory: Path) -> list[tuple[str, PartName]]:
    """Task and part of each test file that a model of the task answers."""
    if name not in TASKS or not any(part.submitted_as for part in TASKS[name].parts.values()):
        raise ConfigError(f"models: {name!r} is no task of GLUE; give TASK=DIRECTORY, such as cola=RUN/model")
    found = [(name, part) for part in parts_there(name, directory, start="test")]
    if name == DIAGNOSTICS_FROM:
        found += [("ax", part) for part in parts_there("ax", directory, start="diagnostic")]
    if not found:
        raise DataError(f"{directory}: no test file of {official_task(name).title}; give the directory of GLUE")
    return found


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
