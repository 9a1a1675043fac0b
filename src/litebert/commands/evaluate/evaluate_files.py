"""The evaluation of a fine-tuned model on each of many labelled files."""

from dataclasses import asdict
from pathlib import Path

from litebert.commands.evaluate.evaluate_labelled import evaluate_file, load_pipeline
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.commands.many_files.file_workers import FileJob, FilesWritten, file_tasks, write_files
from litebert.commands.predict.predict_stream import fingerprint_of
from litebert.files import write_json
from litebert.inference.pipeline import Pipeline
from litebert.model.io.resolve import resolve_model_directory
from litebert.tasks.metrics.evaluation import Evaluation
from litebert.tasks.read_labelled import validate_columns_apply


def evaluate_files(run: EvaluateRun) -> FilesWritten:
    """Score every file that matches `run.data`, each in a JSON file below `run.output`."""
    assert run.data is not None
    assert run.output is not None
    tasks = file_tasks(run.data, run.output, lambda path: f"{path.name}.json")
    job = FileJob(run=run, input_field="data", load=_load, work=_evaluate, digest=_digest)
    return write_files(tasks, job, run.output, run.files)


def _load(run: EvaluateRun) -> Pipeline:
    return load_pipeline(resolve_model_directory(run.model), run.precision)


def _evaluate(run: EvaluateRun, pipeline: Pipeline) -> Evaluation:
    assert run.data is not None
    assert run.output is not None
    columns = run.columns.to_columns()
    validate_columns_apply(asdict(columns), run.data)
    model = resolve_model_directory(run.model)
    evaluation = evaluate_file(pipeline, model, run.data, columns, metrics=run.metrics)
    write_json(Path(run.output), evaluation.to_dict())
    return evaluation


def _digest(run: EvaluateRun) -> str:
    assert run.data is not None
    settings = run.model_dump(include={"columns", "metrics", "threads"})
    return fingerprint_of([run.data], [resolve_model_directory(run.model)], settings)
