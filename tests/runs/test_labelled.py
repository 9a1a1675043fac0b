"""Scoring on labelled rows, and evaluating a model directory on a file."""

import numpy as np
import pytest

from litebert.errors import ConfigError, DataError
from litebert.model.config import ModelConfig
from litebert.model.directory import save_model
from litebert.model.models import ForMaskedLM, ForSequenceClassification
from litebert.runs.labelled import evaluate_labelled, evaluation_of, task_of

from .labelled_files import write_opinions


@pytest.fixture(scope="module")
def config(tiny_tokenizer):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    return ModelConfig(vocab_size=tiny_tokenizer.vocab_size, embedding_size=8, max_position_embeddings=40, **sizes)


@pytest.fixture
def classifier(tiny_tokenizer, config, tmp_path):
    model = ForSequenceClassification(config, num_labels=2)
    return save_model(model, tmp_path / "model", labels=("bad", "good"), extra_files=tiny_tokenizer.files())


def test_an_evaluation_holds_metrics_interval_and_confusion():
    task = task_of(("text", None), "label", ("n", "p"), ["accuracy", "f1"])
    logits = np.array([[2.0, 1], [0, 1], [0, 1], [3, 0]], dtype=np.float32)
    evaluation = evaluation_of(task, logits, np.array([0, 1, 0, 0]))
    assert evaluation.metrics == {"accuracy": 0.75, "f1": pytest.approx(2 / 3)}
    assert evaluation.confusion_matrix == [[2, 1], [0, 1]]
    assert evaluation.accuracy_interval[0] < 0.75 < evaluation.accuracy_interval[1]
    assert "accuracy 0.7500, f1 0.6667 on 4 rows" in evaluation.to_text()


def test_an_evaluation_of_scores_has_no_confusion():
    task = task_of(("a", "b"), "score", None, [])
    evaluation = evaluation_of(task, np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 4.0]))
    assert set(evaluation.metrics) == {"pearson", "spearman"}
    assert (evaluation.accuracy_interval, evaluation.confusion_matrix, evaluation.labels) == (None, None, None)
    assert evaluation.to_text() == "pearson 0.9820, spearman 1.0000 on 3 rows"


def test_the_first_metric_selects_and_columns_are_kept():
    task = task_of(("a", "b"), "y", ("n", "p", "u"), ["macro_f1", "accuracy"])
    assert (task.select_by, task.text) == ("macro_f1", ("a", "b"))


def test_a_model_directory_is_scored_on_a_file(classifier, tmp_path):
    evaluation = evaluate_labelled(classifier, write_opinions(tmp_path / "dev.csv"), metrics=["accuracy", "matthews"])
    assert evaluation.examples == 36
    assert set(evaluation.to_dict()["metrics"]) == {"accuracy", "matthews"}


def test_a_regression_is_scored_as_one(tiny_tokenizer, config, tmp_path):
    model = save_model(
        ForSequenceClassification(config, num_labels=1),
        tmp_path / "model",
        labels=("stars",),
        problem_type="regression",
        extra_files=tiny_tokenizer.files(),
    )
    evaluation = evaluate_labelled(model, write_opinions(tmp_path / "dev.tsv", labels=(1, 5)))
    assert set(evaluation.metrics) == {"pearson", "spearman"}


def test_labels_that_the_model_does_not_know_are_refused(classifier, tmp_path):
    with pytest.raises(DataError, match=r"unknown label '1'; the labels of training are 'bad', 'good'"):
        evaluate_labelled(classifier, write_opinions(tmp_path / "dev.csv", labels=("0", "1")))


def test_a_model_without_labels_is_refused(tiny_tokenizer, config, tmp_path):
    model = save_model(ForMaskedLM(config), tmp_path / "masked", extra_files=tiny_tokenizer.files())
    with pytest.raises(ConfigError, match="a ForMaskedLM has no labels"):
        evaluate_labelled(model, write_opinions(tmp_path / "dev.csv"))
