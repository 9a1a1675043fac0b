"""The run directory: what every training verb leaves behind, and how the same command finds it again.

`settings.yaml` (resolved), `environment.json`, `metrics.jsonl`, `checkpoints/`, `model/` and, once the run has ended
well, `result.json`; pretraining adds `curves.html`, and `best/` or `last/` where it selects a model by a measure.
Before: a verb with its settings. After: training.Trainer, which resumes from `checkpoints/`.
"""

import platform
import subprocess
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self, TypeVar

from litebert.commands.result import Result
from litebert.errors import ConfigError
from litebert.files import write_json, write_text
from litebert.settings import Settings, changed_names, flatten, read_yaml, write_yaml
from litebert.training.train_settings import NON_NUMERIC_SETTINGS

R = TypeVar("R", bound=Result)

_PERMISSION = "train.allow_config_changes"
"""The setting that names those which may change; it may itself."""
FREE = frozenset(
    {
        *("microbatch_size", "compute.compile", "compute.activation_checkpoint_interval"),
        *(f"train.{name}" for name in NON_NUMERIC_SETTINGS if name != "evaluate_every"),
    }
)
"""Settings that may differ whenever a run goes on, since nothing that it gives depends on them; which model is the best
depends on when one looks."""
PACKAGES = ("litebert", "torch", "numpy", "sentencepiece", "safetensors")


@dataclass(frozen=True)
class RunDirectory:
    """Paths of one run."""

    path: Path

    @classmethod
    def open(cls, path: Path, settings: Settings, *, kind: str, allowed: Collection[str] = ()) -> Self:
        """Find the directory again: other settings than its own are a ConfigError that names them.

        Settings that did not exist yet when it was made must have their defaults.
        `kind` is the verb; a directory of another verb is refused. Settings named in `allowed` (or below a name there)
        may differ: they take the place of the old ones, and a run that was finished is so no longer. Those in `FREE`
        always may, and leave a finished run finished.
        A new directory is not made before `begin`, so that what is refused until then leaves nothing behind.
        """
        run = cls(path)
        if run.settings_file.exists():
            wanted = {"kind": kind, **settings.to_dict()}
            changed = _changed_settings(run.settings_file, settings, wanted, allowed=(*allowed, *FREE))
            if changed:
                write_text(run.settings_file, write_yaml(wanted))
            if not changed <= FREE:
                run.result_file.unlink(missing_ok=True)
        elif path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ConfigError(f"{path}: exists and is not a run directory; choose another --out or remove it")
        return run

    def begin(self, settings: Settings, *, kind: str) -> None:
        """Make the directory, unless it is there, with the `settings` that `open` checked."""
        if self.settings_file.exists():
            return
        # First the file by which the directory is known, so that a process killed here can be started again.
        write_text(self.settings_file, write_yaml({"kind": kind, **settings.to_dict()}))
        write_json(self.path / "environment.json", environment())

    @property
    def settings_file(self) -> Path:
        """The resolved settings, written before the first step."""
        return self.path / "settings.yaml"

    @property
    def start_scores(self) -> Path:
        """What the model of a pretraining run scored before its first step."""
        return self.path / "start.json"

    @property
    def metrics(self) -> Path:
        """One JSON object a logged step or evaluation."""
        return self.path / "metrics.jsonl"

    @property
    def model(self) -> Path:
        """The final model directory."""
        return self.path / "model"

    @property
    def best(self) -> Path:
        """Model directory of the best evaluation so far, while a run that selects by a measure is unfinished."""
        return self.path / "best"

    @property
    def last(self) -> Path:
        """Model directory of the last step, where the exported model is the best one."""
        return self.path / "last"

    @property
    def curves(self) -> Path:
        """Page with the curves of the run."""
        return self.path / "curves.html"

    @property
    def has_checkpoint(self) -> bool:
        """Whether the run has come as far as a checkpoint."""
        return any((self.path / "checkpoints").glob("step-*"))

    @property
    def result_file(self) -> Path:
        """Written last: a run that has it is finished."""
        return self.path / "result.json"

    def result(self, kind: type[R]) -> R | None:
        """What the finished run reported, or None while it is unfinished."""
        return kind.read(self.result_file) if self.result_file.exists() else None

    def finish(self, result: Result) -> None:
        """Mark the run as finished."""
        result.write(self.result_file)


def environment() -> dict[str, Any]:
    """Versions, machine, commit and command: enough to say later where a figure came from."""
    return {
        "command": " ".join(sys.argv),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": processor_name(),
        "packages": {name: package_version(name) for name in PACKAGES},
        "commit": _git_commit(),
    }


def package_version(name: str) -> str:
    """Version of an installed package; "missing" too for litebert itself where it runs from its source tree."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def processor_name() -> str:
    """The processor's name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _git_commit() -> str | None:
    """Commit of the source tree litebert runs from, or None for an installed package."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def _changed_settings(
    file: Path, settings: Settings, wanted: Mapping[str, Any], *, allowed: Collection[str]
) -> set[str]:
    """Names of settings that may change and have; a change of another one is a ConfigError."""
    found = settings.completed(flatten(read_yaml(file)))
    names = [name for name in changed_names(found, flatten(wanted)) if name != _PERMISSION]
    refused = [name for name in names if not any(f"{name}.".startswith(f"{free}.") for free in allowed)]
    if refused:
        changes = "; ".join(f"{name} was {found.get(name)}, is {flatten(wanted).get(name)}" for name in refused)
        permit = f"permit it by {_PERMISSION}=[{','.join(refused)}], " if _PERMISSION in flatten(wanted) else ""
        raise ConfigError(
            f"{file}: the run there has other settings ({', '.join(refused)}): {changes}. Resume it with its own, "
            f"{permit}or choose another --out"
        )
    return set(names)
