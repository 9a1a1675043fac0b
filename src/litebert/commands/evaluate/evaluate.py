"""Evaluation: of a pretrained model on validation text or minimal pairs, of a fine-tuned one on labelled data."""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from litebert.commands.data_arguments import files_by_split
from litebert.commands.evaluate.evaluate_labelled import (
    evaluate_benchmark,
    evaluate_labelled,
    load_pipeline,
    validate_examples_exist,
)
from litebert.commands.evaluate.evaluate_pretrained import evaluate_pretraining, evaluate_suite
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.commands.fingerprint import fingerprint_of
from litebert.commands.many_files.file_workers import (
    FileJob,
    FilesWritten,
    file_tasks,
    is_pattern,
    with_kept_precision,
    write_files,
)
from litebert.files import write_json
from litebert.inference.pipeline import Pipeline
from litebert.model.io.hub import model_directory
from litebert.tasks.metrics.evaluation import Evaluation
from litebert.tasks.read_labelled import validate_columns_apply
from litebert.training.distributed.context import DistributedContext


def evaluate(run: EvaluateRun) -> tuple[dict[str, Any], str]:
    """The scores, as JSON values and as text."""
    files, columns = files_by_split(run.split_file), run.columns.to_columns()
    if run.data is not None:
        validate_columns_apply(asdict(columns), run.data)
    validate_examples_exist(run.data, run.task, run.task_dir, files)  # before a model is loaded
    model = model_directory(run.model)
    run = run.replace(model=str(model))
    if run.suite is not None:
        pairs = evaluate_suite(run, model, run.suite)
        return pairs.to_dict(), pairs.to_text()
    if run.corpus is not None:
        scores = evaluate_pretraining(run, model, run.corpus)
        return scores.to_dict(), scores.to_report()
    if run.data is not None and is_pattern(run.data):
        written = evaluate_files(run)
        return written.to_dict(), "\n".join([written.to_text(), *map(_line, written.results.items())])
    if run.data is not None:
        return _beside_fp32(run, partial(evaluate_labelled, model, run.data, columns, **_reading(run)))
    assert run.task is not None
    assert run.task_dir is not None
    options = {"files": files, "metrics": run.metrics, "decision": run.decision}
    benchmark = partial(evaluate_benchmark, model, run.task, run.task_dir, **options)
    return _beside_fp32(run, benchmark)


def _reading(run: EvaluateRun) -> dict[str, Any]:
    """Arguments of `evaluate_labelled` for one file or each of several."""
    return {"metrics": run.metrics, "unlabelled_rows": run.unlabelled_rows}


def _beside_fp32(run: EvaluateRun, score: Callable[..., Any]) -> tuple[dict[str, Any], str]:
    """The scores in fp32 and, by precision, in another one that is asked for.

    With `auto` they are by precision too if fp32 is the fastest: programs that read them must not depend on a timing.
    """
    pipeline = load_pipeline(Path(run.model), run.precision)
    if run.precision == "fp32":
        result = score(pipeline=pipeline, report=run.report)
        return result.to_dict(), result.to_report()
    precision = pipeline.precision
    in_fp32 = replace(pipeline, precision="fp32")
    results = {"fp32": score(pipeline=in_fp32, report=run.report if precision == "fp32" else None)}
    if precision != "fp32":
        results[precision] = score(pipeline=pipeline, report=run.report)
    values = {precision: result.to_dict() for precision, result in results.items()}
    return values, "\n".join(f"{precision}: {result.to_report()}" for precision, result in results.items())


def _line(result: tuple[str, dict[str, Any]]) -> str:
    """The metrics of one of several files."""
    name, scores = result
    metrics = ", ".join(f"{metric} {value:.4f}" for metric, value in scores["metrics"].items())
    return f"  {name.removesuffix('.json')}: {metrics} on {scores['examples']:,} examples"


def evaluate_files(run: EvaluateRun) -> FilesWritten:
    """Score every file that matches `run.data`, each in a JSON file below `run.output`."""
    assert run.data is not None
    assert run.output is not None
    tasks = file_tasks(run.data, run.output, lambda path: f"{path.name}.json")
    kept = with_kept_precision(run, run.output, lambda: str(DistributedContext.current().device))
    job = FileJob(run=kept, input_field="data", load=_load, work=_evaluate_one, fingerprint=_fingerprint)
    return write_files(tasks, job, run.output, run.files)


def _load(run: EvaluateRun) -> Pipeline:
    return load_pipeline(Path(run.model), run.precision)


def _evaluate_one(run: EvaluateRun, pipeline: Pipeline) -> Evaluation:
    assert run.data is not None
    assert run.output is not None
    columns = run.columns.to_columns()
    evaluation = evaluate_labelled(Path(run.model), run.data, columns, **_reading(run), pipeline=pipeline)
    write_json(Path(run.output), evaluation.to_dict())
    return evaluation


def _fingerprint(run: EvaluateRun) -> str:
    assert run.data is not None
    settings = run.model_dump(exclude={"model", "data", "output", "files"})
    return fingerprint_of(settings, inputs=[run.data], models=[Path(run.model)])
