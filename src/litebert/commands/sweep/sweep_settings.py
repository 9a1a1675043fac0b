"""Everything that decides a sweep. Before: a recipe and a grid on the command line. After: `sweep_grid`, `sweep`."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml
from pydantic import Field, field_validator

from litebert.commands.finetune.finetune_settings import FinetuneRun, load_finetune_config
from litebert.errors import ConfigError
from litebert.settings import Settings

SEED: Final = "seed"
"""The axis whose values are repetitions; along every other one the configuration changes."""
_RANGE: Final = re.compile(r"(\d+)\.\.(\d+)")
_MOST_RUNS: Final = 10_000

Value = bool | int | float | str | None | list[Any]


class SweepRun(Settings):
    """Everything that decides a sweep."""

    base: FinetuneRun
    """What all runs have in common."""
    grid: dict[str, tuple[Value, ...]] = Field(min_length=1)
    """For each setting its values; every combination is a run."""
    restarts: int = Field(default=0, ge=0)
    """How often a run that collapsed is begun again with another seed."""

    @field_validator("grid")
    @classmethod
    def _some_values(cls, grid: dict[str, tuple[Value, ...]]) -> dict[str, tuple[Value, ...]]:
        for path, values in grid.items():
            if not values:
                raise ValueError(f"{path}: has no values")
        return grid


def load_sweep_config(
    recipe: str,
    overrides: Iterable[str] = (),
    *,
    given: Mapping[str, Any],
    grid: Iterable[str] = (),
    seeds: int | None = None,
    restarts: int = 0,
) -> SweepRun:
    """A recipe with the values `given` and overrides, and a grid of `setting=value,value` words or of seeds alone."""
    axes = parse_grid(grid)
    if seeds is not None:
        if SEED in axes or seeds < 1:
            raise ConfigError("seeds: give a number from 1, or the seeds themselves as --grid seed=0..4")
        axes[SEED] = list(range(seeds))
    if not axes:
        raise ConfigError("grid: nothing to compare; give --seeds 5, or settings with their values (--grid)")
    base = load_finetune_config(recipe, overrides, given=given)
    return SweepRun.parse({"base": base.to_dict(), "grid": axes, "restarts": restarts}, where="sweep")


def parse_grid(words: Iterable[str]) -> dict[str, list[Value]]:
    """`["batch_size=16,32", "seed=0..4"]` → values by setting; a value is written as in a recipe, `a..b` is a range."""
    axes: dict[str, list[Value]] = {}
    for word in words:
        path, equals, text = word.partition("=")
        if not equals or not path or path in axes:
            raise ConfigError(f"grid: {word!r}: expected setting=value,value,…, each setting once, such as seed=0..4")
        axes[path] = [value for given in _listed(text, word) for value in _ranged(given)]
    return axes


def _listed(text: str, word: str) -> list[Value]:
    try:
        return yaml.safe_load(f"[{text}]")
    except yaml.YAMLError:
        raise ConfigError(f"grid: {word!r}: the values are not a list with commas; quote what holds signs") from None


def _ranged(value: Value) -> list[Value]:
    match = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return [value]
    first, last = int(match[1]), int(match[2])
    if not first <= last < first + _MOST_RUNS:
        raise ConfigError(f"grid: {value!r}: a range goes up, by less than {_MOST_RUNS:,}")
    return list(range(first, last + 1))
