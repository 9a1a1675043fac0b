"""Fine-tuning on several benchmarks, each from the encoder of one intermediate task, such as MNLI."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.finetune_tasks.finetune_tasks_settings import FinetuneTasksRun
from litebert.commands.fingerprint import fingerprint_of
from litebert.commands.result import Result
from litebert.commands.run_directory import deciding_settings
from litebert.commands.sweep.trial_results import SeedStatistics, statistics_of
from litebert.model.io.hub import existing_or_from_hub, resolve_model_directory
from litebert.training.callbacks.callback import Callback

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FinetuneTasksResult(Result):
    """The scores of the best models of all runs."""

    out: Path
    intermediate: Path | None
    """Run directory of the intermediate task."""
    scores: dict[str, dict[str, SeedStatistics]]
    """Task → metric → statistics over the seeds."""

    def to_text(self) -> str:
        """A line for each task."""
        lines = [f"intermediate task: {self.intermediate}"] if self.intermediate else []
        for task, metrics in self.scores.items():
            lines.append(f"{task}: {'; '.join(f'{name} {each.to_text()}' for name, each in metrics.items())}")
        return "\n".join([*lines, f"runs: {self.out}"])


def finetune_tasks(run: FinetuneTasksRun, *, callbacks: Sequence[Callback] = ()) -> FinetuneTasksResult:
    """Fine-tune on the intermediate task, if there is one, then on each task with each seed.

    The same call resumes; finished runs are not trained again.
    """
    for task in run.tasks:
        run.run_on(task, model=run.model, seed=0)  # wrong settings are refused before hours of training
    intermediate = _on_intermediate(run, run.intermediate, callbacks) if run.intermediate else None
    start = str(intermediate or run.model)
    scores = {}
    for task in run.tasks:
        found = []
        for seed in range(run.seeds):
            logger.info("%s, seed %d: starts from %s", task, seed, start)
            settings = run.run_on(task, model=start, seed=seed)
            best = finetune(settings, run.out / task / f"seed={seed}", callbacks=callbacks).best
            found.append(best["metrics"])
        scores[task] = {name: statistics_of([each[name] for each in found]) for name in found[0]}
    result = FinetuneTasksResult(run.out, intermediate, scores)
    result.write(run.out / "result.json")
    return result


def _on_intermediate(run: FinetuneTasksRun, task: str, callbacks: Sequence[Callback]) -> Path:
    """The run directory of the intermediate task, named by a hash of the model and of the settings of the run."""
    settings = run.run_on_intermediate(task)
    model = resolve_model_directory(existing_or_from_hub(Path(run.model)))
    directory = run.out / "intermediate" / f"{task}-{fingerprint_of([], [model], _numeric(settings))[:8]}"
    finetune(settings, directory, callbacks=callbacks)
    return directory


def _numeric(run: FinetuneRun) -> dict[str, Any]:
    """The settings that decide on the weights; the content of the model stands for its path."""
    values = deciding_settings(run.to_dict())
    kept = {name: value for name, value in values.items() if name not in ("model", "compute", "card", "baseline")}
    return {**kept, "data": run.data.to_dict() | {"directory": None}}
