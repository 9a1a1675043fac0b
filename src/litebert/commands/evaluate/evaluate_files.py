"""The evaluation of a fine-tuned model on many labelled files, each with scores of its own."""

from pathlib import Path

from litebert.commands.data_arguments import FileExamples, SlicedColumnArguments
from litebert.commands.evaluate.evaluate_labelled import LabelledExamples
from litebert.commands.evaluate.evaluate_result import ScoresOfFiles
from litebert.commands.evaluate.evaluate_settings import EvaluateRun, FilePattern
from litebert.commands.fingerprint import fingerprint_of
from litebert.commands.many_files.file_arguments import FileArguments
from litebert.commands.many_files.file_workers import FileJob, file_tasks, with_kept_precision, write_files
from litebert.commands.model_loading.loaded_pipeline import load_pipeline
from litebert.files import write_json
from litebert.inference.task_pipeline import TaskPipeline
from litebert.tasks.file_formats import validate_columns_apply
from litebert.tasks.labelled_data import UnlabelledRows
from litebert.tasks.metrics.evaluation import Evaluation


class FileEvaluation(FileArguments):
    """The evaluation of a labelled file; the output is a JSON file with its scores."""

    columns: SlicedColumnArguments
    unlabelled_rows: UnlabelledRows
    metrics: tuple[str, ...]


def evaluate_files(run: EvaluateRun, files: FilePattern) -> ScoresOfFiles:
    """Score every file that matches the pattern, each in a JSON file below the output."""
    validate_columns_apply(run.columns.to_columns(), files.pattern)
    each = FileEvaluation(
        model=run.model,
        input=files.pattern,
        output=files.output,
        files=run.files,
        columns=run.columns,
        unlabelled_rows=run.unlabelled_rows,
        metrics=run.metrics,
        precision=run.precision,
        device=run.device,
        threads=run.threads,
    )
    tasks = file_tasks(files.pattern, files.output, lambda path: f"{path.name}.json")
    job = FileJob(run=with_kept_precision(each), load=_load, work=_evaluate_file, fingerprint=_fingerprint)
    return ScoresOfFiles(write_files(tasks, job))


def _load(run: FileEvaluation) -> TaskPipeline:
    return load_pipeline(Path(run.model), run)


def _evaluate_file(run: FileEvaluation, pipeline: TaskPipeline) -> Evaluation:
    options = {"metrics": run.metrics, "unlabelled_rows": run.unlabelled_rows}
    file = FileExamples(run.input, run.columns.to_columns())
    evaluation = LabelledExamples.read(Path(run.model), file, pipeline=pipeline, **options).score(pipeline)
    write_json(run.output, evaluation.to_dict())
    return evaluation


def _fingerprint(run: FileEvaluation) -> str:
    """Of complete scores, which stay when the same command runs on another device."""
    settings = run.model_dump(exclude={"model", "input", "output", "files", "device"})
    return fingerprint_of(settings, inputs=[run.input], models=[Path(run.model)])
