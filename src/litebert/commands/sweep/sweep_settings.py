"""The settings of a sweep, from a recipe and a grid, and its trials: fine-tuning runs with names.

The name of a trial depends on its settings alone, so the grid of a finished sweep can be extended. Imports no torch, so
that wrong settings are refused at once.
"""

import hashlib
import json
import logging
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import getitem
from typing import Any, Final

import yaml
from pydantic import Field, field_validator

from litebert.commands.finetune.data_settings import DevSplit, LabelledFiles
from litebert.commands.finetune.finetune_settings import FinetuneRun, load_finetune_config
from litebert.errors import ConfigError
from litebert.settings import (
    MAX_SEEDS,
    Settings,
    changed_names,
    flatten,
    is_permitted,
    validate_not_empty,
    validate_undecided,
    with_overrides,
)

logger = logging.getLogger(__name__)

SEED: Final = "seed"
"""The axis of repetitions; trials that differ along any other axis are different configurations."""
MODEL: Final = "model"
_RANGE: Final = re.compile(r"(\d+)\.\.(\d+)")
_MAX_TRIALS: Final = 10_000
REPLACEMENT_SEED_STEP: Final = 1000
"""The replacement of a collapsed trial has its seed plus this."""
_MAX_NAME_BYTES: Final = 180
"""Of a trial; file systems allow 255."""
_MAX_VALUE_CHARS: Final = 40
"""Of a value in the name of a trial."""

Value = bool | int | float | str | None | list[Any]


class SweepRun(Settings):
    """All settings of a sweep."""

    base: FinetuneRun
    """The settings that all trials share."""
    grid: dict[str, tuple[Value, ...]] = Field(min_length=1)
    """Setting → values; every combination is a trial."""
    retry_collapsed: int = Field(default=0, ge=0)
    """How often a collapsed or diverged trial is replaced by one with another seed."""

    @field_validator("grid")
    @classmethod
    def _validate_grid(cls, grid: dict[str, tuple[Value, ...]]) -> dict[str, tuple[Value, ...]]:
        for path, values in grid.items():
            if not values:
                raise ValueError(f"{path}: needs at least one value")
        return grid


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
        pairs = zip(names, self.settings.values(), strict=True)
        name = ",".join(f"{name}={_readable(value)}" for name, value in pairs)
        # Its files have longer names: a suffix, and while they are written a prefix and a number.
        content = name.encode()
        is_short = len(content) <= _MAX_NAME_BYTES
        return name if is_short else f"{content[:_MAX_NAME_BYTES].decode(errors='ignore')}-{_digest(name)}"


def load_sweep_config(
    recipe: str,
    overrides: Iterable[str] = (),
    *,
    given: Mapping[str, Any],
    grid: Iterable[str] = (),
    seeds: int | None = None,
    retry_collapsed: int = 0,
) -> SweepRun:
    """The settings of a sweep: a recipe with overrides, and a grid of `setting=value,value` texts or some seeds."""
    axes = parse_grid(grid)
    if seeds is not None:
        if SEED in axes or not 1 <= seeds <= MAX_SEEDS:
            raise ConfigError(f"seeds: give a number from 1 to {MAX_SEEDS}, or the seeds as --grid seed=0..4")
        axes[SEED] = list(range(seeds))
    decided = {path: "--seeds" if seeds is not None and path == SEED else "--grid" for path in axes}
    validate_undecided("sweep", [word.partition("=")[0] for word in overrides], decided=decided)
    if not axes:
        raise ConfigError("grid: nothing to compare; give --seeds 5, or settings with their values (--grid)")
    given = {"baseline": False, **given}  # it is the same for each trial
    # Wrong values of the grid are refused before a model or a file is opened.
    for open_files in (False, True):
        base = load_finetune_config(recipe, overrides, given=given, open_files=open_files, varied=axes)
        run = SweepRun.parse({"base": base.to_dict(), "grid": axes, "retry_collapsed": retry_collapsed}, where="sweep")
        trials_of(run)
    for model in axes.get(MODEL, ()):
        alone = load_finetune_config(recipe, overrides, given={**given, MODEL: str(model)}, varied=axes)
        _warn_of_settings_by_size(run.base, alone, axes)
    return run


def _warn_of_settings_by_size(base: FinetuneRun, alone: FinetuneRun, axes: Collection[str]) -> None:
    """Recipes may choose settings by the size of a model, and all trials have those that were chosen once."""
    chosen, own = flatten(base.to_dict()), flatten(alone.to_dict())
    if names := [name for name in changed_names(chosen, own) if not is_permitted(name, axes)]:
        values = ", ".join(f"{name}={own[name]} instead of {chosen[name]}" for name in names)
        logger.warning(
            "grid: %s by itself would have %s; every trial has the settings for %s. For a fair comparison run one "
            "sweep for each model, or give these settings",
            alone.model,
            values,
            base.model,
        )


def parse_grid(words: Iterable[str]) -> dict[str, list[Value]]:
    """`["batch_size=16,32", "seed=0..4"]` → values by setting; values as in YAML; `a..b` is a range."""
    axes: dict[str, list[Value]] = {}
    for word in words:
        path, equals, text = word.partition("=")
        if not equals or not path or path in axes:
            raise ConfigError(f"grid: {word!r}: expected setting=value,value,…, each setting once, such as seed=0..4")
        validate_not_empty(f"grid: {path}", text, otherwise=f"write {path}=null for none")
        axes[path] = [value for item in _listed(text, word) for value in _ranged(item)]
    return axes


def _listed(text: str, word: str) -> list[Value]:
    try:
        return yaml.safe_load(f"[{text}]")
    except yaml.YAMLError:
        raise ConfigError(
            f"grid: {word!r}: the values are not a comma-separated list; quote values with special characters"
        ) from None


def _ranged(value: Value) -> list[Value]:
    match = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return [value]
    first, last = int(match[1]), int(match[2])
    if not first <= last < first + _MAX_TRIALS:
        raise ConfigError(f"grid: {value!r}: expected an ascending range of at most {_MAX_TRIALS:,} values")
    return list(range(first, last + 1))


def trials_of(sweep: SweepRun) -> list[Trial]:
    """Every combination, the last axis fastest; raises ConfigError for wrong values and incomparable trials."""
    if (number := math.prod(map(len, sweep.grid.values()))) > _MAX_TRIALS:
        raise ConfigError(f"grid: {number:,} combinations, expected at most {_MAX_TRIALS:,}; give fewer values")
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
    resolved = {path: reduce(getitem, path.split("."), run.to_dict()) for path in settings}
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


def _readable(value: Any) -> str:
    """A value as part of a file name; a digest is added where characters were replaced, so that names stay distinct."""
    text = value if isinstance(value, str) else json.dumps(value)
    safe = re.sub(r"[^\w.+-]+", "-", text)[:_MAX_VALUE_CHARS]
    return safe if safe == text else f"{safe}-{_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]
