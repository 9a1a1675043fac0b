"""The settings of `litebert finetune-tasks`. Imports no torch, so that wrong settings are refused at once."""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from litebert.commands.finetune.finetune_settings import FinetuneRun, load_finetune_config
from litebert.settings import Settings
from litebert.tasks.benchmarks.benchmarks import benchmark_task


class FinetuneTasksRun(Settings):
    """Several benchmarks, fine-tuned with their recipes from one model, directly or after an intermediate task."""

    tasks: tuple[str, ...] = Field(min_length=1)
    """Benchmarks, such as rte sts-b mrpc; each has the recipe of its name, its row of the paper's table 14."""
    model: str
    """Model directory, run directory or name on the hub."""
    task_dir: Path
    """Directory with the folders of the benchmarks."""
    out: Path
    """Directory of the runs, to create or resume: OUT/TASK/seed=N, OUT/intermediate, OUT/result.json."""
    intermediate: str | None = None
    """Benchmark on which the model is fine-tuned first; every task starts from that encoder with a new head. The run is
    kept and used again as long as its settings and the model are the same. The paper: mnli, for rte, sts-b and mrpc."""
    seeds: int = Field(default=1, ge=1)
    """Number of seeds of each task, from 0; the paper reports the median of 5."""
    settings: tuple[str, ...] = ()
    """SETTING=VALUE …: settings of the recipes to change, in the runs on the tasks."""
    intermediate_settings: tuple[str, ...] = ()
    """SETTING=VALUE …: the same for the run on the intermediate task."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for task in (*self.tasks, *([self.intermediate] if self.intermediate else [])):
            if "train" not in benchmark_task(task).splits:
                raise ValueError(f"tasks: {task} has no training data; remove it")
        if len({*self.tasks, self.intermediate}) <= len(self.tasks):
            raise ValueError("tasks: one is named twice, or is the intermediate task too; name each once")
        if self.intermediate_settings and self.intermediate is None:
            raise ValueError("intermediate_settings: there is no intermediate task; name it (--intermediate)")
        if any(word.startswith("seed=") for word in self.settings):
            raise ValueError("settings: the seeds are those of --seeds; remove seed=")
        return self

    def run_on(self, task: str, *, model: str, seed: int) -> FinetuneRun:
        """The run on one of the tasks."""
        return self._run(task, model, (*self.settings, f"seed={seed}"))

    def run_on_intermediate(self, task: str) -> FinetuneRun:
        """The run on the intermediate task."""
        return self._run(task, self.model, self.intermediate_settings)

    def _run(self, task: str, model: str, words: tuple[str, ...]) -> FinetuneRun:
        data = {"task": task, "directory": str(self.task_dir)}
        return load_finetune_config(task, words, given={"model": model, "data": data, "baseline": False})
