"""The settings of a sweep, from a recipe and a grid."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml
from pydantic import Field, field_validator

from litebert.commands.finetune.finetune_settings import FinetuneRun, load_finetune_config
from litebert.errors import ConfigError
from litebert.settings import Settings

SEED: Final = "seed"
"""The axis of repetitions; trials that differ along any other axis are different configurations."""
_RANGE: Final = re.compile(r"(\d+)\.\.(\d+)")
_MAX_RANGE: Final = 10_000

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
        if SEED in axes or seeds < 1:
            raise ConfigError("seeds: give a number from 1, or the seeds themselves as --grid seed=0..4")
        axes[SEED] = list(range(seeds))
    if not axes:
        raise ConfigError("grid: nothing to compare; give --seeds 5, or settings with their values (--grid)")
    # The baselines are the same for each trial.
    base = load_finetune_config(recipe, overrides, given={"baseline": False, **given})
    return SweepRun.parse({"base": base.to_dict(), "grid": axes, "retry_collapsed": retry_collapsed}, where="sweep")


def parse_grid(words: Iterable[str]) -> dict[str, list[Value]]:
    """`["batch_size=16,32", "seed=0..4"]` → values by setting; values as in YAML; `a..b` is a range."""
    axes: dict[str, list[Value]] = {}
    for word in words:
        path, equals, text = word.partition("=")
        if not equals or not path or path in axes:
            raise ConfigError(f"grid: {word!r}: expected setting=value,value,…, each setting once, such as seed=0..4")
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
    if not first <= last < first + _MAX_RANGE:
        raise ConfigError(f"grid: {value!r}: expected an ascending range of at most {_MAX_RANGE:,} values")
    return list(range(first, last + 1))
