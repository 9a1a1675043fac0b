"""The scales at which tables are run: how large the models are, how long they train, and on which tasks."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from litebert.commands.finetune.finetune_settings import RecipeSet
from litebert.commands.reproduce.tables.table_files import named_file
from litebert.errors import ConfigError, suggestion
from litebert.settings import MAX_SEEDS, Leaf, Settings, read_yaml

Value = Leaf | list[Any]


class Scale(Settings):
    """How large the models are, how long they train, and on which tasks they are fine-tuned."""

    about: str
    recipe: str
    """Pretraining recipe that all rows begin with."""
    settings: dict[str, Value] = Field(default={})
    """Settings that differ from the recipe's, in all rows."""
    models: dict[str, dict[str, Value]]
    """Settings of each model that the tables name."""
    values: dict[str, Value] = Field(default={})
    """What `$NAME` stands for in the rows."""
    tasks: dict[str, dict[str, Value]] = Field(default={})
    """Benchmark → settings that differ from those of its recipe."""
    recipes: RecipeSet = "paper"
    """Which recipes the tasks have."""
    finetune: dict[str, Value] = Field(default={})
    """Settings of all fine-tuning runs."""
    runs: bool = True
    """Whether `reproduce` runs the scale; false: it is for --plan only, one process is too slow for its models."""
    within: float | None = Field(default=None, gt=0)
    """Points within which the average of each row must be the paper's (kind `interval`); null: no such claims."""
    seeds: int = Field(default=1, ge=1, le=MAX_SEEDS)
    seeds_of: dict[str, int] = Field(default={})
    """Number of seeds of tables that have another one."""

    def resolve(self, settings: Mapping[str, Value]) -> dict[str, Value]:
        """The settings with the values of the scale in the place of `$NAME`."""
        return {name: self._value(value) for name, value in settings.items()}

    def _value(self, value: Value) -> Value:
        if not (isinstance(value, str) and value.startswith("$")):
            return value
        if value[1:] not in self.values:
            raise ConfigError(f"{value}: the scale has no such value; {suggestion(value[1:], self.values)}")
        return self.values[value[1:]]


def load_scale(name: str) -> Scale:
    """A scale by its name, or a .yaml file of the user."""
    return Scale.parse(read_yaml(named_file("scales", name)), where=name)
