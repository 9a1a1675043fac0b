"""The price of tables before anything runs: cells, hours, memory and disk."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.commands.finetune.data_settings import BenchmarkFiles, num_training_rows
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.pretrain.dry_run import dry_run
from litebert.commands.pretrain.pretrain_settings import FirstPart, PretrainRun
from litebert.commands.pretrain.pretraining_cost import expected_memory, mean_flops_per_token
from litebert.commands.reproduce.cells import Cell
from litebert.commands.result import Result
from litebert.files import readable_bytes
from litebert.logs import readable_seconds
from litebert.model.model_stats import flops_per_token, parameter_counts
from litebert.tasks.benchmarks.benchmarks import benchmark_task
from litebert.tasks.benchmarks.race import NUM_OPTIONS
from litebert.training.loop.duration import Duration

logger = logging.getLogger(__name__)

PROBE_TOKENS = 2048
"""Tokens of the step that is timed: enough for the speed of a large batch, few enough for a small memory."""
WEIGHT_BYTES = 4
ASSUMED_LENGTH = 128
"""Tokens of an example where `max_length` is chosen from the data."""


@dataclass(frozen=True, kw_only=True)
class Plan(Result):
    """What a set of tables costs on this machine."""

    cells: dict[str, int]
    """Kind → number of cells, shared ones counted once."""
    finished: int
    flops: float
    """Of the cells that are not finished; padding is counted up to max_length."""
    flops_per_second: float | None
    """Measured in some training steps of the first model; None if there is nothing to train."""
    memory: int
    """Bytes, by formula, of the largest run."""
    disk: int
    """Bytes of the weights of all runs."""
    timed_seconds: float
    """Of the runs whose duration is a time."""
    left_out: tuple[str, ...] = ()
    """What has no data."""
    without_time: int = 0
    """Pretraining runs whose duration is in epochs; how long these are is not known before the corpus is read."""

    @property
    def seconds(self) -> float:
        """Of all cells that are not finished, one after the other."""
        return self.timed_seconds + (self.flops / self.flops_per_second if self.flops_per_second else 0.0)

    def to_text(self) -> str:
        """The plan for a person."""
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.cells.items()) or "none"
        gflops = (self.flops_per_second or 0) / 1e9
        speed = f" ({self.flops:.3g} FLOPs at {gflops:,.3g} GFLOP/s, measured)" if gflops else ""
        without = [f"left out, for lack of data: {', '.join(self.left_out)}"] if self.left_out else []
        epochs = [f"not in the time: {self.without_time} runs of pretraining for epochs"] if self.without_time else []
        return "\n".join(
            [
                f"cells: {kinds}; {self.finished} finished",
                f"time: about {readable_seconds(self.seconds)} for the others on this machine, one after the other"
                f"{speed}",
                f"memory: {readable_bytes(self.memory)} for the largest run, by formula",
                f"disk: {readable_bytes(self.disk)} of weights",
                *without,
                *epochs,
            ]
        )


def plan(cells: Sequence[Cell], finished: Sequence[Cell], *, left_out: Sequence[str] = ()) -> Plan:
    """The price of the cells on this machine; trains a throw-away model for some steps to measure its speed."""
    todo = [cell for cell in cells if cell not in finished]
    runs = {cell.key: PretrainRun.parse(cell.settings, where=cell.key) for cell in cells if cell.kind == "pretrain"}
    trained = [cell for cell in cells if cell.kind in ("pretrain", "finetune")]
    costs = [_cost(cell, runs) for cell in todo]
    return Plan(
        cells={kind: sum(cell.kind == kind for cell in cells) for kind in dict.fromkeys(c.kind for c in cells)},
        finished=len(finished),
        flops=sum(flops for flops, _ in costs),
        flops_per_second=measured_speed(next(iter(runs.values()))) if todo and runs else None,
        memory=max((expected_memory(run).training for run in runs.values()), default=0),
        disk=WEIGHT_BYTES * sum(parameter_counts(_model(cell, runs).model).pretraining for cell in trained),
        timed_seconds=sum(seconds for _, seconds in costs),
        left_out=tuple(left_out),
        without_time=sum(_runs_for_epochs(cell) for cell in todo),
    )


def measured_speed(run: PretrainRun) -> float:
    """FLOPs per second of a training step of this model with a batch of about `PROBE_TOKENS` at most."""
    examples = min(run.microbatch_size, max(1, PROBE_TOKENS // run.sampling.max_length))
    small = run.replace(batch_size=examples, microbatch_size=examples, init="random", init_checkpoint=None)
    logger.info("the speed of a training step of %d examples is measured", examples)
    probe = dry_run(small, Path("probe"))
    return probe.tokens_per_step * mean_flops_per_token(run.model, run.sampling) / probe.step_seconds


def _cost(cell: Cell, runs: dict[str, PretrainRun]) -> tuple[float, float]:
    """FLOPs, or seconds where the duration is a time; layers and ensembles cost next to nothing."""
    if cell.kind == "pretrain":
        run = runs[cell.key]
        return _of_duration(run.train.duration, run.batch_size, run.sampling.max_length, _training_flops(run))
    if cell.kind == "finetune":
        run = FinetuneRun.parse(cell.settings, where=cell.key)
        model = _model(cell, runs).model
        length = run.max_length or ASSUMED_LENGTH
        flops = flops_per_token(model, length=length).training
        has_options = isinstance(run.data, BenchmarkFiles) and benchmark_task(run.data.task).format == "race"
        sequences = NUM_OPTIONS if has_options else 1
        rows = num_training_rows(run.data) or 0
        return _of_duration(run.train.duration, run.batch_size, length * sequences, flops, rows=rows)
    return 0.0, 0.0


def _runs_for_epochs(cell: Cell) -> bool:
    return cell.kind == "pretrain" and str(cell.settings["train"]["duration"]).endswith("epochs")


def _model(cell: Cell, runs: dict[str, PretrainRun]) -> PretrainRun:
    return runs[cell.key] if cell.kind == "pretrain" else _model(cell.needs[0], runs)


def _training_flops(run: PretrainRun) -> float:
    first = run.first_part or FirstPart(run.model, 0.0)
    at_first, later = (mean_flops_per_token(config, run.sampling) for config in (first.config, run.model))
    return first.fraction * at_first + (1 - first.fraction) * later


def _of_duration(
    duration: Duration, batch_size: int, length: int, flops: float, *, rows: int = 0
) -> tuple[float, float]:
    tokens_of = {"tokens": 1, "examples": length, "steps": batch_size * length, "epochs": rows * length}
    if duration.unit not in tokens_of:
        return 0.0, duration.amount if duration.unit == "seconds" else 0.0
    return duration.amount * tokens_of[duration.unit] * flops, 0.0
