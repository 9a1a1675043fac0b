"""An ensemble, start to finish. Before: runs of `finetune` or `sweep`. After: its score and gain, a file of answers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from litebert.commands.ensemble.ensemble_result import EnsembleResult, EnsembleScore, MemberScore
from litebert.commands.ensemble.ensemble_rows import Rows, read_official_rows, read_rows
from litebert.commands.ensemble.members import Predicted, averaged, members_at, predictions_of
from litebert.commands.ensemble.prediction_files import check_output, write_answers
from litebert.commands.ensemble.selection import Selection, forward
from litebert.errors import ConfigError
from litebert.settings import Precision
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.ensembling.bootstrap_difference import paired_gains
from litebert.tasks.ensembling.ensemble_predictions import Examined, examine, targets_of
from litebert.tasks.readers.columns import Columns
from litebert.tasks.types.span_evaluation import THRESHOLD


def ensemble(
    paths: Sequence[Path],
    rows: Path,
    columns: Columns | None = None,
    *,
    task: BenchmarkSplit | None = None,
    metrics: Sequence[str] = (),
    select: Selection = "all",
    out: Path | None = None,
    precision: Precision = "fp32",
) -> EnsembleResult:
    """Average the predictions of models for the rows of a file; score them where there are labels.

    Args:
        paths: run directories, model directories or checkpoints; their order does not matter.
        rows: a file of one's own, or with `task` the directory of published files.
        columns: which column of the file holds what.
        task: a part of a published task.
        metrics: what to measure; the first one selects.
        select: average all, or those that forward selection finds on these rows.
        out: where to write the answers.
        precision: arithmetic of the models.
    """
    members = members_at(paths)
    if task is None:
        asked = read_rows(members[0], rows, columns or Columns(), metrics)
    else:
        asked = read_official_rows(members[0], task, rows, metrics)
    _check(asked, select, out)
    predicted = predictions_of(members, asked.data, precision=precision)
    chosen = _chosen(asked, predicted, select)
    score, limit = _score(asked, [member.path for member in members], predicted, chosen)
    if out is not None:
        write_answers(out, asked, averaged([predicted[index] for index in chosen]), threshold=limit)
    return EnsembleResult(
        members=tuple(members[index].path for index in chosen),
        given=len(members),
        rows=len(asked.data.examples),
        score=score,
        output=out,
    )


def _check(rows: Rows, select: Selection, out: Path | None) -> None:
    if out is not None:
        check_output(out, rows)
    if rows.task is None and out is None:
        raise ConfigError(f"{rows.data.path}: has no labels, so there is nothing to score; give --out for the answers")
    if rows.task is None and select != "all":
        raise ConfigError(f"select: {rows.data.path} has no labels to select by; select on a development file")


def _chosen(rows: Rows, predicted: Sequence[Predicted], select: Selection) -> list[int]:
    """Which of the models are members."""
    if select == "all":
        return list(range(len(predicted)))
    return forward(len(predicted), lambda some: _value(_examined(rows, [predicted[index] for index in some]), rows))


def _threshold(predicted: Sequence[Predicted]) -> float | None:
    """The mean of the members' thresholds, as their null scores are averaged; None unless all have one."""
    found = [each.threshold for each in predicted]
    return None if None in found else float(np.mean([each for each in found if each is not None]))


def _examined(rows: Rows, predicted: Sequence[Predicted]) -> Examined:
    assert rows.task is not None, "only labelled rows can be examined"
    whole = averaged(predicted)
    return examine(rows.task, whole.predictions, rows.data, whole.encoded, threshold=_threshold(predicted))


def _value(examined: Examined, rows: Rows) -> float:
    assert rows.task is not None, "only labelled rows can be examined"
    return examined.evaluation.metrics[rows.task.metric_for_best_model]


def _score(
    rows: Rows, paths: Sequence[Path], predicted: Sequence[Predicted], chosen: Sequence[int]
) -> tuple[EnsembleScore | None, float]:
    """The score on labelled rows, and the threshold of null scores to answer with."""
    together = [predicted[index] for index in chosen]
    if rows.task is None:
        return None, _threshold(together) or 0.0
    metric = rows.task.metric_for_best_model
    whole = _examined(rows, together)
    singles = [_examined(rows, [each]) for each in predicted]
    gains = paired_gains(metric, whole.answers, [each.answers for each in singles], targets_of(rows.task, rows.data))
    order = sorted(range(len(singles)), key=lambda index: singles[index].evaluation.metrics[metric])
    score = EnsembleScore(
        metric=metric,
        evaluation=whole.evaluation,
        members=tuple(
            MemberScore(path=path, chosen=index in chosen, metrics=single.evaluation.metrics, gain=gain)
            for index, (path, single, gain) in enumerate(zip(paths, singles, gains, strict=True))
        ),
        median_member=paths[order[len(order) // 2]],
    )
    return score, whole.evaluation.metrics.get(THRESHOLD, 0.0)
