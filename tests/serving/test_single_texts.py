"""Two texts in one list are a pair; a model that was trained on single texts refuses them."""

import pytest

from litebert.export.export_model import export_model
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification
from support.programs.serving import Application

TASKS = {
    "single": b'{"task_type": "classification", "text": "review", "label": "stars"}',
    "pairs": b'{"task_type": "classification", "text": "a", "text_pair": "b", "label": "same"}',
    "unknown": None,
}


@pytest.fixture(scope="module", params=["torch", "onnx"])
def server(request, tiny_tokenizer, small_config, tmp_path_factory):
    root, models = tmp_path_factory.mktemp("served"), []
    for name, task in TASKS.items():
        files = {**tiny_tokenizer.files(), **({"task.json": task} if task else {})}
        model = ForSequenceClassification(small_config, num_labels=2)
        options = {"labels": ("bad", "good"), "problem_type": "single_label_classification"}
        models.append(save_model(model, root / name, extra_files=files, **options))
    if request.param == "onnx":
        pytest.importorskip("onnx")
        for model in models:
            export_model(model, root / "exported" / model.name)
        models = [root / "exported" / model.name for model in models]
    with Application(*models, runtime=request.param) as running:
        yield running


def test_two_texts_are_no_pair_for_a_model_of_single_texts(server):
    response = server.ask("/predict", {"model": "single", "inputs": ["the film", "a play"]})
    assert response.status_code == 422
    assert response.json()["error"].endswith('trained on single texts; send a batch as [["A"], ["B"]]')


@pytest.mark.parametrize("inputs", ["the film", ["the film"], [["the film"], ["a play"]]])
def test_texts_and_batches_of_texts_are_answered(server, inputs):
    response = server.ask("/predict", {"model": "single", "inputs": inputs})
    assert response.status_code == 200
    assert len(response.json()) == 2


@pytest.mark.parametrize("model", ["pairs", "unknown"])
def test_two_texts_are_one_pair_for_other_models(server, model):
    pair = ["the film", "a play"]
    one, batch = (server.ask("/predict", {"model": model, "inputs": inputs}).json() for inputs in (pair, [pair]))
    assert [one] == batch


def test_batch_of_pairs_and_reranking_are_refused_by_a_model_of_single_texts(server):
    response = server.ask("/predict", {"model": "single", "inputs": [["the film"], ["the film", "a play"]]})
    assert response.status_code == 422
    body = {"query": "the film", "texts": ["a play"]}
    assert server.ask("/rerank", {"model": "single", **body}).status_code == 422
    assert server.ask("/rerank", {"model": "pairs", **body}).status_code == 200
