"""Tuned thresholds: chosen on the development rows, and stored in the bias of the classifier."""

import json

import numpy as np
import pytest
import torch

import litebert
from litebert.commands.evaluate.evaluate import evaluate
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.commands.finetune.best_evaluation import BestEvaluation
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_result import FinetuneResult
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.errors import ConfigError
from litebert.export.export_model import export_model
from litebert.inference.pipeline import Pipeline
from litebert.inference.predictor import Predictor
from litebert.model.io.model_directory import load_model
from litebert.runtime import Predictor as OnnxPredictor
from litebert.tasks.metrics.label_thresholds import label_thresholds
from litebert.tasks.readers.columns import Columns
from litebert.tasks.results import logits_of, sigmoid
from support.data.labelled_files import OPINIONS, SUBJECTS
from support.models.model_builders import MODERN
from support.models.tolerances import close_to
from support.runs.callbacks import KilledError, killer
from support.runs.tiny_runs import opinions_run, save_pretrained

METRICS = ["macro_f1", "micro_f1", "roc_auc"]


def rows():
    """Two labels that the text tells, and one of few rows that it does not."""
    texts = [f"{subject} {opinion}" for subject in SUBJECTS for each in OPINIONS.values() for opinion in each]
    return [
        {"text": text, "label": ["film"] * ("film" in text) + ["good"] * ("good" in text) + ["rare"] * (n % 7 == 0)}
        for n, text in enumerate(texts)
    ]


@pytest.fixture
def values(tiny_tokenizer, tmp_path):
    """Settings of a short run, after which labels are rarely predicted from 0.5."""
    pretrained = save_pretrained(tiny_tokenizer, tmp_path / "pretrained", **MODERN, num_hidden_layers=2)
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    settings = opinions_run(pretrained, tmp_path / "opinions.csv", duration="8 steps", learning_rate=0.003)
    settings |= {"baseline": False, "metrics": METRICS, "data": {"train": str(file), "dev": str(file)}}
    settings["train"] |= {"checkpoint_every": "4 steps", "evaluate_every": "8 steps"}
    return settings


def run(values, **changes):
    return FinetuneRun.parse({**values, **changes}, where="test")


def development_outputs(model, file):
    """Probabilities [N, C] and labels [N, C] of the development rows."""
    pipeline = Pipeline.load(model)
    data = pipeline.labelled_data(file, Columns())
    return np.stack(pipeline.predict(data.examples)), data.targets.astype(int)


@pytest.fixture
def runs(values, tmp_path):
    """The same training with and without the setting."""
    return tuple(
        finetune(run(values, tune_thresholds=tune), tmp_path / f"tune={tune}").model.parent for tune in (False, True)
    )


def best_of(directory):
    return BestEvaluation.read(directory / "model" / "evaluation.json", if_missing="")


def test_only_the_bias_of_the_classifier_is_shifted_to_the_thresholds(runs, tmp_path):
    plain, tuned = (load_model(each / "model").state_dict() for each in runs)
    outputs, targets = development_outputs(runs[0] / "model", tmp_path / "rows.jsonl")
    chosen = label_thresholds(logits_of(outputs), targets).chosen
    assert np.abs(chosen).max() > 0.1
    shift = plain.pop("classifier.bias") - tuned.pop("classifier.bias")
    assert shift.numpy() == close_to(chosen, depth="compound")
    assert all(torch.equal(plain[name], tuned[name]) for name in plain)
    assert [*best_of(runs[1]).thresholds.thresholds.values()] == close_to(sigmoid(chosen).tolist(), depth="compound")


def test_litebert_onnx_and_transformers_predict_from_the_chosen_thresholds(runs, tmp_path, monkeypatch):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    outputs, _ = development_outputs(runs[0] / "model", tmp_path / "rows.jsonl")
    thresholds = best_of(runs[1]).thresholds.thresholds
    expected = [tuple(name for name, each in zip(thresholds, row >= [*thresholds.values()], strict=True) if each)
                for row in outputs]  # fmt: skip
    assert expected != [answer.labels for answer in classified(Predictor, runs[0] / "model")], "0.5 is another choice"
    export_model(runs[1] / "model", tmp_path / "exported")
    for predictor, model in ((Predictor, runs[1] / "model"), (OnnxPredictor, tmp_path / "exported")):
        assert [answer.labels for answer in classified(predictor, model)] == expected
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(
        runs[1] / "model", trust_remote_code=True
    ).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(runs[1] / "model")
    batch = tokenizer([row["text"] for row in rows()], padding=True, return_tensors="pt")
    with torch.inference_mode():
        predicted = theirs(**batch).logits.sigmoid() >= 0.5
    names = theirs.config.id2label
    assert [tuple(names[index] for index in row.nonzero().flatten().tolist()) for row in predicted] == expected


def classified(predictor, model):
    return predictor.load(model).classify_multi_label([row["text"] for row in rows()])


def test_scores_of_the_run_are_cross_fitted_and_those_of_the_rows_are_reported(runs, tmp_path):
    plain, tuned = map(best_of, runs)
    found = tuned.thresholds
    assert found.tuned
    assert not plain.thresholds.tuned
    assert plain.thresholds.at_half == found.at_half == {name: plain.metrics[name] for name in METRICS[:2]}
    assert plain.thresholds.cross_fitted == found.cross_fitted == {name: tuned.metrics[name] for name in METRICS[:2]}
    assert tuned.metrics["roc_auc"] == plain.metrics["roc_auc"], "thresholds do not change it"
    again = evaluate(EvaluateRun(model=str(runs[1]), data=tmp_path / "rows.jsonl", metrics=METRICS)).to_dict()
    assert {name: again["metrics"][name] for name in METRICS[:2]} == close_to(found.same_rows)
    assert found.at_half["macro_f1"] < found.cross_fitted["macro_f1"] <= found.same_rows["macro_f1"]


def test_result_and_card_say_which_scores_are_shown(runs):
    plain, tuned = (FinetuneResult.read(each / "result.json") for each in runs)
    assert "the scores above are cross-fitted; at 0.5 macro_f1" in tuned.to_text()
    assert "instead of 0.5: macro_f1 " in plain.to_text()
    assert "(cross-fitted); set tune_thresholds=true\n" in plain.to_text()
    card = (runs[1] / "model" / "README.md").read_text()
    assert "which is no estimate of a share; the scores are cross-fitted over 5 folds" in card
    assert "cross-fitted" not in (runs[0] / "model" / "README.md").read_text()


def test_thresholds_are_tuned_from_python_and_logged(values, tmp_path, caplog):
    caplog.set_level("INFO", "litebert")
    changes = {"duration": "8 steps", "learning_rate": 0.003, "optimizer": "adamw", "device": "cpu", "baseline": False}
    options = {"train": rows(), "dev": rows(), "metrics": METRICS, "callbacks": [], "out": tmp_path / "run", **changes}
    trained = litebert.finetune(values["model"], tune_thresholds=True, **options)
    assert "the scores above are cross-fitted" in str(trained)
    assert best_of(trained.directory).thresholds.tuned
    assert "tune_thresholds: scores on the development rows are cross-fitted" in caplog.text


def test_finished_run_with_tuned_thresholds_is_returned(values, tmp_path):
    settings = run(values, tune_thresholds=True)
    first = finetune(settings, tmp_path / "run")
    assert finetune(settings, tmp_path / "run").to_dict() == first.to_dict()


def test_run_with_tuned_thresholds_resumes_exactly(values, tmp_path):
    whole = finetune(run(values, tune_thresholds=True), tmp_path / "whole")
    with pytest.raises(KilledError):
        finetune(run(values, tune_thresholds=True), tmp_path / "run", callbacks=[killer("step", 6)])
    resumed = finetune(run(values, tune_thresholds=True), tmp_path / "run")
    assert resumed.best == whole.best
    weights, others = (load_model(each.model).state_dict() for each in (whole, resumed))
    assert all(torch.equal(weights[name], others[name]) for name in weights)


def test_milestones_have_their_own_thresholds(values, tmp_path):
    values["train"] |= {"milestones": ["5 steps"]}
    plain, tuned = (
        finetune(run(values, tune_thresholds=tune), tmp_path / f"tune={tune}").model.parent for tune in (False, True)
    )
    before, after = (each / "milestones" / "step-00000005" for each in (plain, tuned))
    outputs, targets = development_outputs(before, tmp_path / "rows.jsonl")
    chosen = label_thresholds(logits_of(outputs), targets).chosen
    shift = (load_model(before).classifier.bias - load_model(after).classifier.bias).detach().numpy()
    assert shift == close_to(chosen, depth="compound")


@pytest.mark.parametrize(
    "data",
    [
        {"task": "sts-b", "directory": "glue"},
        {"train": "x.csv", "task_type": "regression"},
        {"task": "race-high", "directory": "race"},
        {"train": "x.csv", "task_type": "pronoun_resolution"},
    ],
)
def test_thresholds_of_a_named_task_are_refused_with_the_settings(values, data):
    with pytest.raises(ConfigError, match="needs multi_label, or classification with two labels, and this is "):
        run(values, tune_thresholds=True, data=data)


def test_thresholds_of_three_classes_are_refused(values, tmp_path):
    file = tmp_path / "classes.csv"
    file.write_text("text,label\n" + "".join(f"a text,{label}\n" for label in ("one", "two", "three") * 4))
    data = {"train": str(file), "dev": str(file)}
    with pytest.raises(ConfigError, match="this is classification with 3 labels; set tune_thresholds=false"):
        finetune(run(values, tune_thresholds=True, metrics=[], data=data), tmp_path / "run")


def test_calibration_and_a_tuned_threshold_are_refused_together(values):
    data = {"train": "x.csv", "task_type": "classification"}
    with pytest.raises(ConfigError, match="calibrate, tune_thresholds: with a tuned threshold a probability is no"):
        run(values, tune_thresholds=True, calibrate=True, data=data)


def test_calibration_of_labels_is_refused(values, tmp_path):
    with pytest.raises(ConfigError, match="calibrate: multi_label does not choose one class; set calibrate=false"):
        finetune(run(values, calibrate=True), tmp_path / "run")
