"""The precision of runs whose settings leave it to be measured: once, for all runs of a table, and kept."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeVar, get_args

from litebert.errors import CheckpointError, LitebertError
from litebert.files import RUN_SETTINGS, locked, read_json_object, write_json
from litebert.machine import has_bf16_instructions
from litebert.settings import InferencePrecision, TrainingPrecision, read_yaml
from litebert.training.train_settings import TrainSettings

if TYPE_CHECKING:
    import torch

    from litebert.model.config import ModelConfig
    from litebert.training.distributed.context import DistributedContext

PRECISION: Final = "precision.json"
"""File in the directory of several runs: the precision of those whose settings leave it to be measured."""
MOST_SECONDS_OF_MEASUREMENT: Final = 300.0
"""How long a process waits for another one that measures the precision of the same directory."""
logger = logging.getLogger(__name__)


class TrainingRun(Protocol):
    """Settings of a run of any command that trains."""

    @property
    def train(self) -> TrainSettings:
        """The settings of the training loop."""
        ...

    def model_copy(self, *, update: Mapping[str, Any]) -> Self:
        """A copy with other values."""
        ...


R = TypeVar("R", bound=TrainingRun)


def with_saved_precision(run: R, out: Path, world: "DistributedContext") -> R:
    """`run`; where its precision is `auto` and `out` has a run to resume, with the precision of that run."""
    file = out / RUN_SETTINGS
    if run.train.precision != "auto" or not world.on_rank_zero(file.exists):
        return run
    return _with_precision(run, world.on_rank_zero(lambda: read_yaml(file).get("train", {}).get("precision", "auto")))


def with_measured_precision(run: R, config: "ModelConfig", world: "DistributedContext") -> R:
    """`run`; where its precision is `auto`, with the fastest one on this processor, or bf16 on GPUs with it."""
    if run.train.precision != "auto":
        return run
    return _with_precision(run, world.on_rank_zero(lambda: _fastest_precision(config, world.device)))


def runs_with_one_precision(
    runs: Sequence[tuple[R, Path]], out: Path, config_of: Callable[[R], "ModelConfig"]
) -> list[R]:
    """`runs`, given with their directories; those with precision `auto` have the one that is kept in `out`.

    A run that has started keeps its own. What is kept is measured for the `config_of` the first run that has one: a
    model that cannot be read fails its own run, not all others.
    """
    from litebert.training.distributed.context import distributed_context

    undecided = [(run, directory) for run, directory in runs if run.train.precision == "auto"]
    if not undecided:
        return [run for run, _ in runs]
    open_runs, directories = zip(*undecided, strict=True)
    with distributed_context(open_runs[0].train) as world:
        kept = world.on_rank_zero(
            lambda: kept_precision(
                out, directories, lambda: _fastest_precision(_first_config(open_runs, config_of), world.device)
            )
        )
        saved = [with_saved_precision(run, directory, world) for run, directory in runs]
    found = [_with_precision(run, kept) if run.train.precision == "auto" else run for run in saved]
    used = {now.train.precision for now, (run, _) in zip(found, runs, strict=True) if run.train.precision == "auto"}
    if len(used) > 1:
        logger.warning(
            "%s: its runs have the precisions %s, which each of them measured; for one precision, choose a new "
            "directory",
            out,
            ", ".join(sorted(used)),
        )
    return found


def _first_config(runs: Iterable[R], config_of: Callable[[R], "ModelConfig"]) -> "ModelConfig":
    """That of the first run whose model can be read; if none can, the error of the first."""
    errors: list[LitebertError] = []
    for run in runs:
        try:
            return config_of(run)
        except LitebertError as error:
            errors.append(error)
    raise errors[0]


def kept_precision(out: Path, directories: Iterable[Path], measure: Callable[[], str]) -> TrainingPrecision:
    """The precision in `out/precision.json`, for all runs in `out` whose settings leave it to be measured.

    Measurements on a busy machine differ, so runs that measured it one by one, at the same time or after a stop, would
    mix precisions in one table. If the file is missing, it is written: with the precision of the first of the run
    `directories` where a run has started, or, if none has, with what `measure` returns.
    """
    file = out / PRECISION
    if not file.exists():
        busy = CheckpointError(f"{file}: another process has measured the precision for minutes; stop it, or wait")
        with locked(out / f".{PRECISION}.lock", busy=busy, timeout=MOST_SECONDS_OF_MEASUREMENT):
            _keep_precision(file, directories, measure)
    precision: Any = read_json_object(file, if_missing="run the command again").get("precision")
    if precision == "auto" or precision not in get_args(TrainingPrecision):
        raise CheckpointError(f"{file}: has no precision; remove it, and the same command writes it anew")
    logger.info("train.precision: %s for all runs that leave it open (%s)", precision, file)
    return precision


def _keep_precision(file: Path, directories: Iterable[Path], measure: Callable[[], str]) -> None:
    """Write the file, unless another process has written it meanwhile."""
    if not file.exists():
        started = (read_yaml(each / RUN_SETTINGS) for each in directories if (each / RUN_SETTINGS).exists())
        named = (settings.get("train", {}).get("precision", "auto") for settings in started)
        write_json(file, {"precision": next((each for each in named if each != "auto"), None) or measure()})


def _fastest_precision(config: "ModelConfig", device: "torch.device") -> InferencePrecision:
    from litebert.model import matmul_speed

    return matmul_speed.fastest_precision(config, device, "training")


def _with_precision(run: R, precision: InferencePrecision) -> R:
    return run.model_copy(update={"train": run.train.model_copy(update={"precision": precision})})


def warn_slow_bf16(precision: str, device: "torch.device") -> None:
    """Warn of bf16 on a processor that has to emulate it."""
    if precision == "bf16" and device.type == "cpu" and has_bf16_instructions() is False:
        logger.warning(
            "train.precision=bf16, but this processor has no bf16 instructions: train.precision=fp32 is likely faster "
            "(`litebert doctor` measures both)"
        )
