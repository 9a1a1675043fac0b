"""The zip file with the predictions for the test files of GLUE, for its leaderboard."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from litebert.commands.benchmark_predictions import submission_text, validate_benchmark_model
from litebert.commands.glue_submission.glue_submission_settings import GlueSubmissionRun
from litebert.commands.many_files.file_arguments import is_pattern
from litebert.commands.model_arguments import set_threads
from litebert.commands.result import Result
from litebert.commands.several_models.members import averaged, members_at, predict_members
from litebert.errors import ConfigError, DataError
from litebert.files import write_bytes
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit, checked_glue_file, glue_archive
from litebert.tasks.benchmarks.benchmarks import BENCHMARKS, benchmark_task
from litebert.tasks.benchmarks.candidate_ranking import other_candidates, rank_candidates

logger = logging.getLogger(__name__)

DIAGNOSTICS: Final = "ax"
DIAGNOSTICS_FROM: Final = "mnli"
"""The task whose models also predict the diagnostics, unless these have models of their own."""
SUBMISSION_FILES: Final[Mapping[str, BenchmarkSplit]] = {
    file.submitted_as: BenchmarkSplit(task=name, split=split)
    for name, row in BENCHMARKS.items()
    for split, file in row.splits.items()
    if file.submitted_as is not None and row.format == "tsv"
}
"""Official name of each submission file → the split it predicts."""
_SPLIT_FILES: Final = "give TASK.SPLIT=FILE, such as cola.test=mine.tsv or mnli.test-mismatched=mine.tsv"


@dataclass(frozen=True)
class GlueSubmission(Result):
    """What the zip file contains."""

    output: Path
    files: dict[str, int]
    """Name → number of predictions."""
    models: dict[str, int]
    """Name → number of averaged models; absent for files that existed already."""
    missing: tuple[str, ...]
    """Files that the leaderboard also expects."""

    def to_text(self) -> str:
        """A line for each file, and the missing ones."""
        lines = [f"{self.output}: {len(self.files)} files"]
        for name, rows in self.files.items():
            count = self.models.get(name, 0)
            source = f"average of {count} models" if count > 1 else "one model" if count else "given file"
            lines.append(f"  {name.ljust(11)} {rows:,} predictions, {source}")
        if self.missing:
            lines.append(f"the leaderboard also expects {', '.join(self.missing)}")
        return "\n".join(lines)


def glue_submission(run: GlueSubmissionRun) -> GlueSubmission:
    """Predict the test files of GLUE and write them, under their official names, into a zip file."""
    set_threads(run.threads)
    given = [Path(value) for value in run.predictions if value.endswith(".tsv")]
    models = models_by_task([value for value in run.predictions if not value.endswith(".tsv")])
    own = run.own_splits()
    splits = _with_own(own) | _pronoun_splits(models)
    predicted = {file: name for name in models for file in _files_of(name, models, splits, run.task_dir)}
    read = {splits[file] for file in (*predicted, *(path.name for path in given)) if file in splits}
    for split in own:
        if split not in read:
            raise ConfigError(
                f"split_file: no model predicts {split.file}; give {split.task}=MODEL too, or remove the file"
            )
    contents = _read_given(given, splits, run.task_dir, predicted)
    for file, name in predicted.items():
        contents[file] = _predict(run, file, models[name], splits[file])
    write_bytes(run.out, glue_archive(contents))
    return GlueSubmission(
        run.out,
        files={file: content.count("\n") - 1 for file, content in contents.items()},
        models={file: len(models[name]) for file, name in predicted.items()},
        missing=tuple(file for file in SUBMISSION_FILES if file not in contents),
    )


def models_by_task(values: Sequence[str]) -> dict[str, list[str]]:
    """Task → its models, from TASK=MODEL; a pattern stands for everything that it matches."""
    models: dict[str, list[str]] = {}
    for value in values:
        task, _, path = value.partition("=")
        pattern = Path(path)
        root = Path(pattern.anchor)
        matching = sorted(root.glob(str(pattern.relative_to(root)))) if is_pattern(pattern) else [path]
        found = [str(each) for each in matching]
        if not found:
            raise ConfigError(f"glue-submission: {value!r} matches no directory; give those of the models")
        models.setdefault(task, []).extend(found)
    return models


def _with_own(own_splits: Sequence[BenchmarkSplit]) -> dict[str, BenchmarkSplit]:
    """The split of each submission file, with test files of your own."""
    own = {(each.task, each.split): each for each in own_splits}
    for task, split in own.keys() - {(each.task, each.split) for each in SUBMISSION_FILES.values()}:
        raise ConfigError(f"split_file: {task}.{split} is no test file of GLUE; {_SPLIT_FILES}")
    return {file: own.get((each.task, each.split), each) for file, each in SUBMISSION_FILES.items()}


def _pronoun_splits(tasks: Collection[str]) -> dict[str, BenchmarkSplit]:
    """The split of WNLI's submission file where models of `wnli-pronouns` predict it."""
    rows = {name: BENCHMARKS[name] for name in tasks if name in BENCHMARKS and BENCHMARKS[name].format == "pronouns"}
    if "wnli" in tasks and rows:
        raise ConfigError("glue-submission: wnli and wnli-pronouns predict the same file; give one of them")
    return {str(row.splits["test"].submitted_as): BenchmarkSplit(task=name, split="test") for name, row in rows.items()}


def _files_of(name: str, named: Collection[str], splits: Mapping[str, BenchmarkSplit], directory: Path) -> list[str]:
    """The submission files that the models of one of the `named` tasks predict."""
    if name not in {each.task for each in splits.values()}:
        raise ConfigError(f"models: {name!r} is no task of GLUE; give TASK=DIRECTORY, such as cola=RUN")
    tasks = (name, DIAGNOSTICS) if name == DIAGNOSTICS_FROM and DIAGNOSTICS not in named else (name,)
    found = [file for file, each in splits.items() if each.task in tasks and each.is_available(directory)]
    if not found:
        raise DataError(f"{directory}: no test file of {benchmark_task(name).title}; give the directory of GLUE")
    return found


def _read_given(
    paths: Sequence[Path], splits: Mapping[str, BenchmarkSplit], directory: Path, predicted: Mapping[str, str]
) -> dict[str, str]:
    """The content of existing submission files, checked against the test files."""
    contents: dict[str, str] = {}
    for path in paths:
        if path.name not in SUBMISSION_FILES:
            names = ", ".join(SUBMISSION_FILES)
            raise ConfigError(f"{path}: not a name of the leaderboard; expected one of {names}")
        if path.name in contents or path.name in predicted:
            reason = f"models of {predicted[path.name]} predict it too" if path.name in predicted else "given twice"
            raise ConfigError(f"{path}: {reason}; give each submission file once")
        contents[path.name] = checked_glue_file(path, splits[path.name], directory)
    return contents


def _predict(run: GlueSubmissionRun, file: str, models: Sequence[str], split: BenchmarkSplit) -> str:
    members = members_at(models, run)
    first = members[0]
    validate_benchmark_model(split.task, first.task_type.name, first.labels, model=first.path)
    data = split.read(run.task_dir)
    labels = data.labels or ()
    ranked = benchmark_task(split.task).ranked_label if run.decision == "rank" else None
    others = other_candidates(split, run.task_dir, data.examples) if ranked else []
    candidates = [*data.examples, *others]
    whole = averaged(predict_members(members, candidates, labels=labels))
    if ranked:
        predictions = rank_candidates(whole.predictions, candidates, positive=labels.index(ranked))
        whole = replace(whole, predictions=predictions[: len(data.examples)])
    logger.info("%s: %d predictions", file, len(data.examples))
    return submission_text(split.task, data, whole.results(data.examples))
