"""Served answers are those of `Predictor`, whatever else is in the batch."""

import base64
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from inspect import iscoroutinefunction
from typing import Any

import numpy as np
import pytest
from fastapi.routing import APIRoute
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from litebert.export.export_model import export_model
from litebert.inference.predictor import Predictor
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification
from litebert.serving.routes import embedding_routes, page_routes, prediction_routes, server_routes
from litebert.tasks.input_settings import TextInputSettings
from support.models.tolerances import close_to, tolerance
from support.programs.serving import Application

ROUTERS = [each.router for each in (embedding_routes, page_routes, prediction_routes, server_routes)]
WORDS = ["the", "film", "was", "good", "bad", "dull", "in", "1999", "a", "long", "movie", ".", ",", "wonderful"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
masked = st.just("[MASK]") | st.tuples(texts, texts).map(" [MASK] ".join)
pairs = st.tuples(texts, texts)
choices = st.tuples(texts, st.none() | texts, st.lists(texts, min_size=2, max_size=3))


def scores_of(probabilities: dict[str, float]) -> list[dict[str, Any]]:
    return [
        {"label": label, "score": score} for label, score in sorted(probabilities.items(), key=lambda each: -each[1])
    ]


def classify(predictor: Predictor, method: str, inputs: Any) -> Any:
    texts = inputs if isinstance(inputs, str) else tuple(inputs)
    (result,) = getattr(predictor, method)([texts])
    return scores_of({"stars": result} if method == "regress" else result.probabilities)


def tagged(predictor: Predictor, text: str) -> Any:
    (result,) = predictor.classify_tokens([text])
    words = [
        {"word": text[start:end], "start": start, "end": end, "label": label, "probability": probability}
        for (start, end), label, probability in zip(result.word_spans, result.labels, result.probabilities, strict=True)
    ]
    return {"words": words, "entities": [asdict(each) for each in result.entities]}


def answered(predictor: Predictor, question: str, context: str) -> Any:
    result = predictor.answer(question, context)
    return {name: getattr(result, name) for name in ("text", "start", "end", "probability", "no_answer_probability")}


def filled(predictor: Predictor, text: str) -> Any:
    return [
        [{"piece": each.piece, "word": each.word, "probability": each.probability} for each in candidates]
        for candidates in predictor.fill_mask(text)
    ]


Case = tuple[str, dict[str, Any], Callable[[Any], Any], Callable[[Predictor], Any]]
"""Name of the model with its route, body, part of the response to compare, and what `Predictor` gives."""


def case(model: str, route: str, body: dict[str, Any], part: Callable[[Any], Any], offline: Callable[..., Any]) -> Any:
    return model, route, {"model": model, **body}, part, offline


def whole(response: Any) -> Any:
    return response


cases = st.one_of(
    (texts | pairs.map(list)).map(
        lambda x: case("classifier", "/predict", {"inputs": x}, whole, lambda model: classify(model, "classify", x))
    ),
    (texts | pairs.map(list)).map(
        lambda x: case("regressor", "/predict", {"inputs": x}, whole, lambda model: classify(model, "regress", x))
    ),
    texts.map(
        lambda x: case(
            "several", "/predict", {"inputs": x}, whole, lambda model: classify(model, "classify_multi_label", x)
        )
    ),
    masked.map(
        lambda x: case("masked", "/fill-mask", {"inputs": x}, lambda found: found[0], lambda model: filled(model, x))
    ),
    texts.map(
        lambda x: case(
            "tagger",
            "/token-classification",
            {"inputs": x},
            lambda found: found[0],
            lambda model: tagged(model, x),
        )
    ),
    pairs.map(
        lambda x: case(
            "reader",
            "/question-answering",
            {"inputs": {"question": x[0], "context": x[1]}},
            lambda found: found[0],
            lambda model: answered(model, *x),
        )
    ),
    choices.map(
        lambda x: case(
            "chooser",
            "/multiple-choice",
            {"text": x[0], "question": x[1], "options": x[2]},
            lambda found: found["probabilities"],
            lambda model: list(model.multiple_choice([x])[0].probabilities),
        )
    ),
    texts.map(
        lambda x: case(
            "pretraining", "/embed", {"inputs": x}, lambda found: found[0], lambda model: model.embed([x])[0].tolist()
        )
    ),
)


def close(served: Any, offline: Any) -> bool:
    """Whether two JSON values have equal texts, and numbers within 1e-5."""
    if isinstance(offline, dict):
        return served.keys() == offline.keys() and all(close(served[key], offline[key]) for key in offline)
    if isinstance(offline, list):
        return len(served) == len(offline) and all(map(close, served, offline))
    return served == (close_to(offline) if isinstance(offline, float) else offline)


@pytest.fixture(scope="module")
def offline(saved) -> Callable[[str], Predictor]:
    return cache(lambda name: Predictor.load(saved[name]))


@settings(max_examples=15, phases=[Phase.generate])
@given(requests=st.lists(cases, min_size=1, max_size=16))
def test_served_answers_equal_those_of_predictor_for_every_task_type(application, offline, requests):
    responses = application.ask_together([(route, body) for _, route, body, _, _ in requests])
    for (model, _, _, part, expected), response in zip(requests, responses, strict=True):
        assert response.status_code == 200, response.text
        assert close(part(response.json()), expected(offline(model)))


def test_a_mask_alone_is_filled_in(application, offline):
    (found,) = application.ask("/fill-mask", {"model": "masked", "inputs": "[MASK]"}).json()
    assert close(found, filled(offline("masked"), "[MASK]"))


def test_requests_of_the_embedder_get_its_pooling(application, offline):
    response = application.ask("/embed", {"model": "embedder", "inputs": ["the film", "music"], "pooling": "cls"})
    assert np.array(response.json()) == close_to(offline("embedder").embed(["the film", "music"], pooling="cls"))


def test_embeddings_can_be_shorter_and_not_normalized(application, offline):
    body = {"model": "pretraining", "inputs": "the film", "normalize": False, "dimensions": 5}
    expected = offline("pretraining").embed(["the film"], normalize=False, dimensions=5)
    assert np.array(application.ask("/embed", body).json()) == close_to(expected)


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_openai_embeddings_have_vectors_and_usage(application, offline, encoding):
    body = {"model": "embedder", "input": ["the film", "music"], "encoding_format": encoding}
    response = application.ask("/v1/embeddings", body).json()
    vectors = [each["embedding"] for each in response["data"]]
    if encoding == "base64":
        vectors = [np.frombuffer(base64.b64decode(each), "<f4") for each in vectors]
    assert np.array(vectors) == close_to(offline("embedder").embed(["the film", "music"]))
    assert response["usage"]["prompt_tokens"] == response["usage"]["total_tokens"] > 4


def test_similarity_is_the_cosine_of_the_embeddings(application, offline):
    body = {"model": "embedder", "inputs": {"source_sentence": "the film", "sentences": ["music", "the film"]}}
    expected = offline("embedder").similarity(["the film"], ["music", "the film"])[0]
    assert np.array(application.ask("/similarity", body).json()) == close_to(expected)


def test_rerank_orders_the_texts_by_the_score_of_their_pair(application, offline):
    texts = ["music", "the film was good", "a"]
    body = {"model": "regressor", "query": "the film", "texts": texts, "return_text": True}
    ranks = application.ask("/rerank", body).json()
    scores = offline("regressor").regress([("the film", text) for text in texts])
    assert [each["index"] for each in ranks] == sorted(range(3), key=lambda index: -scores[index])
    assert [each["score"] for each in ranks] == close_to(sorted(scores, reverse=True))
    assert [each["text"] for each in ranks] == [texts[each["index"]] for each in ranks]


def test_predict_of_a_list_of_lists_has_a_result_for_each(application):
    one, pair, several = (
        application.ask("/predict", {"model": "classifier", "inputs": inputs}).json()
        for inputs in ("the film", ["the film", "music"], [["the film"], ["the film", "music"]])
    )
    assert close(several, [one, pair])


@pytest.mark.parametrize("model", ["classifier", "several", "regressor"])
def test_raw_scores_are_logarithms_of_probabilities_or_log_odds(application, model):
    given, raw = (
        {each["label"]: each["score"] for each in application.ask("/predict", body).json()}
        for body in ({"model": model, "inputs": "film"}, {"model": model, "inputs": "film", "raw_scores": True})
    )
    from_raw = {"classifier": np.exp, "several": lambda x: 1 / (1 + np.exp(-x)), "regressor": float}[model]
    assert {label: from_raw(score) for label, score in raw.items()} == pytest.approx(
        given, abs=tolerance(depth="operation")
    )


def test_token_classification_gives_entities_as_spans_of_the_text(application):
    text = "the film, was   wonderful."
    (found,) = application.ask("/token-classification", {"inputs": text}).json()
    assert [word["word"] for word in found["words"]] == ["the", "film", ",", "was", "wonderful", "."]
    for span in (*found["words"], *found["entities"]):
        assert text[span["start"] : span["end"]] == span.get("text", span.get("word"))
    (same,) = application.ask("/token-classification", {"inputs": [["the", "film"]]}).json()
    assert [(word["start"], word["end"]) for word in same["words"]] == [(0, 3), (4, 8)]
    for span in same["entities"]:
        assert "the film"[span["start"] : span["end"]] == span["text"]


def test_tokenize_gives_ids_and_positions(application, tiny_tokenizer):
    (tokens,) = application.ask("/tokenize", {"inputs": "the film"}).json()
    assert [token["id"] for token in tokens] == tiny_tokenizer.encode_pair("the film").input_ids
    assert [token["special"] for token in tokens] == [True, *[False] * (len(tokens) - 2), True]
    (plain,) = application.ask("/tokenize", {"inputs": "the film", "add_special_tokens": False}).json()
    assert plain == tokens[1:-1]


def test_responses_have_tokens_and_times_in_their_headers(application):
    headers = application.ask("/predict", {"model": "classifier", "inputs": "the film"}).headers
    times = [float(headers[f"x-{part}-time"]) for part in ("total", "tokenization", "queue", "inference")]
    assert times[0] >= sum(times[1:]) - 0.4  # each is rounded to a tenth of a millisecond
    assert int(headers["x-compute-tokens"]) > 2


def test_routes_and_their_dependencies_run_in_the_event_loop():
    """FastAPI runs functions that are not async in threads, which compete with the model's."""
    routes = [each for router in ROUTERS for each in router.routes if isinstance(each, APIRoute)]
    dependencies = [each.call for route in routes for each in route.dependant.dependencies]
    assert len(routes) > 15
    assert dependencies
    assert all(map(iscoroutinefunction, [*(each.endpoint for each in routes), *dependencies]))


@pytest.fixture(scope="module")
def window_reader(small_config, tiny_tokenizer, tmp_path_factory):
    """The directory of a classifier that reads long texts in windows of 16 tokens."""
    directory = tmp_path_factory.mktemp("windows") / "classifier"
    settings = TextInputSettings(max_length=16, long_texts="windows")
    model = ForSequenceClassification(small_config.replace(max_position_embeddings=96), num_labels=2)
    return save_model(
        model, directory, labels=("bad", "good"), extra_files=tiny_tokenizer.files() | settings.model_files()
    )


@pytest.mark.parametrize("runtime", ["torch", "onnx"])
def test_long_text_is_served_by_a_model_that_reads_windows(window_reader, tiny_tokenizer, tmp_path, runtime):
    served = window_reader
    if runtime == "onnx":
        pytest.importorskip("onnx")
        pytest.importorskip("onnxruntime")
        served = tmp_path / "export" / "classifier"
        export_model(window_reader, served)
    text = "the film was good in 1999 , " * 5
    with Application(served, runtime=runtime, max_tokens_per_text=200) as running:
        answer = running.ask("/predict", {"inputs": text})
        too_long = running.ask("/predict", {"inputs": text * 5})
        not_cut = running.ask("/predict", {"inputs": text * 5, "truncate": True})
        empty, pair = (running.ask("/predict", {"inputs": inputs}) for inputs in ("\u200b", [["a", "b"]]))
    (expected,) = Predictor.load(window_reader, precision="fp32").classify([text])
    assert {each["label"]: each["score"] for each in answer.json()} == close_to(expected.probabilities)
    assert int(answer.headers["x-compute-tokens"]) == len(tiny_tokenizer.encode(text)) + 2
    assert (too_long.status_code, "the limit is 200; shorten it" in too_long.json()["error"]) == (413, True)
    assert "truncate" not in too_long.json()["error"], "it would not be"
    assert not_cut.status_code == 413, "all of it would be read"
    assert (empty.status_code, pair.status_code) == (422, 422)
