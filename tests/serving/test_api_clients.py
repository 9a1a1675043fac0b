"""Clients of other projects, and requests generated from the OpenAPI document."""

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from litebert.inference.predictor import Predictor
from support.models.tolerances import close_to
from support.programs.processes import free_port
from support.runs.full_mode import trials

logger = logging.getLogger(__name__)


@contextmanager
def listening(app) -> Iterator[str]:
    """The URL of an application that uvicorn serves in a thread."""
    uvicorn = pytest.importorskip("uvicorn")
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def url(saved):
    from litebert.serving.app import create_app
    from litebert.serving.serve_settings import ServeSettings

    models = tuple(str(saved[name]) for name in ("embedder", "regressor", "masked", "tagger", "reader", "chooser"))
    with listening(create_app(ServeSettings(models=models, max_texts_per_request=8))) as found:
        yield found


def test_openai_client_gets_embeddings(url, saved):
    openai = pytest.importorskip("openai")
    texts = ["the film was good", "music"]
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
        found = client.embeddings.create(model="embedder", input=texts)
        assert next(model.id for model in client.models.list()) == "embedder"
        with pytest.raises(openai.NotFoundError):
            client.embeddings.create(model="other", input=texts)
    expected = Predictor.load(saved["embedder"]).embed(texts)
    assert np.array([each.embedding for each in found.data]) == close_to(expected)


@pytest.fixture
def hub_client(monkeypatch):
    """`InferenceClient` for a server on this machine, although the tests run offline."""
    from huggingface_hub import InferenceClient, constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    return InferenceClient


def test_inference_client_of_the_hub_gets_embeddings_and_similarities(url, saved, hub_client):
    predictor = Predictor.load(saved["embedder"])
    texts = ["the film", "music", "the film was good"]
    for address in (url, f"{url}/embed"):  # the first one with the route of the first model
        found = hub_client(base_url=address).feature_extraction(texts, normalize=True, truncate=True)
        assert found == close_to(predictor.embed(texts))
    source, *others = predictor.embed(texts)
    found = hub_client(base_url=f"{url}/similarity").sentence_similarity(texts[0], other_sentences=texts[1:])
    assert np.array(found) == close_to(np.array([source @ other for other in others]))


def test_inference_client_of_the_hub_gets_the_labels_of_a_text(saved, hub_client):
    from litebert.serving.app import create_app
    from litebert.serving.serve_settings import ServeSettings

    probabilities = Predictor.load(saved["classifier"]).classify(["the film"])[0].probabilities
    expected = sorted(probabilities.items(), key=lambda each: -each[1])
    with listening(create_app(ServeSettings(models=(str(saved["classifier"]),)))) as address:
        client = hub_client(address)
        for options in ({}, {"top_k": 2}, {"function_to_apply": "softmax"}):
            found = client.text_classification("the film", **options)
            best = expected[: options.get("top_k")]
            assert [each.label for each in found] == [label for label, _ in best]
            assert np.array([each.score for each in found]) == close_to(np.array([score for _, score in best]))


def test_classes_of_langchain_and_llama_index_get_embeddings_and_ranks(url, saved, hub_client):
    langchain = pytest.importorskip("langchain_huggingface")
    embeddings = pytest.importorskip("llama_index.embeddings.text_embeddings_inference")
    ranks = pytest.importorskip("llama_index.postprocessor.tei_rerank")
    from llama_index.core.schema import NodeWithScore, TextNode

    texts = ["the film", "music", "the film was good"]
    expected = Predictor.load(saved["embedder"]).embed(texts)
    llama = embeddings.TextEmbeddingsInference(base_url=url, model_name="embedder")
    assert np.array(llama.get_text_embedding_batch(texts)) == close_to(expected)
    assert np.array(langchain.HuggingFaceEndpointEmbeddings(model=url).embed_documents(texts)) == close_to(expected)
    nodes = [NodeWithScore(node=TextNode(text=text)) for text in texts]
    ranked = ranks.TextEmbeddingInference(base_url=url, top_n=2).postprocess_nodes(nodes, query_str="the film")
    scores = dict(zip(texts, Predictor.load(saved["regressor"]).regress([("the film", text) for text in texts])))
    best = sorted(texts, key=scores.__getitem__, reverse=True)[:2]
    assert [node.node.text for node in ranked] == best
    assert [node.score for node in ranked] == close_to(np.array([scores[text] for text in best]))


RERANK = {"query": "the film", "texts": ["music", "the film was good"]}
EMBED = {"inputs": ["the film"], "normalize": True, "prompt_name": None}
DIRECTIONS = ({}, {"truncate": False, "truncation_direction": "Right"}, {"truncate": True})


@pytest.mark.parametrize("options", DIRECTIONS)
def test_requests_of_text_embeddings_inference_are_answered(url, options):
    """The bodies of its API documentation."""
    ranks = httpx.post(f"{url}/rerank", json={**RERANK, "return_text": True, "raw_scores": False, **options}).json()
    assert sorted(each["index"] for each in ranks) == [0, 1]
    assert ranks[0]["score"] >= ranks[1]["score"]
    assert all(each["text"] == RERANK["texts"][each["index"]] for each in ranks)
    assert len(httpx.post(f"{url}/embed", json={**EMBED, **options}).json()) == 1


def test_embeddings_of_token_ids_are_those_of_their_text(url, tiny_tokenizer):
    texts = ["the film was good", "music"]
    expected = httpx.post(f"{url}/embed", json={"inputs": texts}).json()
    ids = [tiny_tokenizer.encode(text) for text in texts]
    for inputs, vectors in ((ids, expected), (ids[0], expected[:1]), ([ids[0], texts[1]], expected)):
        assert np.array(httpx.post(f"{url}/embed", json={"inputs": inputs}).json()) == close_to(np.array(vectors))
    response = httpx.post(f"{url}/embed", json={"inputs": [10**9]})
    assert (response.status_code, "token id 1000000000" in response.text) == (422, True)


def test_information_has_the_fields_of_text_embeddings_inference(url):
    found = httpx.get(f"{url}/info").json()
    assert found["model_type"] == {"embedding": {"pooling": "mean"}}
    assert (found["model_id"], found["model_dtype"], found["max_input_length"]) == ("embedder", "fp32", 96)
    assert (found["max_client_batch_size"], found["max_concurrent_requests"]) == (8, 256)
    assert {"model_sha", "max_batch_tokens", "auto_truncate", "tokenization_workers", "version"} <= found.keys()


CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)


@pytest.mark.timeout(3600)  # in full mode
def test_generated_requests_get_documented_responses_below_500(url):
    schemathesis = pytest.importorskip("schemathesis")
    from schemathesis import checks

    checks.load_all_checks()
    chosen = checks.CHECKS.get_by_names(CHECKS)
    modes = schemathesis.GenerationMode
    operations = [each.ok() for each in schemathesis.openapi.from_url(f"{url}/openapi.json").get_all_operations()]
    statuses = Counter[int]()
    for operation in operations:
        cases = operation.as_strategy(modes.POSITIVE) | operation.as_strategy(modes.NEGATIVE)

        @settings(
            max_examples=trials(6, 500 if operation.method == "post" else 5),
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            database=None,
        )
        @given(case=cases)
        def ask(case):
            response = case.call(base_url=url)
            statuses[response.status_code] += 1
            case.validate_response(response, checks=chosen)

        ask()
    logger.info("%d requests: %s", statuses.total(), dict(sorted(statuses.items())))
    assert statuses.total() >= trials(60, 5000)
    assert {200, 422} <= statuses.keys()
    assert max(statuses) < 500
