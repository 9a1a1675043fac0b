"""A text that is longer than `max_length`, read in windows: predicted, exported, and fine-tuned."""

import json

import numpy as np
import pytest
import torch

from litebert.errors import DataError
from litebert.inference.predictor import Predictor
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.models import ForSequenceClassification
from litebert.tasks.text_sequences import spread_windows
from support.models.tolerances import tolerance

LONG = "the old film was good but the music of the play was bad and nobody liked the actor " * 3
METHODS = {"classifier": "classify", "regressor": "regress", "several": "classify_multi_label"}
PROBLEMS = {
    "classifier": ("single_label_classification", ("bad", "fair", "good")),
    "regressor": ("regression", ("stars",)),
    "several": ("multi_label_classification", ("long", "dull", "loud")),
}
SETTINGS = {"input_settings.json": json.dumps({"max_length": 16, "long_texts": "windows"}).encode()}


@pytest.fixture(scope="module")
def readers(tiny_tokenizer, config, tmp_path_factory):
    """The directory of a model that reads long texts in windows, by its name."""
    root, found = tmp_path_factory.mktemp("readers"), {}
    for name, (problem_type, labels) in PROBLEMS.items():
        torch.manual_seed(0)
        model = ForSequenceClassification(config.replace(initializer_range=0.3), num_labels=len(labels))
        files = {**tiny_tokenizer.files(), **SETTINGS}
        found[name] = save_model(model, root / name, labels=labels, problem_type=problem_type, extra_files=files)
    return found


def numbers(results):
    """The probabilities or the score of each result, [N, C]."""
    return np.array([[*each.probabilities.values()] if hasattr(each, "probabilities") else [each] for each in results])


def expected(name, directory, tokenizer):
    """[C] from the mean of the logits of the windows, each in a batch of its own."""
    model, ids, logits = load_model(directory), tokenizer.encode(LONG), []
    for start, end in spread_windows(len(ids), budget=14):
        with torch.no_grad():
            window = torch.tensor([[tokenizer.cls_id, *ids[start:end], tokenizer.sep_id]])
            logits.append(model(window).logits[0].double().numpy())
    mean = np.mean(logits, axis=0)
    assert len(logits) > 3
    assert np.std(logits, axis=0).max() > 0.05, "windows differ"
    return {
        "classifier": lambda: np.exp(mean) / np.exp(mean).sum(),
        "regressor": lambda: mean,
        "several": lambda: 1 / (1 + np.exp(-mean)),
    }[name]()


@pytest.mark.parametrize("name", METHODS)
def test_prediction_for_a_long_text_is_that_of_the_mean_logits_of_its_windows(readers, tiny_tokenizer, name):
    predictor = Predictor.load(readers[name], precision="fp32")
    found = numbers(getattr(predictor, METHODS[name])(["the film", LONG]))
    np.testing.assert_allclose(
        found[1], expected(name, readers[name], tiny_tokenizer), atol=tolerance(depth="compound")
    )


@pytest.mark.parametrize("name", METHODS)
def test_export_reads_long_texts_as_the_model(readers, tmp_path, name):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from litebert.export.export_model import export_model
    from litebert.runtime import Predictor as OnnxPredictor

    export_model(readers[name], tmp_path / "export")
    texts = ["the film", LONG, "", LONG[:90]]
    here, there = (
        numbers(getattr(each, METHODS[name])(texts))
        for each in (Predictor.load(readers[name], precision="fp32"), OnnxPredictor.load(tmp_path / "export"))
    )
    np.testing.assert_allclose(there, here, atol=tolerance(depth="compound"))


def test_pair_is_refused(readers):
    with pytest.raises(DataError, match="text 2: has a second text"):
        Predictor.load(readers["classifier"]).classify(["the film", ("a play", "good")])
