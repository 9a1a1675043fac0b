"""The trials of a sweep: a grid of settings as fine-tuning runs with names.

The name of a trial depends on its settings alone, so the grid of a finished sweep can be extended.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from litebert.commands.finetune.finetune_settings import DevSplit, FinetuneRun, LabelledFiles
from litebert.commands.sweep.sweep_settings import SEED, SweepRun
from litebert.errors import ConfigError
from litebert.settings import with_overrides

REPLACEMENT_SEED_STEP: Final = 1000
"""The replacement of a collapsed trial has its seed plus this."""
_MAX_NAME_CHARS: Final = 40


@dataclass(frozen=True)
class Trial:
    """One fine-tuning run of a sweep."""

    settings: dict[str, Any]
    """Its values along the axes of the grid."""
    run: FinetuneRun
    replaces: str | None = None
    """Name of the collapsed trial that this one replaces, if any."""

    @property
    def name(self) -> str:
        """Name of its run directory, such as `learning_rate=2e-05,seed=0`."""
        short = [path.rpartition(".")[2] for path in self.settings]
        names = short if len(set(short)) == len(short) else list(self.settings)
        return ",".join(f"{name}={_readable(value)}" for name, value in zip(names, self.settings.values(), strict=True))


def trials_of(sweep: SweepRun) -> list[Trial]:
    """Every combination, the last axis fastest; raises ConfigError for wrong values and incomparable trials."""
    trials = [
        trial_of(sweep.base, dict(zip(sweep.grid, values, strict=True))) for values in product(*sweep.grid.values())
    ]
    names = [trial.name for trial in trials]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"grid: {name} occurs twice; give each value once")
    if any(_evaluation_settings(trial.run) != _evaluation_settings(sweep.base) for trial in trials):
        raise ConfigError(
            "grid: its trials would be evaluated on different examples or by different metrics, so they cannot be "
            "compared; run one sweep for each"
        )
    return trials


def trial_of(base: FinetuneRun, settings: Mapping[str, Any], *, replaces: str | None = None) -> Trial:
    """The trial at one point of the grid; its seed is that of the head, the order of the examples and the dropout."""
    overrides = [f"{path}={json.dumps(value)}" for path, value in settings.items()]
    run = FinetuneRun.parse(with_overrides(base.to_dict(), overrides), where="grid")
    # As parsed: 1e-5 and 0.00001 are one value.
    resolved = {path: _at(run.to_dict(), path) for path in settings}
    return Trial(resolved, run, replaces)


def replacement(base: FinetuneRun, trial: Trial, *, taken: Collection[str]) -> Trial:
    """The trial that replaces a collapsed one: the same settings with a new seed, under a name that is not `taken`."""
    seed = trial.run.seed
    while True:
        seed += REPLACEMENT_SEED_STEP
        other = trial_of(base, {**trial.settings, SEED: seed}, replaces=trial.name)
        if other.name not in taken:
            return other


def _evaluation_settings(run: FinetuneRun) -> tuple[Any, ...]:
    """The settings that decide on which examples and by which metrics a run is evaluated."""
    data = run.data.to_dict()
    if isinstance(run.data, LabelledFiles) and not isinstance(run.data.dev, DevSplit):
        del data["train"]
    return run.metrics, data


def _at(values: Mapping[str, Any], path: str) -> Any:
    found: Any = values
    for key in path.split("."):
        found = found[key]
    return found


def _readable(value: Any) -> str:
    """A value as part of a file name; a digest is added where characters were replaced, so that names stay distinct."""
    text = value if isinstance(value, str) else json.dumps(value)
    safe = re.sub(r"[^\w.+-]+", "-", text)[:_MAX_NAME_CHARS]
    return safe if safe == text else f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
