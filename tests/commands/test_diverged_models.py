"""Models whose outputs are not finite have no predictions and no scores."""

import math

import pytest
import torch

from litebert.commands.compare.compare import compare
from litebert.commands.compare.compare_settings import CompareRun
from litebert.errors import NotFiniteError
from litebert.inference.evaluation_set import EvaluationSet
from litebert.inference.pipeline import Pipeline
from litebert.inference.predictor import Predictor
from litebert.model.io.model_directory import load_model, save_model
from litebert.tasks.readers.columns import Columns
from litebert.tasks.task_of_data import task_for
from support.data.labelled_files import write_opinions
from support.models.saved_models import save_models
from support.runs.prediction_commands import evaluate_file, run_ensemble, run_predict

CALLS = {
    "classifier": lambda model: model.classify(["a film"]),
    "regressor": lambda model: model.regress(["a film"]),
    "several": lambda model: model.classify_multi_label(["a film"]),
    "chooser": lambda model: model.multiple_choice([("a film", None, ["good", "bad"])]),
    "tagger": lambda model: model.classify_tokens([["a", "film"]]),
    "reader": lambda model: model.answer("what", "a film"),
    "doubter": lambda model: model.answer("what", "a film"),
}
"""A prediction of each task type."""


@pytest.fixture(scope="module")
def saved(tiny_tokenizer, small_config, tmp_path_factory):
    config = small_config.replace(num_hidden_layers=1, max_position_embeddings=48)
    return save_models(tmp_path_factory.mktemp("models"), tiny_tokenizer, config)


def fill_head(predictor, value):
    """Replace the weights of the head, as a run that has diverged leaves them."""
    with torch.no_grad():
        for name in predictor.backend.task_type.head:
            for parameter in predictor.backend.model.get_submodule(name).parameters():
                parameter.fill_(value)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("name", CALLS)
def test_model_with_a_diverged_head_predicts_nothing(saved, name, value):
    predictor = Predictor.load(saved[name])
    CALLS[name](predictor)
    fill_head(predictor, value)
    with pytest.raises(NotFiniteError, match=rf"{name}: scores that are not finite; its weights have diverged, or"):
        CALLS[name](predictor)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("masked", lambda model: model.fill_mask("a [MASK] film")),
        ("embedder", lambda model: model.embed(["a film"])),
        ("classifier", lambda model: model.embed(["a film"])),
    ],
)
def test_encoder_that_has_diverged_fills_no_mask_and_has_no_vector(saved, name, use):
    predictor = Predictor.load(saved[name])
    use(predictor)
    with torch.no_grad():
        for parameter in predictor.backend.model.encoder.parameters():
            parameter.fill_(math.nan)
    with pytest.raises(NotFiniteError, match=rf"{name}: scores that are not finite; its weights have diverged"):
        use(predictor)


@pytest.fixture
def diverged(saved, tiny_tokenizer, tmp_path):
    """A classifier that has diverged, and one that has not."""
    directories = []
    for name, value in (("diverged", math.nan), ("finite", 0.1)):
        model = load_model(saved["classifier"])
        torch.nn.init.constant_(model.classifier.bias, value)
        labels = {"labels": ("bad", "fair", "good"), "problem_type": "single_label_classification"}
        directories.append(save_model(model, tmp_path / name, extra_files=tiny_tokenizer.files(), **labels))
    return directories


COMMANDS = {
    "evaluate": lambda models, rows: evaluate_file(models[0], rows, metrics=["accuracy", "roc_auc"]),
    "predict": lambda models, rows: run_predict(models[0], rows, rows.with_name("out.csv")),
    "compare": lambda models, rows: compare(
        CompareRun(models=(str(models[1]),), baseline=(str(models[0]),), data=rows)
    ),
    "ensemble": lambda models, rows: run_ensemble(models, rows),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_refuse_a_model_that_has_diverged(diverged, tmp_path, command):
    with pytest.raises(NotFiniteError, match=r"diverged: scores that are not finite"):
        COMMANDS[command](diverged, write_opinions(tmp_path / "rows.csv"))


def test_undefined_evaluation_has_every_metric_and_no_scores(diverged, tmp_path):
    pipeline = Pipeline.load(diverged[1])
    data = pipeline.labelled_data(write_opinions(tmp_path / "rows.csv"), Columns())
    examples = EvaluationSet.prepare(data, task_for(data, Columns(), ["accuracy", "roc_auc"]), pipeline)
    assert examples.undefined.metrics.keys() == examples.score(pipeline).evaluation.metrics.keys()
    assert examples.undefined.examples == len(data.examples)
    assert not examples.undefined.has_scores
    assert examples.score(pipeline).evaluation.has_scores
