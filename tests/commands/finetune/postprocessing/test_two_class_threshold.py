"""A tuned threshold of two classes: chosen on the development rows, and stored in the bias of the classifier."""

import json

import numpy as np
import pytest
import torch

from litebert.commands.evaluate.evaluate import evaluate
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.commands.finetune.best_evaluation import BestEvaluation
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.inference.pipeline import Pipeline
from litebert.inference.predictor import Predictor
from litebert.model.io.model_directory import load_model
from litebert.tasks.metrics.label_thresholds import label_thresholds
from litebert.tasks.readers.columns import Columns
from litebert.tasks.results import logits_of, sigmoid
from support.data.labelled_files import OPINIONS, SUBJECTS
from support.models.model_builders import MODERN
from support.models.tolerances import close_to
from support.runs.tiny_runs import opinions_run, save_pretrained

METRICS = ["macro_f1", "f1", "roc_auc"]


@pytest.fixture
def runs(tiny_tokenizer, tmp_path):
    """The same training with and without the setting, on rows of which those of one subject are spam."""
    pretrained = save_pretrained(tiny_tokenizer, tmp_path / "pretrained", **MODERN, num_hidden_layers=2)
    texts = [f"{subject} {opinion}" for subject in SUBJECTS for each in OPINIONS.values() for opinion in each]
    rows = [{"text": text, "label": "spam" if SUBJECTS[0] in text else "ham"} for text in texts]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = opinions_run(pretrained, tmp_path / "opinions.csv", duration="8 steps", learning_rate=0.003)
    settings |= {"baseline": False, "metrics": METRICS, "data": {"train": str(file), "dev": str(file)}}
    settings["train"] |= {"evaluate_every": "8 steps"}
    return [
        finetune(FinetuneRun.parse({**settings, "tune_thresholds": tune}, where="test"), tmp_path / f"tune={tune}")
        for tune in (False, True)
    ]


def development_outputs(result, file):
    """Probabilities [N, 2] and labels [N] of the development rows."""
    pipeline = Pipeline.load(result.model)
    data = pipeline.labelled_data(file, Columns())
    return np.stack(pipeline.predict(data.examples)), data.targets, data.examples


def test_only_the_bias_of_the_second_class_is_shifted_to_its_threshold(runs, tmp_path):
    plain, tuned = (load_model(each.model).state_dict() for each in runs)
    outputs, targets, _ = development_outputs(runs[0], tmp_path / "rows.jsonl")
    (chosen,) = label_thresholds(logits_of(outputs[:, 1:]), targets[:, None], macro=True).chosen
    assert abs(chosen) > 0.1
    shift = (plain.pop("classifier.bias") - tuned.pop("classifier.bias")).numpy()
    assert shift == close_to(np.array([0, chosen]), depth="compound")
    assert all(torch.equal(plain[name], tuned[name]) for name in plain)
    assert runs[1].best.thresholds.thresholds == {"spam": close_to(sigmoid(chosen), depth="compound")}


def test_rows_from_the_threshold_have_the_second_class(runs, tmp_path):
    outputs, _, examples = development_outputs(runs[0], tmp_path / "rows.jsonl")
    (threshold,) = runs[1].best.thresholds.thresholds.values()
    expected = ["spam" if probability >= threshold else "ham" for probability in outputs[:, 1]]
    texts = [example.to_text() for example in examples]
    assert [each.label for each in Predictor.load(runs[1].model)(texts)] == expected
    assert [each.label for each in Predictor.load(runs[0].model)(texts)] != expected


def test_scores_of_two_classes_are_cross_fitted_and_those_of_the_rows_are_reported(runs, tmp_path):
    plain, tuned = (BestEvaluation.read(each.model / "evaluation.json", if_missing="") for each in runs)
    found = tuned.thresholds
    assert found.tuned
    assert plain.thresholds.at_half == found.at_half == {name: plain.metrics[name] for name in METRICS[:2]}
    assert found.cross_fitted == {name: tuned.metrics[name] for name in METRICS[:2]}
    assert tuned.metrics["roc_auc"] == plain.metrics["roc_auc"], "a threshold does not change it"
    again = evaluate(EvaluateRun(model=str(runs[1].model), data=tmp_path / "rows.jsonl", metrics=METRICS)).to_dict()
    assert {name: again["metrics"][name] for name in METRICS[:2]} == close_to(found.same_rows)
    assert found.same_rows["macro_f1"] > found.at_half["macro_f1"]


def test_result_and_card_name_the_threshold(runs):
    assert "threshold of 0." in runs[1].to_text()
    assert "for 'spam'; the scores above are cross-fitted; at 0.5 macro_f1 " in runs[1].to_text()
    assert "for 'spam') and stored in the bias" in (runs[1].model / "README.md").read_text()
