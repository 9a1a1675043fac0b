"""The zip that the leaderboard of GLUE takes. Before: models, ensembles, or files of their answers. After: a zip.

Needs no training data: labels and their order are in the model directories.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from litebert.commands.ensemble.ensemble_rows import read_official_rows
from litebert.commands.ensemble.members import averaged, members_at, predictions_of
from litebert.commands.ensemble.prediction_files import official_file
from litebert.commands.result import Result
from litebert.errors import ConfigError, DataError
from litebert.files import write_bytes
from litebert.settings import Precision
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.benchmarks.benchmarks import TASKS, official_task
from litebert.tasks.benchmarks.submission_files import glue_answers, glue_archive

logger = logging.getLogger(__name__)

OWN_FILES: Final = "give TASK.PART=FILE, such as cola.test=mine.tsv or mnli.test-mismatched=mine.tsv"
DIAGNOSTICS_FROM: Final = "mnli"
"""The task whose models also answer the diagnostics."""
FILES: Final[Mapping[str, BenchmarkSplit]] = {
    file.submitted_as: BenchmarkSplit(name, part)
    for name, row in TASKS.items()
    for part, file in row.parts.items()
    if file.submitted_as is not None
}
"""Official name of each file of answers → what it answers."""


@dataclass(frozen=True)
class Submission(Result):
    """What was packed."""

    output: Path
    files: dict[str, int]
    """Name → rows."""
    models: dict[str, int]
    """Name → models whose predictions were averaged; a file that was given as it is has none."""
    missing: tuple[str, ...]
    """Files that the leaderboard expects as well."""

    def to_text(self) -> str:
        """What is there and what is not."""
        lines = [f"{self.output}: {len(self.files)} files"]
        for name, rows in self.files.items():
            count = self.models.get(name, 0)
            by = f"an average of {count} models" if count > 1 else "one model" if count else "a file of answers"
            lines.append(f"  {name.ljust(11)} {rows:,} rows, {by}")
        if self.missing:
            lines.append(f"the leaderboard also expects {', '.join(self.missing)}")
        return "\n".join(lines)


def submit_glue(
    models: Mapping[str, Sequence[Path]],
    directory: Path,
    output: Path,
    *,
    answers: Sequence[Path] = (),
    files: Sequence[BenchmarkSplit] = (),
    precision: Precision = "fp32",
) -> Submission:
    """Answer the test files of GLUE in `directory` and pack the answers under their official names.

    Args:
        models: for each task run directories, model directories or checkpoints, whose predictions are averaged.
        directory: of the published files.
        output: the zip.
        answers: files of answers by their official names, as `ensemble` and `predict` write them.
        files: test files of your own, in place of those in `directory`.
        precision: arithmetic of the models.
    """
    parts = _with_own(files)
    asked = {file: name for name in models for file in _files_of(name, parts, directory)}
    _check_own(files, parts, {*asked, *(path.name for path in answers)})
    contents = _given(answers, parts, directory, asked)
    for file, name in asked.items():
        contents[file] = _answered(file, models[name], parts[file], directory, precision=precision)
    write_bytes(output, glue_archive(contents))
    return Submission(
        output,
        files={file: content.count("\n") - 1 for file, content in contents.items()},
        models={file: len(models[name]) for file, name in asked.items()},
        missing=tuple(file for file in FILES if file not in contents),
    )


def _with_own(files: Sequence[BenchmarkSplit]) -> dict[str, BenchmarkSplit]:
    """What each file of answers answers, with test files of your own in their places."""
    own = {(part.task, part.part): part for part in files}
    places = {(part.task, part.part) for part in FILES.values()}
    for task, part in own.keys() - places:
        raise ConfigError(f"files: {task}.{part} is no test file of GLUE; {OWN_FILES}")
    return {file: own.get((part.task, part.part), part) for file, part in FILES.items()}


def _check_own(files: Sequence[BenchmarkSplit], parts: Mapping[str, BenchmarkSplit], answered: Collection[str]) -> None:
    """ConfigError where a file of your own would not be read."""
    for part in files:
        if part not in {parts[file] for file in answered if file in parts}:
            raise ConfigError(f"files: nothing answers {part.file}; give {part.task}=MODEL too, or leave the file out")


def _files_of(name: str, parts: Mapping[str, BenchmarkSplit], directory: Path) -> list[str]:
    """The file for each test part that is there and that models of a task answer."""
    if name not in {part.task for part in parts.values()}:
        raise ConfigError(f"models: {name!r} is no task of GLUE; give TASK=DIRECTORY, such as cola=RUN/model")
    tasks = (name, "ax") if name == DIAGNOSTICS_FROM else (name,)
    there = [file for file, part in parts.items() if part.task in tasks and part.is_there(directory)]
    if not there:
        raise DataError(f"{directory}: no test file of {official_task(name).title}; give the directory of GLUE")
    return there


def _given(
    answers: Sequence[Path], parts: Mapping[str, BenchmarkSplit], directory: Path, asked: Mapping[str, str]
) -> dict[str, str]:
    """The contents of files that are answered already, each checked against the test file it answers."""
    contents: dict[str, str] = {}
    for path in answers:
        if path.name not in FILES:
            raise ConfigError(f"{path}: the leaderboard knows no such name; call the answers one of {', '.join(FILES)}")
        if path.name in contents or path.name in asked:
            by = f"models of {asked[path.name]} answer it too" if path.name in asked else "it is given twice"
            raise ConfigError(f"{path}: {by}; give each file of answers once")
        contents[path.name] = glue_answers(path, parts[path.name], directory)
    return contents


def _answered(file: str, paths: Sequence[Path], part: BenchmarkSplit, directory: Path, *, precision: Precision) -> str:
    members = members_at(paths)
    rows = read_official_rows(members[0], part, directory, ())
    content = official_file(part.task, rows.data, averaged(predictions_of(members, rows.data, precision=precision)))
    logger.info("%s: %d rows answered", file, len(rows.data.examples))
    return content
