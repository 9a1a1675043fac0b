"""`litebert serve` and the client of a page without a network: the application answers in this process."""

import functools
from contextlib import nullcontext

import pytest


def serve_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """`litebert serve` returns when its models are loaded; the OpenAI client then calls that application."""
    from litebert.commands import serve

    def run(app, *_):
        openai, testclient = pytest.importorskip("openai"), pytest.importorskip("fastapi.testclient")
        client = functools.partial(openai.OpenAI, http_client=testclient.TestClient(app))
        monkeypatch.setattr(openai, "OpenAI", client)

    monkeypatch.setattr(serve, "listen", lambda settings: nullcontext())
    monkeypatch.setattr(serve, "_run", run)
