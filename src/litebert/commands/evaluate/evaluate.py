"""Evaluation: of a pretrained model on validation text or minimal pairs, of others on labelled data."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from litebert.commands.data_arguments import files_by_split
from litebert.commands.evaluate.evaluate_labelled import (
    BenchmarkExamples,
    LabelledExamples,
    validate_examples_exist,
)
from litebert.commands.evaluate.evaluate_predictions import evaluate_predictions
from litebert.commands.evaluate.evaluate_pretrained import evaluate_pretraining, evaluate_suite
from litebert.commands.evaluate.evaluate_result import FullScores, ScoresByPrecision, ScoresOfFiles
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.commands.fingerprint import fingerprint_of
from litebert.commands.many_files.file_workers import (
    FileJob,
    file_tasks,
    is_pattern,
    with_kept_precision,
    write_files,
)
from litebert.commands.model_arguments import set_threads
from litebert.commands.result import Result
from litebert.device import resolve_device, usable_device
from litebert.files import write_json
from litebert.inference.pipeline import Pipeline
from litebert.model.io.hub import model_directory
from litebert.tasks.metrics.evaluation import Evaluation
from litebert.tasks.prediction_files.prediction_rows import is_prediction_file
from litebert.tasks.read_labelled import validate_columns_apply


def evaluate(run: EvaluateRun) -> Result:
    """The scores of a model or of a prediction file."""
    if is_prediction_file(run.model):
        return evaluate_predictions(run)
    files, columns = files_by_split(run.split_file), run.columns.to_columns()
    if run.data is not None:
        validate_columns_apply(columns, run.data)
    validate_examples_exist(run.data, run.task, run.task_dir, files)  # before a model is loaded
    model = model_directory(run.model)
    run = run.replace(model=str(model), device=resolve_device(run.device, run.precision))
    set_threads(run.threads)
    if run.suite is not None:
        return evaluate_suite(run, model, run.suite)
    if run.corpus is not None:
        return FullScores(evaluate_pretraining(run, model, run.corpus))
    if run.data is not None and is_pattern(run.data):
        return _evaluate_files(run)
    if run.data is not None:
        return _beside_fp32(run, partial(LabelledExamples.read, model, run.data, columns, **_reading(run)))
    assert run.task is not None
    assert run.task_dir is not None
    options = {"files": files, "metrics": run.metrics, "decision": run.decision}
    return _beside_fp32(run, partial(BenchmarkExamples.read, model, run.task, run.task_dir, **options))


def _reading(run: EvaluateRun) -> dict[str, Any]:
    """Arguments of `LabelledExamples.read` for one file or each of several."""
    return {"metrics": run.metrics, "unlabelled_rows": run.unlabelled_rows}


def _beside_fp32(run: EvaluateRun, read: Callable[..., LabelledExamples | BenchmarkExamples]) -> Result:
    """The scores in fp32 and, by precision, in another one that is asked for.

    With `auto` they are by precision too if fp32 is the fastest: programs that read them must not depend on a timing.
    """
    pipeline = _load(run)
    examples = read(pipeline=pipeline)
    if run.precision == "fp32":
        return FullScores(examples.score(pipeline, report=run.report))
    precision, in_fp32 = pipeline.precision, replace(pipeline, precision="fp32")
    scores = {"fp32": FullScores(examples.score(in_fp32, report=run.report if precision == "fp32" else None))}
    if precision != "fp32":
        scores[precision] = FullScores(examples.score(pipeline, report=run.report))
    return ScoresByPrecision(scores)


def _load(run: EvaluateRun) -> Pipeline:
    """The fine-tuned model in the directory `run.model`."""
    device = usable_device(run.device, run.precision)
    return Pipeline.load(Path(run.model), device=device, precision=run.precision)


def _evaluate_files(run: EvaluateRun) -> ScoresOfFiles:
    """Score every file that matches `run.data`, each in a JSON file below `run.output`."""
    assert run.data is not None
    assert run.output is not None
    tasks = file_tasks(run.data, run.output, lambda path: f"{path.name}.json")
    kept = with_kept_precision(run, run.output)
    job = FileJob(run=kept, input_field="data", load=_load, work=_evaluate_one, fingerprint=_fingerprint)
    return ScoresOfFiles(write_files(tasks, job, run.output, run.files))


def _evaluate_one(run: EvaluateRun, pipeline: Pipeline) -> Evaluation:
    assert run.data is not None
    assert run.output is not None
    columns = run.columns.to_columns()
    examples = LabelledExamples.read(Path(run.model), run.data, columns, **_reading(run), pipeline=pipeline)
    evaluation = examples.score(pipeline)
    write_json(Path(run.output), evaluation.to_dict())
    return evaluation


def _fingerprint(run: EvaluateRun) -> str:
    """Of complete scores, which stay when the same command runs on another device."""
    assert run.data is not None
    settings = run.model_dump(exclude={"model", "data", "output", "files", "device"})
    return fingerprint_of(settings, inputs=[run.data], models=[Path(run.model)])
