"""Calibration: the temperature is that of the lowest cross-entropy, and stored in the weights of the head."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.commands.evaluate.evaluate import evaluate
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.commands.finetune.best_evaluation import BestEvaluation
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.finetune.postprocessing.calibration import HIGHEST, LOWEST, calibrated, fitted_temperature
from litebert.errors import ConfigError
from litebert.inference.pipeline import Pipeline
from litebert.model.io.model_directory import load_model
from litebert.tasks.readers.columns import Columns
from litebert.tasks.results import softmax
from support.data.labelled_files import write_opinions
from support.models.tolerances import tolerance
from support.runs.callbacks import KilledError, killer
from support.runs.tiny_runs import opinions_run, save_pretrained


def cross_entropy(probabilities, targets):
    return -np.log(probabilities[np.arange(len(targets)), targets]).mean()


@given(st.integers(0, 99), st.integers(2, 5), st.floats(0.2, 5))
def test_no_other_temperature_has_a_lower_cross_entropy(seed, classes, scale):
    rng = np.random.default_rng(seed)
    probabilities, targets = softmax(scale * rng.normal(size=(30, classes))), rng.integers(classes, size=30)
    found = fitted_temperature(probabilities, targets)
    assert LOWEST - tolerance() <= found <= HIGHEST + tolerance()
    best = cross_entropy(calibrated(probabilities, found), targets)
    for factor in (0.5, 0.95, 1.05, 2):
        other = min(max(found * factor, LOWEST), HIGHEST)
        assert best <= cross_entropy(calibrated(probabilities, other), targets) + tolerance()


@given(st.integers(0, 99), st.floats(0.2, 50))
def test_calibrated_probabilities_are_those_of_divided_logits(seed, temperature):
    logits = np.random.default_rng(seed).normal(size=(7, 3))
    assert np.allclose(calibrated(softmax(logits), temperature), softmax(logits / temperature), atol=tolerance())


def test_temperature_of_a_model_that_is_always_right_is_one():
    assert fitted_temperature(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1])) == 1


@pytest.fixture
def values(tiny_tokenizer, tmp_path):
    """Settings of a run whose model is not right everywhere."""
    pretrained = save_pretrained(tiny_tokenizer, tmp_path / "pretrained")
    settings = opinions_run(pretrained, tmp_path / "train.csv", duration="4 steps") | {"baseline": False}
    settings["data"] = {"train": str(tmp_path / "train.csv"), "dev": str(write_opinions(tmp_path / "dev.csv"))}
    settings["train"] |= {"checkpoint_every": "2 steps", "evaluate_every": "2 steps"}
    return settings


def run(values, **changes):
    return FinetuneRun.parse({**values, **changes}, where="test")


def test_saved_model_has_the_calibrated_probabilities_and_training_is_the_same(values, tmp_path):
    plain = finetune(run(values), tmp_path / "plain")
    result = finetune(run(values, calibrate=True), tmp_path / "run")
    temperature = result.best.temperature
    assert temperature != 1
    assert result.scores == plain.scores, "no predicted class changes"
    assert result.best.step == plain.best.step
    ours, theirs = (load_model(each.model).classifier for each in (result, plain))
    assert np.allclose((ours.weight * temperature).detach(), theirs.weight.detach(), atol=tolerance())
    assert np.allclose((ours.bias * temperature).detach(), theirs.bias.detach(), atol=tolerance())
    evaluation = evaluate(EvaluateRun(model=str(result.model), data=tmp_path / "dev.csv")).to_dict()
    assert result.best.evaluation.calibration is not None
    expected = result.best.evaluation.calibration.expected_error
    assert evaluation["calibration"]["expected_error"] == pytest.approx(expected, abs=tolerance(depth="compound"))
    assert f"logits divided by {temperature:.3g}" in (result.model / "README.md").read_text()


def test_milestones_have_their_own_temperature(values, tmp_path):
    """Step 3 has no evaluation; that of the best step comes after its milestone is saved."""
    values["train"] |= {"milestones": ["2 steps", "3 steps", "4 steps"]}
    plain, result = (
        finetune(run(values, calibrate=calibrate), tmp_path / f"calibrate={calibrate}").model
        for calibrate in (False, True)
    )
    for step in (2, 3, 4):
        before, after = (model.parent / "milestones" / f"step-{step:08d}" for model in (plain, result))
        pipeline = Pipeline.load(before)
        data = pipeline.labelled_data(tmp_path / "dev.csv", Columns())
        temperature = fitted_temperature(np.stack(pipeline.predict(data.examples)), data.targets)
        weights, divided = (load_model(path).classifier.weight.detach() for path in (before, after))
        assert np.allclose(divided * temperature, weights, atol=tolerance())
    best = BestEvaluation.read(result / "evaluation.json", if_missing="")
    milestone = load_model(result.parent / "milestones" / f"step-{best.step:08d}")
    assert torch.equal(milestone.classifier.weight, load_model(result).classifier.weight)


def test_run_with_calibration_resumes_exactly(values, tmp_path):
    whole = finetune(run(values, calibrate=True), tmp_path / "whole")
    with pytest.raises(KilledError):
        finetune(run(values, calibrate=True), tmp_path / "run", callbacks=[killer("step", 3)])
    resumed = finetune(run(values, calibrate=True), tmp_path / "run")
    assert resumed.best == whole.best


@pytest.mark.parametrize(
    "data", [{"task": "sts-b", "directory": "glue"}, {"train": "x.csv", "task_type": "regression"}]
)
def test_calibration_of_a_named_task_is_refused_with_the_settings(values, data):
    with pytest.raises(ConfigError, match="calibrate: regression does not choose one class"):
        run(values, calibrate=True, data=data)


def test_calibration_of_scores_is_refused(values, tmp_path):
    rows = "\n".join(f"a film {number},{number / 7:.2f}" for number in range(24))
    for name in ("train", "dev"):
        (tmp_path / f"{name}.csv").write_text(f"text,label\n{rows}\n")
    with pytest.raises(ConfigError, match="calibrate: regression does not choose one class; set calibrate=false"):
        finetune(run(values, calibrate=True), tmp_path / "run")
