"""A grid → runs with names of their own. Before: `sweep_settings`. After: `sweep`.

A run's name says its values and nothing else, so a grid may grow and its finished runs stay where they are.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from litebert.commands.finetune.finetune_settings import FinetuneRun, HeldOutRows, LabelledFiles
from litebert.commands.sweep.sweep_settings import SEED, SweepRun
from litebert.errors import ConfigError
from litebert.settings import with_overrides

RESTART_STEP: Final = 1000
"""A restarted run takes its seed plus this."""
_LONGEST: Final = 40


@dataclass(frozen=True)
class Trial:
    """One run of a sweep."""

    settings: dict[str, Any]
    """Its values along the axes of the grid."""
    run: FinetuneRun
    replaces: str | None = None
    """Name of the run that collapsed, if this one stands in for it."""

    @property
    def name(self) -> str:
        """Its directory: `learning_rate=2e-05,seed=0`."""
        short = [path.rpartition(".")[2] for path in self.settings]
        names = short if len(set(short)) == len(short) else list(self.settings)
        return ",".join(f"{name}={_readable(value)}" for name, value in zip(names, self.settings.values(), strict=True))


def trials_of(sweep: SweepRun) -> list[Trial]:
    """Every combination, the last axis fastest; ConfigError for values that cannot be, or that cannot be compared."""
    cells = [
        trial_of(sweep.base, dict(zip(sweep.grid, values, strict=True))) for values in product(*sweep.grid.values())
    ]
    names = [cell.name for cell in cells]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"grid: holds {name} twice; give each value once")
    if any(_scored_by(cell.run) != _scored_by(sweep.base) for cell in cells):
        raise ConfigError(
            "grid: its runs would be scored on different rows or by different metrics, so none could be called better; "
            "make a sweep for each"
        )
    return cells


def trial_of(base: FinetuneRun, settings: Mapping[str, Any], *, replaces: str | None = None) -> Trial:
    """The run at one point of the grid."""
    overrides = [f"{path}={json.dumps(value)}" for path, value in settings.items()]
    run = FinetuneRun.parse(with_overrides(base.to_dict(), overrides), where="grid")
    # As the run understands them: 1e-5 and 0.00001 are one value.
    resolved = {path: _at(run.to_dict(), path) for path in settings}
    return Trial(resolved, run, replaces)


def restarted(base: FinetuneRun, cell: Trial, *, taken: Collection[str]) -> Trial:
    """The run that stands in for one that collapsed, with a seed that is not `taken`."""
    seed = cell.run.seed
    while True:
        seed += RESTART_STEP
        other = trial_of(base, {**cell.settings, SEED: seed}, replaces=cell.name)
        if other.name not in taken:
            return other


def _scored_by(run: FinetuneRun) -> tuple[Any, ...]:
    """What decides on which rows, and by what, a run is scored."""
    data = run.data.to_dict()
    if isinstance(run.data, LabelledFiles) and not isinstance(run.data.dev, HeldOutRows):
        del data["train"]
    return run.metrics, data


def _at(values: Mapping[str, Any], path: str) -> Any:
    found: Any = values
    for key in path.split("."):
        found = found[key]
    return found


def _readable(value: Any) -> str:
    """A value as part of a file name; what had to be changed gets a digest, so that names differ as values do."""
    text = value if isinstance(value, str) else json.dumps(value)
    safe = re.sub(r"[^\w.+-]+", "-", text)[:_LONGEST]
    return safe if safe == text else f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
