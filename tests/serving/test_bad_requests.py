"""Requests that are wrong, too large, too slow or not allowed: documented outcomes, and never a status from 500."""

import asyncio
import logging
import threading

import numpy as np
import pytest

from litebert.errors import ConfigError
from litebert.inference.predictor import Predictor
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification
from litebert.serving import served_model
from litebert.serving.loaded_model import load
from litebert.serving.model_registry import directories_by_name
from litebert.serving.routes import prediction_routes
from litebert.serving.serve_settings import ServeSettings
from litebert.serving.server_state import API_KEY, read_api_key
from litebert.tasks.input_settings import InputSettings
from litebert.tokenization.tokenizer import Tokenizer
from support.models.tolerances import close_to
from support.programs.serving import Application, post_scope

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def small(saved):
    """A server of two models with low limits."""
    limits = {"max_body_bytes": 3000, "max_texts_per_request": 3, "max_tokens_per_text": 200, "max_queue_tokens": 500}
    with Application(saved["classifier"], saved["tagger"], receive_timeout_seconds=0.2, **limits) as running:
        yield running


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b'{"inputs": "\xff"}', 400),
        (b"[" * 1400 + b"]" * 1400, 400),
        (b'{"inputs": ' + b"[" * 900 + b'"a"' + b"]" * 900 + b"}", 422),
        (b'{"inputs": 1}', 422),
        (b'{"inputs": null}', 422),
        (b'{"inputs": []}', 422),
        (b'{"inputs": [[]]}', 422),
        (b'{"inputs": ["a", "b", "c"]}', 422),
        (b'{"inputs": [["a", "b", "c"]]}', 422),
        (b'{"inputs": {"a": 1}}', 422),
        (b'{"inputs": "a", "unknown": 1}', 422),
        (b'{"inputs": "a", "truncate": "yes"}', 422),
        (b'{"inputs": "a", "truncate": 1' + b"0" * 2900 + b"}", 422),
        (b'{"inputs": "\\ud800"}', 422),
        (b'{"inputs": "a", "model": NaN}', 422),
        (b'{"inputs": "a", "model": "other"}', 404),
        (b'{"inputs": "a", "model": "tagger"}', 422),
        (b'{"inputs": [["a"], ["a"], ["a"], ["a"]]}', 413),
        (b'{"inputs": "' + b"good " * 300 + b'"}', 413),
        (b" " * 3001, 413),
        (b'{"inputs": "\\u0000 \\u2028"}', 200),
        (b'{"inputs": ""}', 422),
    ],
)
def test_bodies_get_a_status_and_an_error_without_the_text(small, content, status):
    response = small.ask("/predict", content=content, headers=JSON)
    assert response.status_code == status, response.text
    if status != 200:
        assert response.json().keys() == {"error", "error_type"}
        assert "good good" not in response.text


def test_server_asks_for_the_device_that_is_named(saved, monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(ConfigError, match="device: 'cuda' was asked for, but torch finds 0 CUDA devices"):
        load(str(saved["classifier"]), ServeSettings(models=(str(saved["classifier"]),), device="cuda"))


def test_information_has_the_precision_that_auto_stands_for(saved, monkeypatch):
    monkeypatch.setattr("litebert.inference.pipeline.resolve_precision", lambda asked, model: {"auto": "bf16"}[asked])
    with Application(saved["classifier"], precision="auto") as running:
        assert running.request("GET", "/info").json()["model_dtype"] == "bf16"


@pytest.mark.parametrize(
    ("method", "route", "status"), [("GET", "/predict", 405), ("POST", "/nothing", 404), ("POST", "/fill-mask", 422)]
)
def test_unknown_routes_and_routes_of_other_tasks_say_what_there_is(small, method, route, status):
    response = small.request(method, route, json={"inputs": "a [MASK]"})
    assert response.status_code == status
    assert "/docs" in response.json()["error"] or "use /predict" in response.json()["error"]


def test_limits_are_in_the_messages(small):
    messages = [
        small.ask("/predict", {"inputs": [["a"]] * 4}).json()["error"],
        small.ask("/predict", {"inputs": "good " * 100}).json()["error"],
        small.ask("/token-classification", {"inputs": "good " * 300}).json()["error"],
        small.ask("/tokenize", {"inputs": "good " * 300}).json()["error"],
        small.ask("/predict", {"inputs": "a" * 3000}).json()["error"],
    ]
    for message, limit in zip(messages, (3, 96, 200, 200, 3000), strict=True):
        assert str(limit) in message


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"a private sentence": 1}, "body: unknown field; see /docs"),
        ({"parameters": {"a private sentence": 1}}, "parameters: unknown field; see /docs"),
        ({"top_k": "private"}, "top_k: unknown field; see /docs"),
        ({"parameters": {"return_all": "private"}}, "parameters.return_all: unknown field; see /docs"),
        (
            {"parameters": {"function_to_apply": "none"}},
            "parameters.function_to_apply: none, but the scores of this model are those of softmax; leave it out",
        ),
    ],
)
def test_errors_name_a_wrong_field_but_do_not_repeat_text(small, fields, message):
    response = small.ask("/predict", {"inputs": "a", **fields})
    assert (response.status_code, response.json()["error"]) == (422, message)


def test_fill_mask_limits_the_candidates_of_all_masks(saved):
    with Application(saved["masked"]) as running:
        response = running.ask("/fill-mask", {"inputs": "[MASK] " * 11, "top_k": 1000})
    assert response.status_code == 413
    assert "11000 candidates for all masks, the limit of one request is 10000" in response.json()["error"]


def test_tokens_of_all_texts_of_a_request_are_limited(small, monkeypatch):
    monkeypatch.setattr(served_model, "MAX_REQUEST_TOKENS", 250)
    for route in ("/tokenize", "/token-classification"):
        assert small.ask(route, {"inputs": ["good " * 10] * 3}).status_code == 200
        response = small.ask(route, {"inputs": ["good " * 30] * 3})
        assert response.status_code == 413
        assert "tokens, the limit of one request is 250; send several requests" in response.json()["error"]


def test_long_responses_are_made_in_a_thread(small, monkeypatch):
    threads = []
    real = served_model.json_list

    def json_list(values):
        threads.append(threading.current_thread())
        return real(values)

    for module in (served_model, prediction_routes):
        monkeypatch.setattr(module, "json_list", json_list)
    monkeypatch.setattr(served_model, "INLINE_CHARACTERS", 100)
    for route in ("/tokenize", "/token-classification"):
        assert small.ask(route, {"inputs": "good " * 30}).status_code == 200
    assert len(threads) == 2
    assert threading.main_thread() not in threads


def test_equal_texts_are_tokenized_once_and_far_too_long_ones_not_at_all(saved, monkeypatch):
    tokenized = []
    real = Tokenizer.encode_batch

    def encode_batch(self, texts):
        tokenized.extend(texts)
        return real(self, texts)

    with Application(saved["regressor"]) as application:
        monkeypatch.setattr(Tokenizer, "encode_batch", encode_batch)
        (model,) = application.state.models
        monkeypatch.setattr(model._batcher, "_answers", lambda operation, batch: [1.0] * len(batch))
        body = {"query": "a film", "texts": ["good", "bad", "good"]}
        assert application.ask("/rerank", body).status_code == 200
        assert tokenized == ["a film", "good", "bad"]
        tokenized.clear()
        response = application.ask("/rerank", {**body, "query": "a " * 5000})
        assert response.status_code == 413
        assert 'has 10000 characters, the limit is 96 tokens; shorten it, or set "truncate"' in response.json()["error"]
        assert not tokenized
        assert application.ask("/rerank", {**body, "query": "a " * 5000, "truncate": True}).status_code == 200


@pytest.fixture(scope="module")
def short(small_config, tiny_tokenizer, tmp_path_factory):
    """The directory of a classifier that was fine-tuned with fewer tokens than it has positions,."""
    directory = tmp_path_factory.mktemp("short") / "classifier"
    files = tiny_tokenizer.files() | InputSettings(max_length=16).model_files()
    model = ForSequenceClassification(small_config.replace(max_position_embeddings=96), num_labels=2)
    return save_model(model, directory, labels=("bad", "good"), extra_files=files)


@pytest.fixture(scope="module", params=["torch", "onnx"])
def short_served(request, short, tmp_path_factory):
    if request.param == "onnx":
        pytest.importorskip("onnx")
        pytest.importorskip("onnxruntime")
        from litebert.commands.export import ExportRun, export

        exported = tmp_path_factory.mktemp("exported") / "classifier"
        export(ExportRun(model=str(short), out=exported))
    with Application(short if request.param == "torch" else exported, runtime=request.param) as running:
        yield running


def test_routes_of_embeddings_read_as_many_tokens_as_the_model_has_positions(short, short_served):
    text = "good " * 10
    body = {"source_sentence": text, "sentences": ["good"]}
    vector = short_served.ask("/embed", {"inputs": text})
    similarity = short_served.ask("/similarity", {"inputs": body})
    openai = short_served.ask("/v1/embeddings", {"input": text, "model": "classifier"}).json()
    offline = Predictor.load(short)
    tokens = len(offline.backend.tokenizer.encode(text)) + 2
    assert 16 < tokens < 96
    assert np.array(vector.json()) == close_to(offline.embed([text]))
    assert similarity.json() == close_to(offline.similarity([text], ["good"])[0].tolist())
    assert (vector.headers["x-compute-tokens"], openai["usage"]["prompt_tokens"]) == (str(tokens), tokens)
    too_long = short_served.ask("/embed", {"inputs": "good " * 100})
    assert (too_long.status_code, "the limit is 96" in too_long.json()["error"]) == (413, True)
    assert 'or set "truncate"' in too_long.json()["error"]
    body = {"source_sentence": "good " * 100, "sentences": ["good"]}
    assert 'or set "truncate"' in short_served.ask("/similarity", {"inputs": body}).json()["error"]
    openai = short_served.ask("/v1/embeddings", {"input": "good " * 100, "model": "classifier"})
    assert (openai.status_code, "truncate" in openai.text) == (413, False), "a field that the route does not have"


def test_predict_reads_as_many_tokens_as_the_fine_tuning(short, short_served):
    text = "good " * 10
    refused = short_served.ask("/predict", {"inputs": text})
    assert (refused.status_code, "the limit is 16" in refused.json()["error"]) == (413, True)
    assert 'or set "truncate"' in refused.json()["error"]
    assert 'or set "truncate"' in short_served.ask("/rerank", {"query": text, "texts": [text]}).json()["error"]
    truncated = short_served.ask("/predict", {"inputs": text, "truncate": True})
    (offline,) = Predictor.load(short).classify([text])
    assert {each["label"]: each["score"] for each in truncated.json()} == close_to(offline.probabilities)
    assert truncated.headers["x-compute-tokens"] == "16"


def test_information_has_both_limits(short_served):
    (model,) = short_served.request("GET", "/info").json()["models"]
    assert (model["max_length"], model["max_position_embeddings"]) == (16, 96)


def test_truncate_reads_the_beginning_of_a_long_text(small):
    responses = [small.ask("/predict", {"inputs": "good " * n, "truncate": True}).json() for n in (200, 400)]
    assert responses[0] == responses[1]


def test_body_over_the_limit_ends_while_it_is_received(small):
    received = []

    async def endless():
        while True:
            received.append(1000)
            yield b" " * 1000

    response = small.request("POST", "/predict", content=endless(), headers=JSON)
    assert (response.status_code, response.headers["connection"]) == (413, "close")
    assert sum(received) <= 5000


def test_body_that_arrives_too_slowly_has_status_408(small):
    async def slow():
        yield b"{"
        await asyncio.sleep(5)

    response = small.request("POST", "/predict", content=slow(), headers=JSON)
    assert (response.status_code, response.json()["error_type"]) == (408, "Timeout")


class Blocked:
    """A predictor that waits until it may answer."""

    task, labels = "regression", ("stars",)

    def __init__(self) -> None:
        self.may_answer = threading.Event()
        self.asked: list[str] = []

    def regress(self, texts: list[str]) -> list[float]:
        self.may_answer.wait(10)
        self.asked += texts
        return [1.0] * len(texts)


@pytest.fixture
def blocked(saved, monkeypatch):
    with Application(saved["regressor"], timeout_seconds=1.0, max_queue_tokens=20) as running:
        (model,) = running.state.models
        predictor = Blocked()
        monkeypatch.setattr(model._batcher, "_answers", lambda operation, batch: operation(predictor, batch))
        yield running, predictor
        predictor.may_answer.set()


def test_request_without_an_answer_in_time_has_status_504(blocked):
    application, _ = blocked
    response = application.ask("/predict", {"inputs": "the film"})
    assert (response.status_code, response.json()["error_type"]) == (504, "Timeout")


def test_full_queue_has_status_429_and_retry_after(blocked):
    application, _ = blocked
    assert application.ask("/predict", {"inputs": "film"}).status_code == 504  # the model still works on it
    responses = application.ask_together([("/predict", {"inputs": f"{'film ' * 4}{n}"}) for n in range(8)])
    rejected = [each for each in responses if each.status_code == 429]
    assert len(rejected) >= 4
    assert all(int(each.headers["retry-after"]) >= 1 for each in rejected)
    assert {each.status_code for each in responses} == {429, 504}


def test_full_queue_rejects_a_request_before_its_body_is_read(blocked):
    application, _ = blocked
    assert application.ask("/predict", {"inputs": "film"}).status_code == 504  # the model still works on it
    messages = []

    async def scenario() -> None:
        async with application.client() as client:
            waiting = asyncio.create_task(client.post("/predict", json={"inputs": "film " * 20}))
            await asyncio.sleep(0.05)
            scope, _ = _request(application, b"")
            await application.app(scope, asyncio.get_running_loop().create_future, collect)
            await waiting

    async def collect(message):
        messages.append(message)

    application.run(scenario())
    assert messages[0]["status"] == 429
    assert application.ask("/tokenize", {"inputs": "film"}).status_code == 200


def test_request_that_timed_out_leaves_the_queue(blocked):
    application, predictor = blocked
    for text in ("film", "music"):  # the model has begun the first one, the second one waits
        assert application.ask("/predict", {"inputs": text}).status_code == 504
    predictor.may_answer.set()
    assert application.ask("/predict", {"inputs": "last"}).status_code == 200
    assert predictor.asked == ["film", "last"]


def test_request_whose_client_left_leaves_the_queue(blocked):
    application, predictor = blocked

    async def leave() -> None:
        async with application.client() as client:
            waiting = asyncio.create_task(client.post("/predict", json={"inputs": "film"}))
            await asyncio.sleep(0.1)
            scope, receive = _request(application, b'{"inputs": "gone"}')
            await application.app(scope, receive, _ignore)
            await waiting

    application.run(leave())
    predictor.may_answer.set()
    assert application.ask("/predict", {"inputs": "last"}).status_code == 200
    assert predictor.asked == ["film", "last"]
    assert b"litebert_disconnects_total 1.0" in application.state.metrics.exposition()


def _request(application, body):
    """The scope of a request, and its messages: the body, and then the client has gone."""
    messages = [{"type": "http.disconnect"}, {"type": "http.request", "body": body, "more_body": False}]
    scope = post_scope("/predict")

    async def receive():
        return messages.pop() if messages else await asyncio.get_running_loop().create_future()

    return scope, receive


async def _ignore(message):
    pass


def test_model_that_fails_has_status_500_and_hides_the_error(saved, monkeypatch):
    with Application(saved["regressor"]) as application:
        (model,) = application.state.models
        monkeypatch.setattr(model._batcher, "_answers", lambda operation, batch: 1 / 0)
        response = application.ask("/predict", {"inputs": "a secret"})
    assert (response.status_code, response.json()["error_type"]) == (500, "Backend")
    assert "secret" not in response.text
    assert "division" not in response.text


def test_logs_have_no_text_of_a_request(saved, caplog, monkeypatch):
    caplog.set_level(logging.DEBUG)
    with Application(saved["regressor"]) as application:
        (model,) = application.state.models
        statuses = [application.ask("/predict", {"inputs": each}).status_code for each in ("secret", "secret " * 99)]
        statuses.append(application.ask("/predict", {"secret": 1}).status_code)
        statuses.append(application.ask("/predict", content=b"secret", headers=JSON).status_code)
        monkeypatch.setattr(model._batcher, "_answers", lambda operation, batch: 1 / 0)
        statuses.append(application.ask("/predict", {"inputs": "secret"}).status_code)
    assert statuses == [200, 413, 422, 400, 500]
    assert "ZeroDivisionError" in caplog.text
    assert "secret" not in caplog.text


@pytest.fixture(scope="module")
def with_key(saved, tmp_path_factory):
    path = tmp_path_factory.mktemp("key") / "key"
    path.write_text("correct horse\n")
    with Application(saved["regressor"], api_key_file=path) as running:
        yield running


@pytest.mark.parametrize(
    "header",
    [None, "", "correct horse", "Bearer", "Bearer wrong", "Bearer correct horse 2", "Basic correct horse", "é"],
)
def test_requests_without_the_key_have_status_401(with_key, header):
    headers = {} if header is None else {"authorization": header.encode()}
    for route in ("/", "/predict", "/info", "/nothing", "/reload"):
        response = with_key.ask(route, {"inputs": "a"}, headers=headers)
        assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("header", ["Bearer correct horse", "bearer correct horse", "BEARER  correct horse"])
def test_requests_with_the_key_are_answered_in_any_case_of_the_scheme(with_key, header):
    """RFC 9110, section 11.1: the name of the scheme is case-insensitive."""
    assert with_key.ask("/predict", {"inputs": "a"}, headers={"authorization": header}).status_code == 200


def test_public_routes_need_no_key(with_key):
    for route in ("/", "/docs", "/openapi.json", "/health", "/ready", "/metrics", "/page/page.js"):
        assert with_key.request("GET", route).status_code == 200, route


def test_api_key_is_read_from_the_file_or_the_environment(monkeypatch, tmp_path):
    settings = ServeSettings(models=("a",))
    assert read_api_key(settings) is None
    monkeypatch.setenv(API_KEY, "key")
    assert read_api_key(settings) == "key"
    monkeypatch.setenv(API_KEY, "key\n")
    assert read_api_key(settings) == "key"
    monkeypatch.setenv(API_KEY, " ")
    with pytest.raises(ConfigError, match="is empty or not ASCII"):
        read_api_key(settings)
    (tmp_path / "empty").write_text(" \n")
    for path, message in ((tmp_path / "empty", "is empty"), (tmp_path / "none", "cannot be read")):
        with pytest.raises(ConfigError, match=message):
            read_api_key(settings.replace(api_key_file=str(path)))


def test_models_are_named_after_their_directories(tmp_path):
    found = directories_by_name((str(tmp_path / "run" / "model"), "other=x/run"))
    assert found == {"run": str(tmp_path / "run" / "model"), "other": "x/run"}
    with pytest.raises(ConfigError, match="two of them have the name 'run'"):
        directories_by_name(("x/run", "y/run"))
    with pytest.raises(ConfigError, match="other: the value is empty"):
        directories_by_name(("other=",))
    with pytest.raises(ConfigError, match="the name of x/run: the value is empty"):
        directories_by_name(("=x/run",))


def test_names_of_models_may_have_equals_signs_and_links_keep_theirs(tmp_path):
    trial = tmp_path / "learning_rate=2e-05,seed=0"
    trial.mkdir()
    (tmp_path / "current").symlink_to(trial)
    models = (str(trial), f"best={trial}", str(tmp_path / "current"), "/model")
    assert list(directories_by_name(models)) == [trial.name, "best", "current", "model"]
    assert directories_by_name(models)["best"] == str(trial)


def test_unexpected_error_of_a_route_is_counted_and_logged_once(saved, caplog, monkeypatch):
    with Application(saved["regressor"]) as application:
        monkeypatch.setattr(application.state.models, "find", lambda *arguments: 1 / 0)
        response = application.ask("/predict", {"inputs": "a"})
        exposition = application.state.metrics.exposition()
    assert (response.status_code, response.json()["error_type"]) == (500, "Backend")
    assert "x-total-time" in response.headers
    assert b'litebert_requests_total{route="/predict",status="500"} 1.0' in exposition
    assert caplog.text.count("Traceback") == 1


def test_requests_that_are_refused_before_routing_are_counted_by_their_route(saved, tmp_path):
    (tmp_path / "key").write_text("key")
    with Application(saved["regressor"], api_key_file=tmp_path / "key") as application:
        for route in ("/predict", "/nothing"):
            assert application.ask(route, {"inputs": "a"}).status_code == 401
        exposition = application.state.metrics.exposition()
    assert b'litebert_requests_total{route="/predict",status="401"} 1.0' in exposition
    assert b'litebert_requests_total{route="other",status="401"} 1.0' in exposition


def test_client_that_leaves_while_it_sends_is_counted_and_not_answered(saved):
    sent = []

    async def collect(message):
        sent.append(message)

    with Application(saved["regressor"]) as application:
        messages = [{"type": "http.disconnect"}, {"type": "http.request", "body": b"{", "more_body": True}]

        async def receive():
            return messages.pop()

        application.run(application.app(post_scope("/predict"), receive, collect))
        assert not sent
        assert b"litebert_disconnects_total 1.0" in application.state.metrics.exposition()


@pytest.mark.parametrize(("last", "disconnects"), [(True, 0.0), (False, 1.0)], ids=["complete", "partial"])
@pytest.mark.parametrize("path", ["/", "/page/page.js"])
def test_file_that_was_sent_completely_is_no_disconnect(saved, path, last, disconnects):
    """Servers report after the last byte that the client has gone, while the application still closes the file."""

    async def ask(application):
        has_gone = asyncio.Event()
        messages = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive():
            if messages:
                return messages.pop()
            await has_gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            is_last = message["type"] == "http.response.body" and not message.get("more_body", False)
            if is_last == last:
                has_gone.set()
                await asyncio.sleep(0 if last else 0.1)

        await application.app({**post_scope(path), "method": "GET"}, receive, send)

    with Application(saved["regressor"]) as application:
        application.run(ask(application))
        assert f"litebert_disconnects_total {disconnects}".encode() in application.state.metrics.exposition()


def test_more_requests_than_the_limit_are_refused_before_they_are_read(blocked):
    application, _ = blocked
    application.state.settings = application.state.settings.replace(max_requests=2)
    responses = application.ask_together([("/predict", {"inputs": "film"})] * 5)
    refused = [each for each in responses if each.status_code == 429]
    assert len(refused) == 3
    assert all("2 requests are being answered, the limit" in each.text for each in refused)
    counted = b'litebert_rejected_total{limit="max_requests",model=""} 3.0'
    assert counted in application.state.metrics.exposition()
    assert application.request("GET", "/health").status_code == 200
    assert application.ask("/tokenize", {"inputs": "film"}).status_code == 200


def test_multiple_choice_reads_as_many_tokens_as_the_model(saved, tiny_tokenizer):
    """The sequence is [CLS] text [SEP] question and option [SEP]; of the second part 128 tokens are read at most."""
    from litebert.inference.prediction_methods import MAX_ANSWER_LENGTH

    with Application(saved["chooser"]) as application:
        (model,) = application.state.models
        text, question, options = "film " * 20, "music", ["good", "bad"]
        length = len(tiny_tokenizer.encode(text)) + len(tiny_tokenizer.encode("music good")) + 3
        body = {"text": text, "question": question, "options": options}
        object.__setattr__(model.loaded, "max_length", length)
        assert application.ask("/multiple-choice", body).status_code == 200
        object.__setattr__(model.loaded, "max_length", length - 1)
        assert application.ask("/multiple-choice", body).status_code == 413
        object.__setattr__(model.loaded, "max_length", 10_000)
        body["question"] = "music " * MAX_ANSWER_LENGTH
        response = application.ask("/multiple-choice", body)
        assert (response.status_code, f"the limit is {MAX_ANSWER_LENGTH}" in response.text) == (413, True)
        assert application.ask("/multiple-choice", {**body, "truncate": True}).status_code == 200
