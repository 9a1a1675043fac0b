"""Bodies that are not read: too many texts, too long, other encodings; and the sentences about wrong fields."""

import asyncio
import json

import pytest

from litebert.serving.http.json_body import check_json_body
from support.programs.serving import Application, post_scope

JSON = {"content-type": "application/json"}
MANY = [None] * 100_000
"""No texts: a server that validates them first has another status."""


@pytest.fixture(scope="module")
def server(saved):
    names = ("embedder", "classifier", "regressor", "masked", "tagger", "reader", "chooser")
    with Application(*(saved[name] for name in names)) as running:
        yield running


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("/predict", {"inputs": MANY}),
        ("/embed", {"inputs": MANY}),
        ("/v1/embeddings", {"model": "embedder", "input": MANY}),
        ("/token-classification", {"inputs": MANY}),
        ("/question-answering", {"inputs": MANY}),
        ("/fill-mask", {"inputs": MANY}),
        ("/tokenize", {"inputs": MANY}),
        ("/rerank", {"query": "a", "texts": MANY}),
        ("/similarity", {"inputs": {"source_sentence": "a", "sentences": MANY}}),
        ("/multiple-choice", {"text": "a", "options": MANY}),
    ],
)
def test_number_of_texts_is_checked_before_the_texts(server, route, body):
    response = server.ask(route, content=json.dumps(body).encode(), headers=JSON)
    assert response.status_code == 413
    assert "100000 texts, the limit of one request is 64" in response.json()["error"]


def test_list_of_token_ids_is_one_text(server):
    ids = [[token["id"] for token in each] for each in server.ask("/tokenize", {"inputs": ["the film " * 40]}).json()]
    assert len(ids[0]) > 64
    assert server.ask("/embed", {"inputs": ids[0][:80]}).status_code == 200


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "latin-1"])
def test_body_in_another_encoding_than_utf_8_has_status_400(server, encoding):
    content = '{"inputs": "the café"}'.encode(encoding)
    response = server.ask("/predict", content=content, headers=JSON)
    assert response.status_code == 400
    assert "send JSON in UTF-8" in response.json()["error"]
    assert "caf" not in response.text


def test_byte_order_mark_of_utf_8_is_ignored(server):
    response = server.ask("/predict", content='{"inputs": "the café"}'.encode("utf-8-sig"), headers=JSON)
    assert response.json() == server.ask("/predict", {"inputs": "the café"}).json()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"inputs": "a",}', "not JSON, the error is at character 15"),
        (b'{"inputs": "\xc3("}', "not UTF-8, the error is at byte 12"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"inputs": ' + b"1" * 5000 + b"}", "a number has too many digits"),
    ],
)
def test_error_of_a_body_that_is_not_json_says_where(server, content, message):
    response = server.ask("/predict", content=content, headers=JSON)
    assert (response.status_code, response.json()["error_type"]) == (400, "Validation")
    assert message in response.json()["error"]


@pytest.mark.parametrize("content_type", ["", "text/plain", "text/json", "application/jsonx", "multipart/form-data"])
def test_body_of_another_content_type_is_refused(server, content_type):
    response = server.ask("/predict", content=b'{"inputs": "a"}', headers={"content-type": content_type})
    assert response.status_code == 422
    assert "send the header `Content-Type: application/json`" in response.json()["error"]


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON", "application/x+json"])
def test_body_of_every_json_content_type_is_read(content_type):
    check_json_body(b'{"inputs": "a"}', content_type=content_type, max_texts=1)


PREDICT = "a text, a pair [text, pair], or a list of one or more [text] and [text, pair]"
EMBED = "a text, its token ids (a list of integers from 0), or a list of one or more of these"
TAGS = "a text, or a list of one or more texts, or of one or more lists of one or more words"
QUESTIONS = 'an object with the texts "question" and "context", or a list of one or more of these'
TEXTS = "a text, or a list of one or more texts"


@pytest.mark.parametrize(
    ("route", "inputs", "accepted"),
    [
        *(("/predict", each, PREDICT) for each in (1, None, [], {}, [[]], ["a", 1], ["a"] * 3, [["a"] * 3])),
        *(("/embed", each, EMBED) for each in (1.5, True, [], [-1], [[1, -1]], [[]], ["a", None], [1, "a"])),
        *(("/token-classification", each, TAGS) for each in (1, [], [[]], [["a"], 1], [["a", 1]])),
        *(("/question-answering", each, QUESTIONS) for each in ("a", [], {"question": "a"}, [{"question": 1}])),
        *((route, each, TEXTS) for route in ("/fill-mask", "/tokenize") for each in (1, [], ["a", 1], {})),
    ],
)
def test_error_of_a_wrong_field_is_one_sentence_that_says_what_is_accepted(server, route, inputs, accepted):
    response = server.ask(route, content=json.dumps({"inputs": inputs}).encode(), headers=JSON)
    assert (response.status_code, response.json()["error"]) == (422, f"inputs: expected {accepted}; see /docs")


@pytest.mark.parametrize("inputs", ["\ud800", ["a", "\ud800"], [["a"], ["a", "\ud800"]]])
@pytest.mark.parametrize("route", ["/predict", "/token-classification"])
def test_half_of_a_surrogate_pair_is_refused_in_texts_of_every_form(server, route, inputs):
    response = server.ask(route, content=json.dumps({"inputs": inputs}).encode(), headers=JSON)
    assert response.json()["error"] == "inputs: a text has a lone surrogate, which is not a character; see /docs"


@pytest.mark.parametrize("body", [b"[]", b'"a"', b"1", b"null"])
def test_body_that_is_no_object_is_refused_in_one_sentence(server, body):
    response = server.ask("/predict", content=body, headers=JSON)
    assert response.status_code == 422
    assert response.json()["error"].startswith("body: ")


def test_body_with_a_declared_length_over_the_limit_is_not_waited_for(server):
    sent = []
    scope = post_scope("/predict", [(b"content-length", b"2000001")])

    async def receive():
        raise AssertionError("the body was read")

    async def send(message):
        sent.append(message)

    server.run(asyncio.wait_for(server.app(scope, receive, send), 5))
    assert sent[0]["status"] == 413
    assert (b"connection", b"close") in sent[0]["headers"]
    assert b"the limit of 2000000 bytes" in sent[1]["body"]
