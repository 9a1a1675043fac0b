"""Commands on fine-tuned models, called with few arguments."""

from dataclasses import asdict

from litebert.commands.data_arguments import FileExamples, SlicedColumnArguments
from litebert.commands.ensemble.ensemble import ensemble
from litebert.commands.ensemble.ensemble_settings import EnsembleRun
from litebert.commands.evaluate.evaluate_labelled import BenchmarkExamples, LabelledExamples
from litebert.commands.evaluate.evaluate_settings import DevelopmentSplits
from litebert.commands.glue_submission.glue_submission import glue_submission
from litebert.commands.glue_submission.glue_submission_settings import GlueSubmissionRun
from litebert.commands.predict.predict import predict
from litebert.commands.predict.predict_settings import PredictRun
from litebert.device import usable_device
from litebert.inference.pipeline import Pipeline
from litebert.model.io.hub import model_directory
from litebert.tasks.readers.columns import Columns


def load_pipeline(model):
    return Pipeline.load(model_directory(model), device=usable_device("auto", "fp32"))


def evaluate_file(model, file, columns=None, **options):
    """The scores on a labelled file, in fp32."""
    pipeline = load_pipeline(model)
    examples = FileExamples(file, columns or Columns())
    return LabelledExamples.read(model, examples, pipeline=pipeline, **options).score(pipeline)


def evaluate_task(model, name, directory, *, report=None, files=None, **options):
    """The scores on a benchmark, in fp32."""
    pipeline, splits = load_pipeline(model), DevelopmentSplits(name, directory, files or {})
    return BenchmarkExamples.read(model, splits, pipeline=pipeline, **options).score(pipeline, report=report)


def run_ensemble(members, data, columns=None, *, split=None, **options):
    """An ensemble on a file, or with a `BenchmarkSplit` on the directory of a benchmark."""
    if columns is not None:
        options["columns"] = SlicedColumnArguments(**{k: v for k, v in asdict(columns).items() if k != "group"})
    if split is None:
        return ensemble(EnsembleRun(members=tuple(map(str, members)), data=data, **options))
    file = {"split_file": f"{split.split}={split.file}"} if split.file else {"split": split.split}
    return ensemble(EnsembleRun(members=tuple(map(str, members)), task=split.task, task_dir=data, **file, **options))


def run_predict(model, source, output, **options):
    return predict(PredictRun(model=str(model), input=source, output=output, **options))


def predict_split(model, split, directory, output):
    return run_predict(model, directory, output, task=split.task, split=split.split)


def run_submission(models, directory, out, *, files=(), own=()):
    """A submission of models by task and of existing files."""
    predictions = [f"{task}={path}" for task, paths in models.items() for path in paths]
    split_file = tuple(f"{each.task}.{each.split}={each.file}" for each in own)
    predictions += map(str, files)
    run = GlueSubmissionRun(predictions=tuple(predictions), task_dir=directory, out=out, split_file=split_file)
    return glue_submission(run)
