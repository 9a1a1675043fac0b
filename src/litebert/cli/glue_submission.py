"""`litebert submit TASK=MODEL … FILE.tsv … --data GLUE --out glue.zip`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Json, emit
from litebert.cli.arguments.labelled_data import files_by_part
from litebert.errors import ConfigError

if TYPE_CHECKING:
    from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit

Answers = Annotated[tuple[str, ...], Positional, arg(metavar="TASK=MODEL|FILE …", help_behavior_hint="(required)")]
Files = Annotated[tuple[str, ...], arg(metavar="TASK.PART=FILE …", help_behavior_hint="")]


def submit(
    answers: Answers,
    *,
    data: Path,
    out: Path,
    files: Files = (),
    precision: Literal["fp32", "bf16"] = "fp32",
    json: Json = False,
) -> None:
    """Answer the test files of GLUE and pack them for its leaderboard; models for mnli also answer the diagnostics.

    Several models for a task are averaged, as by `litebert ensemble`.

    Args:
        answers: a task and a run or model directory for it: cola=RUN; several: cola=A cola=B or 'cola=SEEDS/runs/*'; or
            answers by their official name: CoLA.tsv, as `ensemble` and `predict` write them
        data: directory of the published files of GLUE
        out: the .zip to write
        files: test files of your own laid out as those of GLUE, in their places: cola.test=mine.tsv
        precision: arithmetic of the models
    """
    from litebert.commands.glue_submission import submit_glue

    answered = [Path(value) for value in answers if value.endswith(".tsv")]
    models = _by_task([value for value in answers if not value.endswith(".tsv")])
    if not models and not answered:
        raise ConfigError(_USAGE)
    result = submit_glue(models, data, out, answers=answered, files=_own(files), precision=precision)
    emit(result.to_dict(), result.to_text(), as_json=json)


_USAGE = "submit: give TASK=MODEL for one task or more, such as cola=runs/cola/model, or files of answers (CoLA.tsv)"


def _own(values: Sequence[str]) -> "list[BenchmarkSplit]":
    """Test files in place of the official ones, from TASK.PART=FILE."""
    from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit

    parts = []
    for place, file in files_by_part(values).items():
        task, _, part = place.rpartition(".")
        parts.append(BenchmarkSplit(task, part, file))
    return parts


def _by_task(values: Sequence[str]) -> dict[str, list[Path]]:
    """Task → its models, from TASK=MODEL; a pattern stands for all that it matches."""
    models: dict[str, list[Path]] = {}
    for value in values:
        task, _, place = value.partition("=")
        if not task or not place:
            raise ConfigError(_USAGE)
        found = _matching(Path(place)) if any(sign in place for sign in "*?") else [Path(place)]
        if not found:
            raise ConfigError(f"submit: {value!r} matches no directory; give those of the models")
        models.setdefault(task, []).extend(found)
    return models


def _matching(pattern: Path) -> list[Path]:
    root = Path(pattern.anchor)
    return sorted(root.glob(str(pattern.relative_to(root))))
