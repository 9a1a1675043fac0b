"""Many files, each with an output of its own, shared by processes or by the tasks of a cluster.

An output depends on its file alone, so its bytes do not depend on the number of workers. `OUT/.done/NAME.json` marks
an output that is complete, so that the same command continues after a stop.
"""

import glob
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from litebert.commands.fingerprint import fingerprint_of
from litebert.commands.many_files.file_arguments import FileArguments, FileWorkers
from litebert.commands.result import Result
from litebert.datatrove_stages import Stage, run_stages, validate_no_options
from litebert.device import usable_device
from litebert.errors import CheckpointError, ConfigError, DataError
from litebert.files import read_json_object, write_json
from litebert.parallel_map import run_in_order
from litebert.runtime.export_metadata import graph_precisions, is_export
from litebert.settings import InferencePrecision, with_overrides

R = TypeVar("R", bound=FileArguments)
"""Settings of a command."""
logger = logging.getLogger(__name__)

MARKERS: Final = ".done"
"""Directory of the markers, below that of the outputs."""
KEPT_PRECISION: Final = ".precision.json"
"""File among the markers: the precision of all outputs whose settings leave it to be measured. Its name has a dot, as
`precision.json` is the marker of an output `precision`."""
ELSEWHERE: Final = ("slurm", "ray")
"""Executors whose tasks run on other machines than the command."""
THREADS_OF_A_WORKER = 1
"""By default: numbers may differ in the last place between numbers of threads, and processes use the cores better."""


@dataclass(frozen=True, kw_only=True)
class FileJob:
    """A command on each of many files; it is sent to other processes, so its functions are those of modules."""

    run: FileArguments
    """The settings of the command."""
    load: Callable[[Any], Any]
    """(run) → the model."""
    work: Callable[[Any, Any], Any]
    """(run of one file, model) → the result of one file, with `to_dict`; it writes the output."""
    fingerprint: Callable[[Any], str]
    """(run of one file) → the fingerprint of everything that the output depends on."""

    def run_of(self, task: "FileTask") -> FileArguments:
        """The settings for one file."""
        return self.run.model_copy(update={"input": task.source, "output": task.output, "files": FileWorkers()})

    def start(self) -> Callable[["FileTask"], dict[str, Any]]:
        """Load the model, and return what is called for each file."""
        _set_threads(self.run)
        model = self.load(self.run.model_copy(update={"threads": _threads(self.run)}))
        return lambda task: self.work(self.run_of(task), model).to_dict()


@dataclass(frozen=True, slots=True)
class FileTask:
    """A file and its output."""

    source: Path
    output: Path
    marker: Path
    """Exists when the output is complete."""


@dataclass(frozen=True)
class FilesWritten(Result):
    """The results of all files."""

    directory: Path
    files: int
    results: dict[str, dict[str, Any]]
    """Name of the output → result, of the files that are complete."""
    logs: Path | None = None
    """Logs of an executor of datatrove."""

    def to_text(self) -> str:
        """One line."""
        state = "" if len(self.results) == self.files else f" of {self.files:,}; the others are submitted"
        logs = f"; logs: {self.logs}" if self.logs else ""
        return f"{self.directory}: {len(self.results):,} outputs{state}{logs}"


def with_kept_precision(run: R) -> R:
    """`run`; where its precision is `auto`, with the one that is kept in its output directory for all its outputs.

    Measurements differ, and outputs in another precision are made again; so it is measured, without loading the model,
    only where none is kept for this model and these settings. Raises ConfigError where it would be measured on another
    machine than it is used on.
    """
    if run.precision != "auto":
        return run
    others = {"model", "input", "output", "files", "device", "precision"}
    fingerprint = fingerprint_of(run.model_dump(exclude=others), models=[Path(run.model)])
    file = run.output / MARKERS / KEPT_PRECISION
    precision = _kept_precision(file, fingerprint)
    if precision is None:
        _validate_measured_here(run)
        precision = _measured_precision(run)
        write_json(file, {"fingerprint": fingerprint, "precision": precision})
    logger.info("precision: %s for all outputs (%s)", precision, file)
    return run.model_copy(update={"precision": precision})


def _measured_precision(run: FileArguments) -> InferencePrecision:
    """The fastest precision for the model of `run` with the threads of a worker; that of an export is not measured."""
    if is_export(Path(run.model)):
        return cast("InferencePrecision", graph_precisions(Path(run.model))[0])
    import torch

    from litebert.model import matmul_speed
    from litebert.model.io.model_spec import read_model_spec

    device = torch.device(usable_device(run.device, run.precision))
    config, threads = read_model_spec(Path(run.model)).config, torch.get_num_threads()
    _set_threads(run)
    try:
        return matmul_speed.fastest_precision(config, device, "inference")
    finally:
        torch.set_num_threads(threads)


def _set_threads(run: FileArguments) -> None:
    import torch

    torch.set_num_threads(_threads(run))


def _threads(run: FileArguments) -> int:
    return run.threads or THREADS_OF_A_WORKER


def _kept_precision(file: Path, fingerprint: str) -> InferencePrecision | None:
    if not file.exists():
        return None
    try:
        kept = read_json_object(file, if_missing="run the command again")
    except CheckpointError:
        return None
    return kept.get("precision") if kept.get("fingerprint") == fingerprint else None


def _validate_measured_here(run: FileArguments) -> None:
    """Raise ConfigError where only the tasks of an executor have the device."""
    if run.files.executor not in ELSEWHERE or run.device != "cuda":
        return
    import torch

    if torch.cuda.device_count() == 0:
        raise ConfigError(
            "precision: auto is measured where the command starts, and torch finds 0 CUDA devices there; give the "
            "precision of the tasks, --precision bf16 (or fp32 for GPUs that do not compute it)"
        )


def file_tasks(pattern: Path, out: Path, output_name: Callable[[Path], str]) -> list[FileTask]:
    """A task for each file that matches; its output has the same place below `out` as the file below the pattern.

    Files below `out` are outputs of an earlier command, and files whose name or folder begins with a dot are hidden, as
    in a shell: neither matches.

    Raises DataError if there is no file, ConfigError if two files have the same output or `out` is a file.
    """
    if out.exists() and not out.is_dir():
        raise ConfigError(f"output: {out} is a file, but a pattern has an output for each file; give a directory")
    # The directory that all matches are in: the parts before the first one with wildcards.
    root = Path(*takewhile(lambda part: not glob.has_magic(part), pattern.parts))
    matching = sorted(path for path in root.glob(str(pattern.relative_to(root))) if path.is_file())
    hidden = [] if _is_hidden(pattern, root) else [path for path in matching if _is_hidden(path, root)]
    is_below = root.resolve() in (resolved := out.resolve()).parents  # else it is the directory of the inputs, or above
    outputs = [path for path in matching if is_below and resolved in path.resolve().parents]
    excluded = {*hidden, *outputs}
    sources = [path for path in matching if path not in excluded]
    left_out = f"{len(hidden)} hidden files and {len(outputs)} files below the output are left out"
    if not sources:
        why = f", as {left_out}" if matching else ""
        raise DataError(f"{pattern}: no file matches{why}; check the pattern")
    if hidden or outputs:
        logger.info("%s: %s", pattern, left_out)
    tasks: dict[Path, FileTask] = {}
    for source in sources:
        place = source.relative_to(root)
        output = out / place.with_name(output_name(place))
        if output in tasks:
            raise ConfigError(f"{source}: has the same output as {tasks[output].source}; rename one of the files")
        marker = out / MARKERS / place.with_name(f"{output.name}.json")
        tasks[output] = FileTask(source, output, marker)
    return list(tasks.values())


def _is_hidden(path: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(root).parts)


def write_files(tasks: Sequence[FileTask], job: FileJob) -> FilesWritten:
    """Do the tasks that are not complete yet, and return the results of all that are now.

    Slurm jobs continue after this returns. Raises what the first task that fails raises; complete outputs stay.
    """
    out, settings = job.run.output, job.run.files
    shares = _balanced(tasks, settings.workers)
    logs = None
    if settings.executor == "processes":
        validate_no_options(settings.executor_options)
        for _ in run_in_order(partial(_work, job), shares, workers=settings.workers):
            pass
    else:
        logs = out.with_name(f".{out.name}.logs")
        run_stages(
            [Stage("files", partial(_work_of_rank, job, shares), settings.workers)],
            settings.executor,
            logs=logs,
            options=with_overrides({}, settings.executor_options),
        )
    results = {task.output.relative_to(out).as_posix(): _result(task, job) for task in tasks}
    done = {name: result for name, result in results.items() if result is not None}
    return FilesWritten(out, len(tasks), done, logs)


def _work_of_rank(job: FileJob, shares: Sequence[Sequence[FileTask]], data: Any, rank: int, world_size: int) -> None:
    """The share of a task of datatrove."""
    _work(job, shares[rank])


def _work(job: FileJob, share: Sequence[FileTask]) -> None:
    """The files of one worker; the model is loaded once, and only if there is something to do."""
    work: Callable[[FileTask], dict[str, Any]] | None = None
    for task in share:
        if _result(task, job) is not None:
            logger.info("%s: is complete", task.output)
            continue
        work = work or job.start()
        task.marker.unlink(missing_ok=True)
        fingerprint = job.fingerprint(job.run_of(task))  # before the work, during which the file may change
        result = work(task)
        write_json(task.marker, {"fingerprint": fingerprint, "result": result})
        logger.info("%s: written", task.output)


def _balanced(tasks: Sequence[FileTask], workers: int) -> list[list[FileTask]]:
    """The tasks of each worker: from the largest file to the smallest one, to the worker with the fewest bytes."""
    shares: list[list[FileTask]] = [[] for _ in range(workers)]
    sizes = [0] * workers
    for task in sorted(tasks, key=lambda each: -each.source.stat().st_size):
        least = sizes.index(min(sizes))
        shares[least].append(task)
        sizes[least] += task.source.stat().st_size
    return shares


def _result(task: FileTask, job: FileJob) -> dict[str, Any] | None:
    """The result of a task that is complete; None if it is not, or if something it depends on has changed."""
    if not task.marker.exists() or not task.output.exists():
        return None
    try:
        stored = read_json_object(task.marker, if_missing="run the command again")
    except CheckpointError:
        return None
    return stored["result"] if stored.get("fingerprint") == job.fingerprint(job.run_of(task)) else None
