"""Fine-tuning of one or several models on several benchmarks, optionally after an intermediate task, such as MNLI."""

import logging
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from litebert.commands.compare.compare import differences_from
from litebert.commands.finetune.comparison import require_scikit_learn, scores_of_baseline
from litebert.commands.finetune.data.run_data import read_data
from litebert.commands.finetune.data_settings import without_directory
from litebert.commands.finetune.earlier_run import require_files
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.finetune.start.start_model import start_config
from litebert.commands.finetune_tasks.finetune_tasks_settings import MODEL, FinetuneTasksRun
from litebert.commands.finetune_tasks.parallel_runs import (
    RunOfTask,
    failure_of,
    reasons_of,
    train_here,
    train_in_parallel,
)
from litebert.commands.finetune_worker import validate_same_inputs
from litebert.commands.fingerprint import fingerprint_of
from litebert.commands.model_arguments import ModelArguments
from litebert.commands.result import Result
from litebert.commands.runs.run_directory import deciding_settings
from litebert.commands.runs.run_precision import runs_with_one_precision
from litebert.commands.several_models.members import Member
from litebert.errors import ConfigError
from litebert.files import read_json_object, write_bytes, write_json
from litebert.machine import validate_processes
from litebert.model.io.hub import model_directory
from litebert.tasks.metrics.bootstrap_difference import BootstrapDifference
from litebert.tasks.metrics.metrics import METRICS
from litebert.tasks.metrics.seed_statistics import MIN_FOR_INTERVAL, SeedStatistics, statistics_by_metric
from litebert.tasks.metrics.text_table import Rows, aligned, markdown_table
from litebert.training.callbacks.callback import Callback
from litebert.training.checkpointing.checkpoint import locked_directory

Runs = Mapping[tuple[str, str, int], RunOfTask]
"""The runs by task, name of the model and seed."""
logger = logging.getLogger(__name__)
LINEAR = "tf-idf, linear model"


@dataclass(frozen=True)
class TaskScores:
    """The scores of all models on one task."""

    metric: str
    """The one that selects the best model, and that the table shows."""
    train_examples: int
    dev_examples: int
    linear: float | None
    """`metric` of a linear model of tf-idf features; None without baselines, or if the task has none."""
    models: dict[str, dict[str, SeedStatistics]]
    """Model → metric → statistics over the seeds; no metrics of a model none of whose runs has scores."""
    differences: dict[str, BootstrapDifference]
    """Compared model → mean of `model` over the seeds minus its own, in `metric`, on the same examples."""
    has_tuned_thresholds: bool = False
    """Whether `models` are cross-fitted, and `differences` of models whose thresholds were chosen on these examples."""


@dataclass(frozen=True)
class FinetuneTasksResult(Result):
    """The scores of the best models of all runs."""

    out: Path
    intermediate: Path | None
    """Run directory of the intermediate task."""
    scores: dict[str, TaskScores]
    """By task; without tasks of which no run has scores."""
    failed: dict[str, str] = field(default_factory=dict)
    """Runs without scores, such as `cola/seed=0`, and why."""

    def to_text(self) -> str:
        """A line for each task, the table if there are several models, and the runs without scores."""
        lines = [f"intermediate task: {self.intermediate}"] if self.intermediate else []
        for task, scores in self.scores.items():
            metrics = [f"{name} {each.to_text()}" for name, each in scores.models[MODEL].items()]
            lines.append(f"{task}: {'; '.join(metrics) or 'no run has scores'}")
        if any(len(scores.models) > 1 or scores.linear is not None for scores in self.scores.values()):
            lines += ["", aligned(self.rows()), *self._legend(), ""]
        lines += [f"without scores: {name}: {reason}" for name, reason in self.failed.items()]
        return "\n".join([*lines, f"runs: {self.out}"])

    def to_markdown(self) -> str:
        """The table with what its cells are."""
        return "\n\n".join([markdown_table(self.rows()), *self._legend()])

    def _legend(self) -> list[str]:
        """What the figures are."""
        has_differences = any(scores.differences for scores in self.scores.values())
        tuned = [task for task, scores in self.scores.items() if scores.has_tuned_thresholds]
        lines = [
            "Of several seeds a cell has the median and the 95 % bootstrap interval of the median; of fewer than "
            f"{MIN_FOR_INTERVAL} seeds their range."
        ]
        if has_differences:
            lines.append("A difference is that of the means, not of the medians, with its 95 % bootstrap interval.")
        if tuned:
            lines.append(
                f"Thresholds were tuned ({', '.join(tuned)}): the medians are cross-fitted; the differences are those "
                "of thresholds that were chosen on the same examples."
            )
        return lines

    def rows(self) -> Rows:
        """The table: the median of each model and, of several seeds, its interval; differences of means."""
        names = [*next(iter(self.scores.values())).models]
        compared = [name for name in names if name != MODEL]
        has_linear = any(scores.linear is not None for scores in self.scores.values())
        differences = [f"{MODEL} - {name}, means" for name in compared]
        rows = [["task", "rows", "metric", *([LINEAR] if has_linear else []), *names, *differences]]
        for task, scores in self.scores.items():
            linear = "–" if scores.linear is None else _shown(scores.linear, scores.metric)
            cells = [_cell(scores.models[name].get(scores.metric), scores.metric) for name in names]
            cells += [_difference_cell(scores.differences.get(name), scores.metric) for name in compared]
            rows.append([task, f"{scores.train_examples:,}", scores.metric, *([linear] if has_linear else []), *cells])
        return rows


def finetune_tasks(run: FinetuneTasksRun, *, jobs: int = 1, callbacks: Sequence[Callback] = ()) -> FinetuneTasksResult:
    """Fine-tune on the intermediate task, if there is one, then each model on each task with each seed.

    With several `jobs`, that many runs are trained at once in processes of their own, without the `callbacks`: all
    tasks of a seed before those of the next. The result is written after each task; with `jobs`, when all runs have
    ended. The same call resumes; finished runs are not trained again. A run that diverges, and with `jobs` one that
    fails, is named in the result and stops no other.
    """
    validate_processes(jobs, where="jobs")
    run = run.with_all_tasks()
    if jobs > 1 and os.environ.get("WORLD_SIZE", "1") != "1":
        raise ConfigError("finetune-tasks: starts its own processes (--jobs); run it without torchrun")
    for task in run.tasks:  # wrong settings are refused before hours of training
        for name in run.model_names:
            run.run_on(task, name=name, model=run.model, seed=0)
    if run.baselines:
        require_scikit_learn(run.tasks, needed_for="--baselines")
    if jobs > 1 or not run.out.exists():  # before the first file is written
        for task in run.tasks:
            require_files(run.run_on(task, name=MODEL, model=run.model, seed=0).data)
        if run.intermediate:
            require_files(run.run_on_intermediate(run.intermediate).data)
    if jobs == 1:
        return _finetune_tasks(run, jobs=1, callbacks=callbacks)
    with locked_directory(run.out):  # two commands would take the failures of each other for their own
        return _finetune_tasks(run, jobs=jobs, callbacks=callbacks)


def _finetune_tasks(run: FinetuneTasksRun, *, jobs: int, callbacks: Sequence[Callback]) -> FinetuneTasksResult:
    intermediate = _on_intermediate(run, run.intermediate, jobs, callbacks) if run.intermediate else None
    runs = _runs(run, start=str(intermediate or run.model))
    if jobs > 1:
        _train_in_parallel(runs.values(), run.out, jobs)
    result = FinetuneTasksResult(run.out, intermediate, {})
    for task in run.tasks:
        of_task = [each for each in runs.values() if each.task == task]
        if jobs == 1:
            for each in of_task:
                logger.info("%s: starts from %s", each.directory, each.settings.model)
                train_here(each, run.out, callbacks=callbacks)
        scores = _scores(run, task, runs)
        result = replace(
            result,
            scores=result.scores if scores is None else {**result.scores, task: scores},
            failed=result.failed | reasons_of(of_task, run.out),
        )
        result.write(run.out / "result.json")
        if result.scores:
            write_bytes(run.out / "table.md", f"{result.to_markdown()}\n".encode())
    return result


def _runs(run: FinetuneTasksRun, *, start: str) -> Runs:
    """All runs on the tasks; those whose precision is to be measured have the same one."""
    keys = list(product(range(run.seeds), run.tasks, run.model_names))
    runs = [
        (run.run_on(task, name=name, model=start, seed=seed), run.directory_of(task, name=name, seed=seed))
        for seed, task, name in keys
    ]
    settings = runs_with_one_precision(runs, run.out, start_config)
    return {
        (task, name, seed): RunOfTask(task, own, directory)
        for (seed, task, name), own, (_, directory) in zip(keys, settings, runs, strict=True)
    }


def _train_in_parallel(runs: Collection[RunOfTask], out: Path, jobs: int) -> None:
    """Train the unfinished runs, `jobs` at once."""
    validate_same_inputs((each.settings, each.directory) for each in runs)
    if waiting := [each for each in runs if not each.finished]:
        train_in_parallel(waiting, out, jobs=jobs)


def _scores(run: FinetuneTasksRun, task: str, runs: Runs) -> TaskScores | None:
    """All models on one task; None if no run has scores."""
    seeds = range(run.seeds)
    results = {name: [runs[task, name, seed].scored for seed in seeds] for name in run.model_names}
    first = next((found for name in (MODEL, *results) for found in results[name] if found), None)
    if first is None:
        return None
    metric, thresholds = first.best.metric, first.best.thresholds
    metrics = {name: [each.scores if each else None for each in found] for name, found in results.items()}
    directories = {
        name: [runs[task, name, seed].directory for seed in seeds if found[seed]] for name, found in results.items()
    }
    return TaskScores(
        metric,
        first.train_examples,
        first.best.evaluation.examples,
        linear=_linear_scores(run, task, rows=first.rows).get(metric) if run.baselines else None,
        models={name: statistics_by_metric(found) for name, found in metrics.items()},
        differences=_differences(run, runs[task, MODEL, 0].settings, task, metric, directories),
        has_tuned_thresholds=thresholds is not None and thresholds.tuned,
    )


def _differences(
    run: FinetuneTasksRun, settings: FinetuneRun, task: str, metric: str, directories: Mapping[str, Sequence[Path]]
) -> dict[str, BootstrapDifference]:
    """The difference of `MODEL` to each other model, kept in files that are named by a hash of what they depend on.

    `settings`: of a run of `MODEL` on the task, for the data, the precision and the device. `directories`: of the runs
    with scores of each model; there is no difference to a model without any.
    """
    arguments = ModelArguments(precision=settings.train.precision, device=settings.train.device)
    members = {name: [Member.at(str(each), arguments) for each in found] for name, found in directories.items()}
    models = members.pop(MODEL)
    identity = {"data": without_directory(settings.data), "metric": metric, "precision": arguments.precision}
    identity["resampled"] = "groups"  # differences of earlier versions resampled examples
    files = {}
    for name, others in members.items() if models else ():
        if not others:
            continue
        fingerprint = fingerprint_of(identity, models=[member.directory for member in (*models, *others)])
        files[name] = run.out / "compared" / name / task / f"difference-{fingerprint[:8]}.json"
    if waiting := {name: members[name] for name, file in files.items() if not file.exists()}:
        data = read_data(settings)
        scored = replace(data.task, metrics=(metric,), metric_for_best_model=metric)
        for name, found in differences_from(models, waiting, data.dev, scored):
            write_json(files[name], asdict(found.metrics[metric].difference))
    return {
        name: BootstrapDifference(**read_json_object(file, if_missing="run the command again"))
        for name, file in files.items()
    }


def _linear_scores(run: FinetuneTasksRun, task: str, *, rows: Mapping[str, str]) -> dict[str, float]:
    """The metrics of the linear model, kept in a file that is named by a hash of what they depend on.

    `rows` are the fingerprints of the rows of each part.
    """
    settings = run.run_on(task, name=MODEL, model=run.model, seed=0)
    identity = {"data": without_directory(settings.data), "metrics": settings.metrics, "rows": rows}
    file = run.out / "baselines" / f"{task}-{fingerprint_of(identity)[:8]}.json"
    if not file.exists():
        write_json(file, scores_of_baseline("linear", read_data(settings)))
    return read_json_object(file, if_missing="run the command again")


def _cell(statistics: SeedStatistics | None, name: str) -> str:
    """A cell of the table: `61.4 (60.8 to 62.0) (2 of 3 seeds)`."""
    if statistics is None:
        return "–"
    interval = statistics.median_interval or ()
    bounds = f" ({' to '.join(_shown(each, name) for each in interval)})" if interval else ""
    return f"{_shown(statistics.median, name)}{bounds}{statistics.missing_note}"


def _difference_cell(difference: BootstrapDifference | None, name: str) -> str:
    """`+3.8 (+0.9 to +6.8)`."""
    if difference is None:
        return "–"
    figures = (difference.difference, difference.low, difference.high)
    value, low, high = (_shown(each, name, sign="+") for each in figures)
    return f"{value} ({low} to {high})"


def _shown(value: float, name: str, *, sign: str = "") -> str:
    """A score in percent with one decimal; an error in the unit of the labels with three digits."""
    metric = METRICS[name]
    return format(metric.to_percent(value), f"{sign}.3g" if metric.in_unit_of_labels else f"{sign}.1f")


def _on_intermediate(run: FinetuneTasksRun, task: str, jobs: int, callbacks: Sequence[Callback]) -> Path:
    """The run directory of the intermediate task, named by a hash of the model and of the settings of the run.

    With several `jobs` it is trained in a process of its own too, which then leaves a GPU to the others.
    """
    settings = run.run_on_intermediate(task)
    model = model_directory(run.model)
    directory = run.out / "intermediate" / f"{task}-{fingerprint_of(_identity(settings), models=[model])[:8]}"
    (settings,) = runs_with_one_precision([(settings, directory)], run.out, start_config)
    own = RunOfTask(task, settings, directory)
    if jobs > 1 and not own.finished and (failed := train_in_parallel([own], run.out, jobs=1)):
        raise failure_of(failed, run.out)
    finetune(settings, directory, callbacks=callbacks)
    return directory


def _identity(run: FinetuneRun) -> dict[str, Any]:
    """The settings that decide on the weights, without paths: the content of the model stands for its own."""
    deciding = deciding_settings(run)
    del deciding["model"]
    return {**deciding, "data": without_directory(run.data)}
