"""Evaluation: of a pretrained model on validation text or minimal pairs, of others on labelled data."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from litebert.commands.data_arguments import FileExamples
from litebert.commands.evaluate.evaluate_files import evaluate_files
from litebert.commands.evaluate.evaluate_labelled import (
    BenchmarkExamples,
    LabelledExamples,
    validate_file_exists,
    validate_splits_exist,
)
from litebert.commands.evaluate.evaluate_predictions import evaluate_predictions
from litebert.commands.evaluate.evaluate_pretrained import evaluate_pretraining, evaluate_suite
from litebert.commands.evaluate.evaluate_result import FullScores, ScoresByPrecision
from litebert.commands.evaluate.evaluate_settings import (
    DevelopmentSplits,
    EvaluateRun,
    FilePattern,
    MinimalPairFiles,
    ValidationText,
)
from litebert.commands.model_arguments import set_threads
from litebert.commands.model_loading.loaded_pipeline import device_of, load_pipeline
from litebert.commands.result import Result
from litebert.model.io.hub import model_directory
from litebert.tasks.prediction_files.prediction_rows import is_prediction_file


def evaluate(run: EvaluateRun) -> Result:
    """The scores of a model or of a prediction file."""
    source = run.source
    if isinstance(source, FileExamples | DevelopmentSplits) and is_prediction_file(run.model):
        return evaluate_predictions(run, source)
    match source:  # before a model is loaded
        case FileExamples():
            validate_file_exists(source)
        case DevelopmentSplits():
            validate_splits_exist(source)
    model = model_directory(run.model)
    run = run.replace(model=str(model), device=device_of(model, run))
    set_threads(run.threads)
    match source:
        case MinimalPairFiles():
            return evaluate_suite(run, model, source)
        case ValidationText():
            return FullScores(evaluate_pretraining(run, model, source.corpus))
        case FilePattern():
            return evaluate_files(run, source)
        case FileExamples():
            options = {"metrics": run.metrics, "unlabelled_rows": run.unlabelled_rows}
            return _beside_fp32(run, partial(LabelledExamples.read, model, source, **options))
        case DevelopmentSplits():
            options = {"metrics": run.metrics, "decision": run.decision}
            return _beside_fp32(run, partial(BenchmarkExamples.read, model, source, **options))


def _beside_fp32(run: EvaluateRun, read: Callable[..., LabelledExamples | BenchmarkExamples]) -> Result:
    """The scores in fp32 and, by precision, in another one that is asked for; an export may have no graph in fp32.

    With `auto` they are by precision too if fp32 is the fastest: programs that read them must not depend on a timing.
    """
    pipeline = load_pipeline(Path(run.model), run)
    examples = read(pipeline=pipeline)
    if run.precision == "fp32":
        return FullScores(examples.score(pipeline, report=run.report))
    precision, in_fp32 = pipeline.precision, pipeline.in_fp32()
    scores = {}
    if in_fp32 is not None:
        scores["fp32"] = FullScores(examples.score(in_fp32, report=run.report if precision == "fp32" else None))
    if precision != "fp32":
        scores[precision] = FullScores(examples.score(pipeline, report=run.report))
    return ScoresByPrecision(scores)
