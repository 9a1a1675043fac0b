"""One cell in a process of its own: `python -m litebert.commands.reproduce.worker JOB.json`.

The result is written last, as one JSON file; a process that was killed before is started again and resumes its run.
"""

import json
import logging
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from litebert.analysis.curves import read_curves
from litebert.commands.analyze.layer_analysis import layer_transitions
from litebert.commands.ensemble.ensemble import ensemble
from litebert.commands.ensemble.ensemble_settings import EnsembleRun
from litebert.commands.finetune.comparison import scores_of_baseline
from litebert.commands.finetune.data.run_data import read_data
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.runs.run_directory import RunDirectory
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.errors import CheckpointError, LitebertError, StoppedBySignalError
from litebert.files import finite, locked, write_json
from litebert.logs import log_to_stderr
from litebert.machine import environment
from litebert.model.io.model_directory import load_model
from litebert.model.model_stats import parameter_counts
from litebert.tasks.metrics.metrics import METRICS
from litebert.training.callbacks.progress_display import LogDisplay
from litebert.training.callbacks.stop_with_parent import StopWithParent

logger = logging.getLogger(__name__)

LOCK_SECONDS = 60
"""How long to wait for the worker of a scheduler that was killed to notice it and to save its state."""
LAYER_EXAMPLES = 64


@dataclass(frozen=True)
class Job:
    """A cell and the paths that it reads and writes."""

    key: str
    kind: str
    settings: dict[str, Any]
    models: list[str]
    """Run directories of the cells that it needs."""
    run: str
    """Its own run directory."""
    corpus: str
    result: str


def run_job(job: Job) -> None:
    """Run the cell and write its result; waits for another worker of the same cell to end.

    Raises CheckpointError if it does not end within `LOCK_SECONDS`.
    """
    busy = CheckpointError(
        f"{job.run}: another worker still writes to it after {LOCK_SECONDS} seconds; once it has ended, run the same "
        "command again"
    )
    with locked(Path(job.run).with_suffix(".lock"), busy=busy, timeout=LOCK_SECONDS):
        _run_job(job)


def _run_job(job: Job) -> None:
    started = time.perf_counter()
    values = RUNNERS[job.kind](job)
    about = {name: value for name, value in environment().items() if name in ("commit", "processor", "packages")}
    seconds = round(time.perf_counter() - started, 1)
    record = {"key": job.key, "kind": job.kind, **values, "seconds": seconds, "date": date.today().isoformat(), **about}
    write_json(Path(job.result), finite(record))


def _pretrain(job: Job) -> dict[str, Any]:
    start = {"init_checkpoint": str(Path(job.models[0]) / "model")} if job.models else {}
    run = PretrainRun.parse({**job.settings, **start}, where=job.key)
    result = pretrain(run, Path(job.run), callbacks=[LogDisplay(), StopWithParent()])
    shutil.rmtree(Path(job.run) / "checkpoints", ignore_errors=True)
    scores = result.end
    curve = read_curves(RunDirectory(Path(job.run)).metrics).get("evaluation/mlm_accuracy")
    metrics: dict[str, float] = {"parameters": parameter_counts(run.model).pretraining}
    metrics["tokens_per_second"] = result.tokens_per_second
    if result.start is not None:
        metrics["initial_mlm_accuracy"] = 100 * result.start.mlm_accuracy
    if scores is not None:
        metrics |= {"mlm_accuracy": 100 * scores.mlm_accuracy, "mlm_loss": scores.mlm_loss}
        metrics |= {f"{name}_accuracy": 100 * pairs.accuracy for name, pairs in scores.sentence_pairs.items()}
        if scores.clm_accuracy is not None and scores.clm_loss is not None:
            metrics |= {"clm_accuracy": 100 * scores.clm_accuracy, "clm_loss": scores.clm_loss}
    points = list(zip(curve.steps, curve.values, strict=True)) if curve else []
    return {"metrics": metrics, "tokens": result.tokens, "steps": result.steps, "curve": points}


def _finetune(job: Job) -> dict[str, Any]:
    # They are cells of their own.
    settings = {**job.settings, "model": str(Path(job.models[0]) / "model"), "baseline": False}
    run = FinetuneRun.parse(settings, where=job.key)
    result = finetune(run, Path(job.run), callbacks=[LogDisplay(), StopWithParent()])
    shutil.rmtree(Path(job.run) / "checkpoints", ignore_errors=True)
    return {"metrics": percent(result.scores), "examples": result.best.evaluation.examples}


def _baseline(job: Job) -> dict[str, Any]:
    """Without metrics for a task that has no such baseline, such as question answering."""
    data = read_data(FinetuneRun.parse(job.settings["run"], where=job.key))
    metrics = percent(scores_of_baseline(job.settings["baseline"], data))
    return {"metrics": metrics, "examples": len(data.dev.examples)}


def _ensemble(job: Job) -> dict[str, Any]:
    run = EnsembleRun(members=tuple(job.models), task=job.settings["task"], task_dir=Path(job.settings["task_dir"]))
    score = ensemble(run).score
    assert score is not None  # a benchmark's development file has labels
    return {"metrics": percent(score.evaluation.metrics), "examples": score.evaluation.examples}


def _layers(job: Job) -> dict[str, Any]:
    model = load_model(Path(job.models[0]) / "model")
    corpus = Corpus.open(Path(job.corpus), "validation")
    run = PretrainRun.parse(job.settings, where=job.key)
    sizes = {"batch_size": LAYER_EXAMPLES, "microbatch_size": LAYER_EXAMPLES}
    batches = PretrainBatches(corpus, run.sampling.replace(packing=False), seed=run.seed, **sizes)
    transitions = layer_transitions(model, batches)
    distances, angles = list(transitions.distances), list(transitions.angles)
    metrics = {"distance_variation": variation(distances), "angle_variation": variation(angles)}
    return {"metrics": metrics, "distances": distances, "angles": angles}


RUNNERS: dict[str, Callable[[Job], dict[str, Any]]] = {
    "pretrain": _pretrain,
    "finetune": _finetune,
    "ensemble": _ensemble,
    "layers": _layers,
    "baseline": _baseline,
}


def variation(values: Sequence[float]) -> float:
    """Mean absolute difference of successive values, relative to their mean: 0 for a constant or one value."""
    return float(np.abs(np.diff(values)).mean() / np.mean(values)) if len(values) > 1 else 0.0


def percent(metrics: Mapping[str, float]) -> dict[str, float]:
    """The scores of a task in percent, without what else an evaluation holds, such as thresholds."""
    return {name: METRICS[name].to_percent(value) for name, value in metrics.items() if name in METRICS}


def main() -> int:
    """Run the job in the file that the first argument names."""
    log_to_stderr()
    job = Job(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    try:
        run_job(job)
    except StoppedBySignalError as stopped:
        return stopped.exit_code
    except LitebertError as error:
        logger.error("%s: %s", job.key, error)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
