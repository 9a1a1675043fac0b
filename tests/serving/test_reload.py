"""New weights for a running server: POST /reload and signals, in one process and in several."""

import asyncio
import gc
import os
import shutil
import signal
import time
import weakref

import httpx
import pytest

pytest.importorskip("uvicorn")

from litebert.serving import server_state
from litebert.serving.loaded_model import digest_of
from litebert.serving.server_state import freeze_heap
from support.programs.serving import Application, ServerProcess

KEY = {"authorization": "Bearer key"}


@pytest.fixture
def directory(saved, tmp_path):
    """A model directory that may be changed."""
    return shutil.copytree(saved["regressor"], tmp_path / "current")


@pytest.fixture
def server(directory, saved, monkeypatch):
    monkeypatch.setenv("LITEBERT_API_KEY", "key")
    monkeypatch.setattr(server_state, "freeze_heap", lambda: None)
    with Application(directory, saved["classifier"]) as running:
        yield running


def change(directory) -> str:
    """Another file in the directory; its new digest."""
    (directory / "SHA256SUMS").unlink(missing_ok=True)
    (directory / "note.txt").write_text(str(time.monotonic_ns()))
    return digest_of(directory)


def digests(server) -> dict[str, str]:
    return {each.name: each.loaded.digest for each in server.state.models}


@pytest.mark.parametrize("body", [b"", b"{}", b'{"model": null}', b"null"])
def test_reload_without_a_name_loads_every_model(server, directory, body):
    before = list(server.state.models)
    digest = change(directory)
    response = server.ask("/reload", content=body, headers={**KEY, "content-type": "application/json"})
    assert response.status_code == 200
    assert response.json() == {"models": [{"name": name, "digest": each} for name, each in digests(server).items()]}
    assert digests(server)["current"] == digest != before[0].loaded.digest
    assert not set(before) & set(server.state.models)


def test_reload_of_one_model_keeps_the_others(server):
    regressor, classifier = server.state.models
    response = server.ask("/reload", {"model": "current"}, headers=KEY)
    assert [each["name"] for each in response.json()["models"]] == ["current"]
    assert [each is old for each, old in zip(server.state.models, (regressor, classifier))] == [False, True]
    assert server.ask("/reload", {"model": "other"}, headers=KEY).status_code == 404


def test_reload_of_a_directory_with_an_error_keeps_every_model(server, directory, saved, caplog):
    before = list(server.state.models)
    (directory / "config.json").write_text("{}")
    response = server.ask("/reload", headers=KEY)
    assert (response.status_code, response.json()["error_type"]) == (409, "Reload")
    assert "the model in use stays" in response.json()["error"]
    assert "the model in use stays" in caplog.text
    shutil.rmtree(directory)
    shutil.copytree(saved["tagger"], directory)
    response = server.ask("/reload", headers=KEY)
    assert response.status_code == 409
    assert "is for token_classification, the one in use for regression" in response.json()["error"]
    assert list(server.state.models) == before


def test_unexpected_error_of_a_reload_is_logged_and_keeps_the_models(server, caplog, monkeypatch):
    before = list(server.state.models)

    async def fail(*arguments, **options):
        raise MemoryError("no memory for the new model")

    async def scenario():
        monkeypatch.setattr(server.state.models, "reload", fail)
        await asyncio.gather(server.state.start_reload(), return_exceptions=True)

    server.run(scenario())
    assert "reload: an unexpected error; the models in use stay" in caplog.text
    assert "no memory for the new model" in caplog.text
    assert list(server.state.models) == before


def test_reload_needs_a_server_with_a_key(saved, server, monkeypatch):
    assert server.ask("/reload").status_code == 401
    monkeypatch.delenv("LITEBERT_API_KEY")
    with Application(saved["regressor"]) as without_key:
        assert without_key.ask("/reload", {}).status_code == 403


def test_reload_ends_also_if_the_client_leaves(server, monkeypatch):
    before = list(server.state.models)

    async def scenario():
        request = asyncio.create_task(server.client(**KEY).post("/reload"))
        while not server.state._reloads:
            await asyncio.sleep(0)
        request.cancel()
        await asyncio.gather(*server.state._reloads)

    server.run(scenario())
    assert not set(before) & set(server.state.models)


def test_information_and_metrics_have_the_digest_of_the_files(server, directory):
    old, new = digest_of(directory), change(directory)
    assert server.ask("/reload", {"model": "current"}, headers=KEY).status_code == 200
    models = server.request("GET", "/info", headers=KEY).json()["models"]
    assert [each["digest"] for each in models] == list(digests(server).values())
    metrics = server.request("GET", "/metrics").text
    for digest, workers in ((old, 0.0), (new, 1.0)):
        assert f'litebert_model_workers{{digest="{digest}",model="current"}} {workers}\n' in metrics


def test_digest_is_that_of_the_checksums_with_or_without_a_manifest(directory):
    with_manifest = digest_of(directory)
    (directory / "SHA256SUMS").unlink()
    assert digest_of(directory) == with_manifest
    (directory / "config.json").write_text("{}")
    assert digest_of(directory) != with_manifest


def test_worker_tells_its_parent_when_it_has_the_new_models(server, directory, monkeypatch):
    signals = []
    monkeypatch.setattr(os, "kill", lambda *sent: signals.append(sent))
    server.state.supervisor = 7
    response = server.ask("/reload", headers=KEY)
    assert (response.status_code, signals) == (202, [(7, signal.SIGUSR1)])
    (directory / "config.json").write_text("{}")
    assert server.ask("/reload", headers=KEY).status_code == 409
    assert len(signals) == 1
    response = server.ask("/reload", {"model": "current"}, headers=KEY)
    assert (response.status_code, response.json()["error"][:7]) == (422, "model: ")


def test_worker_that_follows_loads_only_what_has_changed(server, directory):
    before = list(server.state.models)
    digest = change(directory)

    async def follow():
        await server.state.start_reload(only_changed=True)

    server.run(follow())
    assert digests(server)["current"] == digest
    assert [each is old for each, old in zip(server.state.models, before)] == [False, True]


def test_garbage_collections_leave_out_what_was_loaded(server, monkeypatch):
    """Also after a reload; the models before it are collected."""
    testclient = pytest.importorskip("fastapi.testclient")
    old = weakref.ref(next(iter(server.state.models)).loaded.predictor)
    monkeypatch.setattr(server_state, "freeze_heap", freeze_heap)
    gc.unfreeze()  # conftest.py froze everything
    try:
        with testclient.TestClient(server.app) as client:
            assert gc.get_freeze_count() > 10_000
            assert client.post("/reload", headers=KEY).status_code == 200
            assert gc.get_freeze_count() > 10_000
            assert old() is None
    finally:
        gc.freeze()


def wait_for(server: ServerProcess, digest: str, *, workers: int) -> None:
    """Until so many workers answer with these files."""
    expected = f'litebert_model_workers{{digest="{digest}",model="current"}} {workers}.0'
    deadline = time.monotonic() + 60
    while expected not in (metrics := httpx.get(f"{server.url}/metrics").text):
        assert time.monotonic() < deadline, metrics
        time.sleep(0.2)


@pytest.mark.slow
def test_workers_reload_together_and_stay_with_their_models_if_it_fails(directory, saved):
    with ServerProcess(directory, "--workers", "2", LITEBERT_API_KEY="key") as server:
        old, new = digest_of(directory), change(directory)
        assert httpx.post(f"{server.url}/reload", headers=KEY, timeout=60).status_code == 202
        wait_for(server, new, workers=2)
        assert f'digest="{old}",model="current"}} 0.0' in httpx.get(f"{server.url}/metrics").text
        newest = change(directory)
        server.process.send_signal(signal.SIGHUP)
        wait_for(server, newest, workers=2)
        (directory / "config.json").rename(directory / "moved")
        assert httpx.post(f"{server.url}/reload", headers=KEY, timeout=60).status_code == 409
        server.process.send_signal(signal.SIGHUP)
        os.kill(server.worker_ids()[0], signal.SIGKILL)
        for _ in range(20):  # for ten seconds its successors cannot start
            assert httpx.post(f"{server.url}/predict", json={"inputs": "a"}, headers=KEY).status_code == 200
            time.sleep(0.5)
        wait_for(server, newest, workers=1)
        (directory / "moved").rename(directory / "config.json")
        wait_for(server, newest, workers=2)
    log = server.stop()
    assert log.count("reloaded current") == 4
    assert "has no config.json; give a model or a run; the model in use stays" in log
