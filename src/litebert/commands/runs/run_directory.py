"""The run directory: the files of one run, and the settings with which it may be resumed.

`settings.yaml` (resolved), `environment.json`, `train.log`, `metrics.jsonl`, `checkpoints/`, `model/` and, once the run
is finished, `result.json`; `milestones/` where `train.milestones` names any. Pretraining adds `initial_scores.json`,
`curves.html`, and `best/` or `last/` where `metric_for_best_model` is set.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from litebert.commands.result import Result
from litebert.errors import CheckpointError, ConfigError
from litebert.files import RUN_SETTINGS, checkpoint_paths, read_json_object, unfinished_writes, write_json, write_text
from litebert.machine import environment
from litebert.settings import Settings, changed_names, flatten, is_permitted, read_yaml, write_yaml
from litebert.training.loop.duration import Duration
from litebert.training.train_settings import NON_NUMERIC_SETTINGS, WITHOUT_BATCH_SIZE

R = TypeVar("R", bound=Result)
logger = logging.getLogger(__name__)

DATA = "data"
"""Folder for rows that the Python API was given in memory, and for the corpus of `litebert adapt`."""
ENVIRONMENT = "environment.json"
"""Machine and versions, and what the run does, written when it begins."""
_PERMISSION = "train.allow_config_changes"
"""Names the settings that may change; it may always change itself."""
ALWAYS_CHANGEABLE = frozenset(
    {
        *("microbatch_size", "compute.compile", "compute.native_kernels", "compute.activation_checkpoint_interval"),
        *(f"train.{name}" for name in NON_NUMERIC_SETTINGS if name != "evaluate_every"),
    }
)
"""Settings that may differ when a run is resumed, since its results do not depend on them beyond rounding and the masks
of dropout, except where a run rolls back: see `NON_NUMERIC_SETTINGS`. `train.evaluate_every` is not among them: which
model is the best depends on when models are evaluated."""


def deciding_settings(run: Settings) -> dict[str, Any]:
    """The settings of a run, nested, on which its weights depend: without `ALWAYS_CHANGEABLE` and its `no_effect`."""
    left_out = {*ALWAYS_CHANGEABLE, *run.no_effect}

    def kept(part: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        named = {name: value for name, value in part.items() if f"{prefix}{name}" not in left_out}
        inner = {
            name: kept(value, f"{prefix}{name}.") if isinstance(value, Mapping) else value
            for name, value in named.items()
        }
        # A group of which nothing is left is left out too.
        return {name: value for name, value in inner.items() if value or not named[name]}

    return kept(run.to_dict(), "")


@dataclass(frozen=True)
class Inside:
    """An attribute: the path of a file or directory inside that of its object, `path`."""

    name: str

    def __get__(self, directory: Any, owner: type) -> Path:
        return directory.path / self.name


@dataclass(frozen=True)
class RunDirectory:
    """Paths of one run."""

    path: Path
    has_other_settings: bool = False
    """Whether the settings were permitted to differ from those of the run there; `continue_with` replaces these."""
    changes: str = ""
    """The settings, as YAML, if only those in `ALWAYS_CHANGEABLE` differ; `write_changes` replaces the old ones."""
    settings_file = Inside(RUN_SETTINGS)
    """The resolved settings, written before the first step."""
    initial_scores = Inside("initial_scores.json")
    """Validation scores of a pretraining run before its first step."""
    log = Inside("train.log")
    """What was logged, with date and time."""
    metrics = Inside("metrics.jsonl")
    """One JSON object per logged step or evaluation."""
    model = Inside("model")
    """The final model directory."""
    best = Inside("best")
    """Model directory of the best evaluation so far; removed when the run is finished."""
    last = Inside("last")
    """Model directory of the last step, where the exported model is the best one."""
    milestones = Inside("milestones")
    """Model directories of the points that `train.milestones` names."""
    curves = Inside("curves.html")
    """Page with the curves of the run."""
    result_file = Inside("result.json")
    """Written last: a run that has it is finished."""

    @classmethod
    def open(cls, path: Path, settings: Settings, *, command: str, allowed: Collection[str] = ()) -> Self:
        """The directory of a new run, or of an earlier run with the same settings.

        A new directory is not created before `begin`, so that a run that fails until then leaves nothing behind.

        Args:
            path: the directory.
            settings: of the run; settings missing in an existing `settings.yaml` must have their defaults.
            command: `pretrain`, `finetune`, …; must be that of an existing run.
            allowed: settings (or groups of them) that may differ from those of an existing run; by `continue_with` they
                replace the old ones, and a finished run becomes unfinished. So may those in `settings.no_effect`: what
                is written beside the weights is written again. Those in `ALWAYS_CHANGEABLE` replace the old ones by
                `write_changes`, and a finished run stays finished.

        Raises:
            ConfigError: other settings differ, or `path` is not a run directory.
        """
        run = cls(path)
        if run.settings_file.exists():
            wanted = {"command": command, **settings.to_dict()}
            saved = run.saved_settings(type(settings))
            if saved.get("command") != command:
                raise ConfigError(f"{path}: is a run of `{saved.get('command')}`; choose another --out")
            permitted = (*allowed, *settings.no_effect, *ALWAYS_CHANGEABLE)
            changed = _changed_settings(run.settings_file, saved, wanted, allowed=permitted)
            if not changed <= ALWAYS_CHANGEABLE:
                return cls(path, has_other_settings=True)
            if "train.milestones" in changed and run.result_file.exists():
                _warn_of_new_milestones(path, saved, wanted)
            if changed:
                return cls(path, changes=write_yaml(wanted))
        run.validate_is_run_or_new()
        return run

    def validate_is_run_or_new(self) -> None:
        """Raise ConfigError if there is something else at `path`."""
        if self.settings_file.exists() or not self.path.exists():
            return
        if not self.path.is_dir() or set(self.path.iterdir()) - self._before_settings():
            raise ConfigError(f"{self.path}: exists and is not a run directory; choose another --out or remove it")

    def begin(self, settings: Settings, *, command: str) -> None:
        """Create the directory, unless it exists, with the `settings` that `open` checked."""
        if self.settings_file.exists():
            return
        # The file that identifies a run directory comes first, so that a process killed here can be started again.
        for leftover in unfinished_writes(self.settings_file):
            leftover.unlink(missing_ok=True)
        write_text(self.settings_file, write_yaml({"command": command, **settings.to_dict()}))
        self.write_environment({})

    def write_environment(self, provenance: Mapping[str, str]) -> None:
        """Write `environment.json`, also in place of that of a run there which never saved a checkpoint.

        `provenance` says in words what the run does.
        """
        write_json(self.path / ENVIRONMENT, {**environment(), **provenance})

    def write_changes(self) -> None:
        """Replace the settings of the run there, if only those that may always differ do."""
        if self.changes:
            write_text(self.settings_file, self.changes)

    def validate_can_continue(self) -> None:
        """Raise CheckpointError if a finished run has no checkpoint from which it could continue."""
        if self.result_file.exists() and not self.has_checkpoint:
            raise CheckpointError(
                f"{self.path}: the run is finished and its checkpoints are gone, so it cannot continue with other "
                "settings; choose another --out"
            )

    def continue_with(self, settings: Settings, *, command: str) -> None:
        """Replace the settings of the run there by others that `open` permitted; only while the directory is locked."""
        self.write_changes()
        if self.has_other_settings:
            self.result_file.unlink(missing_ok=True)
            write_text(self.settings_file, write_yaml({"command": command, **settings.to_dict()}))

    def saved_settings(self, kind: type[Settings]) -> dict[str, Any]:
        """The settings of the run there, with the defaults of those that the version that wrote them did not have."""
        written = read_yaml(self.settings_file)
        values = {name: value for name, value in written.items() if name != "command"}
        try:
            complete = kind.parse(values, where=str(self.settings_file))
        except ConfigError:  # it has settings that this version does not: they differ
            return written
        return {"command": written.get("command"), **complete.to_dict()}

    def _before_settings(self) -> set[Path]:
        """What may be in the directory of a run that was killed before it wrote its settings."""
        return {self.path / DATA, *unfinished_writes(self.settings_file)}

    @property
    def has_checkpoint(self) -> bool:
        """Whether the run has saved a checkpoint."""
        return bool(checkpoint_paths(self.path / "checkpoints"))

    def recorded(self, name: str) -> str:
        """What `environment.json` says under `name`; empty where nothing does, or where the file is gone or damaged."""
        try:
            return read_json_object(self.path / ENVIRONMENT, if_missing="").get(name, "")
        except CheckpointError:
            return ""

    def result(self, result_type: type[R]) -> R | None:
        """The result of a finished run; None for an unfinished one, and for one that continues with other settings."""
        finished = self.result_file.exists() and not self.has_other_settings
        return result_type.read(self.result_file) if finished else None

    def finish(self, result: Result) -> None:
        """Mark the run as finished."""
        result.write(self.result_file)


def _warn_of_new_milestones(path: Path, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Milestones may change at any time, but a finished run saves no more models."""
    if new := [each for each in wanted["train"]["milestones"] if each not in before["train"]["milestones"]]:
        logger.warning(
            "%s: the run is finished, so the models of the new milestones (%s) are not saved; checkpoints that are "
            "still there are models too",
            path,
            ", ".join(new),
        )


def _ends_by_tokens_or_time(settings: Mapping[str, Any]) -> bool:
    return Duration.parse(settings["train.duration"]).unit in WITHOUT_BATCH_SIZE


def _changed_settings(
    file: Path, before: Mapping[str, Any], wanted: Mapping[str, Any], *, allowed: Collection[str]
) -> set[str]:
    """Names of settings that differ from those `before`, in `file`; raises ConfigError if one of them may not."""
    saved, flat = flatten(before), flatten(wanted)
    changed = [name for name in changed_names(saved, flat) if name != _PERMISSION]
    forbidden = [name for name in changed if not is_permitted(name, allowed)]
    if forbidden:
        changes = "; ".join(f"{name} was {saved.get(name)}, is {flat.get(name)}" for name in forbidden)
        can_permit = _PERMISSION in flat and ("batch_size" not in forbidden or _ends_by_tokens_or_time(flat))
        permit = f", or permit the change by {_PERMISSION}=[{','.join(forbidden)}]" if can_permit else ""
        other, own = "Choose another --out", "resume it with its own settings"
        raise ConfigError(
            f"{file}: the run there has other settings ({', '.join(forbidden)}): {changes}. "
            + (f"{other}, {own}{permit}" if permit else f"{other}, or {own}")
        )
    return set(changed)
