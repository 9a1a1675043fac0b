"""Clients of other projects, and requests generated from the OpenAPI document."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from litebert.inference.predictor import Predictor
from support.full_mode import trials
from support.processes import free_port
from support.tolerances import close_to


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


def test_client_of_text_embeddings_inference_gets_embeddings(url, saved, monkeypatch):
    from huggingface_hub import InferenceClient, constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)  # the tests run offline; this server is local
    found = InferenceClient(f"{url}/embed").feature_extraction("the film", normalize=True, truncate=True)
    assert found == close_to(Predictor.load(saved["embedder"]).embed(["the film"]))


def test_requests_of_text_embeddings_inference_are_answered(url):
    """The bodies of its API documentation."""
    rerank = {
        "query": "the film",
        "texts": ["music", "the film was good"],
        "raw_scores": False,
        "return_text": False,
        "truncate": False,
        "truncation_direction": "right",
    }
    ranks = httpx.post(f"{url}/rerank", json=rerank).json()
    assert sorted(each["index"] for each in ranks) == [0, 1]
    embed = {"inputs": ["the film"], "normalize": True, "truncate": False, "truncation_direction": "right"}
    assert len(httpx.post(f"{url}/embed", json={**embed, "prompt_name": None}).json()) == 1


CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)


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
            max_examples=trials(6, 320),
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
    assert {200, 422} <= statuses.keys()
    assert max(statuses) < 500
