"""The settings of `litebert finetune-tasks`. Imports no torch, so that wrong settings are refused at once."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Self

from pydantic import Field, model_validator

from litebert.commands.finetune.finetune_settings import FinetuneRun, RecipeSet, load_finetune_config, recipe_of_task
from litebert.commands.finetune_tasks.tasks_with_files import ALL_TASKS, with_all_tasks
from litebert.errors import ConfigError
from litebert.settings import Settings, validate_undecided
from litebert.tasks.benchmarks.benchmarks import benchmark_task

MODEL: Final = "model"
RANDOM_WEIGHTS: Final = "random-weights"
_ARGUMENT_OF: Final = {
    "model": "--model and --compare",
    "from_scratch": "--random-weights",
    "baseline": "--baselines",
    "data.task": "TASKS",
    "data.directory": "--task-dir",
}
"""Settings of a run that arguments of the command decide."""


class FinetuneTasksRun(Settings):
    """One or several models, fine-tuned on several benchmarks, optionally after an intermediate task."""

    tasks: tuple[str, ...] = Field(min_length=1)
    """Benchmarks, such as rte sts-b mrpc; `all`: those with files in --task-dir, but the intermediate one."""
    model: str
    """Model directory, run directory or name on the hub."""
    task_dir: Path
    """Directory with the folders of the benchmarks."""
    out: Path
    """Directory of the runs, to create or resume: OUT/TASK/seed=N, OUT/compared, OUT/intermediate, OUT/baselines,
    OUT/result.json, OUT/table.md, OUT/precision.json; with several jobs OUT/logs and OUT/failures."""
    recipes: RecipeSet = "paper"
    """Recipe of each task: `paper`, its row of the paper's table 14, for models of base size and up, or `small`, the
    one of an encoder of a few million parameters, such as sst-2-small."""
    baselines: bool = False
    """Also score a linear model of tf-idf features (scikit-learn), where the task has texts."""
    random_weights: bool = False
    """Also train the architecture of --model from random weights."""
    compare: tuple[str, ...] = ()
    """NAME=MODEL …: also train these models, such as initialization=START."""
    intermediate: str | None = None
    """Benchmark on which the model is fine-tuned first; every task starts from that encoder with a new head. The run is
    kept and used again as long as its settings and the model are the same. The paper: mnli, for rte, sts-b and mrpc."""
    seeds: int = Field(default=1, ge=1)
    """Number of seeds of each task, from 0; the paper reports the median of 5."""
    settings: tuple[str, ...] = ()
    """SETTING=VALUE …: settings of the recipes to change, in the runs on the tasks."""
    model_settings: tuple[str, ...] = ()
    """SETTING=VALUE …: the same in the runs of --model alone, not of the models that it is compared with, such as
    fit_duplicate_token_heads=if_pairs."""
    intermediate_settings: tuple[str, ...] = ()
    """SETTING=VALUE …: the same for the run on the intermediate task."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        named = [task for task in self.tasks if task != ALL_TASKS]
        for task in (*named, *([self.intermediate] if self.intermediate else [])):
            if "train" not in benchmark_task(task).splits:
                raise ValueError(f"tasks: {task} has no training data; remove it")
        if len({*self.tasks, self.intermediate}) <= len(self.tasks):
            raise ValueError("tasks: one is named twice, or is the intermediate task too; name each once")
        if self.intermediate_settings and self.intermediate is None:
            raise ValueError("intermediate_settings: there is no intermediate task; name it (--intermediate)")
        if self.intermediate is not None and (self.random_weights or self.compare):
            raise ValueError("intermediate: other models would start from another encoder; leave out the comparisons")
        for word in self.compare:
            name, _, model = word.partition("=")
            if not (name and model) or Path(name).name != name or name in (MODEL, RANDOM_WEIGHTS):
                raise ValueError(f"compare: {word!r}, expected NAME=MODEL, with a new name that can be a file's")
        if len(self._compared) < len(self.compare):
            raise ValueError("compare: a name is given twice; name each model once")
        seeded = {**_ARGUMENT_OF, "seed": "--seeds"}
        # Tuned thresholds would be compared, on the examples that chose them, with models that predict from 0.5.
        compared = dict.fromkeys(("data", "metrics", "tune_thresholds"), "--settings, for all models")
        validate_undecided("settings", _names(self.settings), decided=seeded)
        validate_undecided("model_settings", _names(self.model_settings), decided={**seeded, **compared})
        validate_undecided("intermediate_settings", _names(self.intermediate_settings), decided=_ARGUMENT_OF)
        return self

    def with_all_tasks(self) -> Self:
        """These settings with tasks in place of `all`: those with files in --task-dir, but the intermediate one."""
        tasks = with_all_tasks(self.tasks, (self.task_dir,), recipes=self.recipes, argument="--task-dir")
        others = tuple(task for task in tasks if task != self.intermediate)
        if not others:
            raise ConfigError(
                f"tasks: {self.task_dir} has the files of {self.intermediate} alone, the intermediate task; add those "
                "of others"
            )
        return self.replace(tasks=others)

    @property
    def model_names(self) -> tuple[str, ...]:
        """Names of the models in the table, `MODEL` last."""
        return (*([RANDOM_WEIGHTS] if self.random_weights else []), *self._compared, MODEL)

    @property
    def _compared(self) -> dict[str, str]:
        return {name: model for name, _, model in (word.partition("=") for word in self.compare)}

    def run_on(self, task: str, *, name: str, model: str, seed: int) -> FinetuneRun:
        """The run of one of the `model_names` on one of the tasks; `model` is that of `MODEL` and `RANDOM_WEIGHTS`."""
        given = {"model": self._compared.get(name, model), "from_scratch": name == RANDOM_WEIGHTS}
        own = self.model_settings if name == MODEL else ()
        return self._run(task, given, (*self.settings, *own, f"seed={seed}"))

    def directory_of(self, task: str, *, name: str, seed: int) -> Path:
        """The run directory."""
        parent = self.out if name == MODEL else self.out / "compared" / name
        return parent / task / f"seed={seed}"

    def run_on_intermediate(self, task: str) -> FinetuneRun:
        """The run on the intermediate task."""
        return self._run(task, {"model": self.model}, self.intermediate_settings)

    def _run(self, task: str, given: Mapping[str, Any], words: tuple[str, ...]) -> FinetuneRun:
        # Baselines are scored once for all seeds.
        common = {"baseline": False, "data": {"task": task, "directory": str(self.task_dir)}}
        return load_finetune_config(recipe_of_task(task, self.recipes), words, given={**given, **common})


def _names(words: Iterable[str]) -> list[str]:
    """The settings that words `name=value` change."""
    return [word.partition("=")[0] for word in words]
