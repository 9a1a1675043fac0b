"""`litebert serve` as a process: load, signals, killed workers, slow clients."""

import asyncio
import os
import shutil
import signal
import socket
import time
from collections import Counter
from contextlib import ExitStack

import httpx
import pytest

from litebert.cli.main import main
from litebert.commands.serve import listen
from litebert.inference.predictor import Predictor
from litebert.serving.serve_settings import ServeSettings
from support.models.tolerances import close_to
from support.programs.serving import ServerProcess
from support.runs.full_mode import trials

TEXTS = [" ".join(["the film was good", "music"][: 1 + n % 2] * (1 + n % 3)) for n in range(50)]


@pytest.fixture(scope="module")
def expected(saved) -> dict[str, float]:
    return dict(zip(TEXTS, Predictor.load(saved["regressor"]).regress(TEXTS), strict=True))


async def ask_all(url: str, texts: list[str], *, clients: int) -> list[tuple[str, httpx.Response]]:
    """(text, response) of each text; `clients` ask at once, until the server ends its connections."""
    waiting = iter(texts)
    seen: list[tuple[str, httpx.Response]] = []

    async def client() -> None:
        async with httpx.AsyncClient(base_url=url, timeout=60, verify=False) as session:
            for text in waiting:
                seen.append((text, await session.post("/predict", json={"inputs": text})))
                if seen[-1][1].headers.get("connection") == "close":
                    return

    await asyncio.gather(*(client() for _ in range(clients)))
    return seen


def check_answers(seen, expected: dict[str, float]) -> None:
    for text, response in seen:
        assert response.status_code == 200, response.text
        assert response.json()[0]["score"] == close_to(expected[text])


@pytest.fixture(scope="module")
def server(saved):
    with ServerProcess(saved["regressor"]) as running:
        yield running


def test_server_loses_and_mixes_up_no_answer_to_many_clients(server, expected):
    texts = TEXTS * (trials(4, 100))
    seen = asyncio.run(ask_all(server.url, texts, clients=64))
    assert Counter(text for text, _ in seen) == Counter(texts)
    check_answers(seen, expected)


def test_sigterm_under_load_answers_every_accepted_request(saved, expected):
    server = ServerProcess(saved["regressor"])
    server.wait_until_ready()

    async def scenario():
        load = asyncio.create_task(ask_all(server.url, TEXTS * 100, clients=8))
        await asyncio.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.2)
        ready = httpx.get(f"{server.url}/ready")
        return await load, ready

    seen, ready = asyncio.run(scenario())
    assert (ready.status_code, ready.json()["error_type"]) == (503, "Unhealthy")
    check_answers(seen, expected)
    assert sum(response.headers.get("connection") == "close" for _, response in seen) == 8
    assert server.process.wait(timeout=30) == -signal.SIGTERM
    assert "not ready; ending in 1 seconds" in server.stop()


@pytest.mark.slow
def test_killed_worker_is_replaced_and_the_others_continue(saved, expected):
    with ServerProcess(saved["regressor"], "--workers", "2") as server:
        workers = server.worker_ids()
        os.kill(workers[0], signal.SIGKILL)
        # Connections of the killed worker are gone; new ones go to the other.
        check_answers(asyncio.run(ask_all(server.url, TEXTS, clients=4)), expected)
        deadline = time.monotonic() + 60
        while len(new := set(server.worker_ids()) - {workers[0]}) < 2 and time.monotonic() < deadline:
            time.sleep(0.2)
        assert len(new) == 2
        metrics = httpx.get(f"{server.url}/metrics").text
    assert 'litebert_requests_total{route="/predict",status="200"}' in metrics


def test_sighup_replaces_the_model_without_losing_a_request(saved, tmp_path, tiny_tokenizer, expected):
    directory = tmp_path / "current"
    shutil.copytree(saved["regressor"], directory)
    with ServerProcess(directory) as server:
        before = loaded_at(server)

        async def scenario():
            load = asyncio.create_task(ask_all(server.url, TEXTS * 6, clients=8))
            await asyncio.sleep(0.2)
            server.process.send_signal(signal.SIGHUP)
            return await load

        time.sleep(1.1)  # `loaded_at` counts seconds
        check_answers(asyncio.run(scenario()), expected)
        deadline = time.monotonic() + 30
        while loaded_at(server) == before and time.monotonic() < deadline:
            time.sleep(0.05)
        assert loaded_at(server) > before
        (directory / "config.json").write_text("{}")
        server.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        check_answers(asyncio.run(ask_all(server.url, TEXTS[:3], clients=1)), expected)
    assert "the model in use stays" in server.stop()


def loaded_at(server: ServerProcess) -> str:
    return httpx.get(f"{server.url}/info").json()["models"][0]["loaded_at"]


def test_clients_that_send_slowly_or_leave_do_not_disturb_others(server, expected):
    address = server.url.removeprefix("http://").split(":")
    with ExitStack() as stack:
        for index in range(50):
            slow = stack.enter_context(socket.create_connection((address[0], int(address[1]))))
            slow.sendall(b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n")
            if index % 2:
                slow.sendall(b'Content-Length: 20\r\n\r\n{"inputs": "fi')
            if index % 3 == 0:
                slow.close()
        check_answers(asyncio.run(ask_all(server.url, TEXTS[:8], clients=4)), expected)


def test_serve_ends_with_the_exit_code_of_the_error(saved, tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, code, message in (
            ([str(tmp_path / "none"), "--port", "0"], 4, "none"),
            ([str(saved["regressor"]), "--port", port], 2, "cannot listen there"),
            ([str(tmp_path / "none"), "--port", "0", "--workers", "2"], 4, "none"),
        ):
            assert main(["serve", *arguments]) == code
            assert message in capsys.readouterr().err


def test_connections_send_small_parts_of_a_response_at_once():
    """With TCP_NODELAY; otherwise the body of a response waits 40 ms for the acknowledgement of its headers."""
    accepted = []

    class Recorder(asyncio.Protocol):
        def connection_made(self, transport):
            accepted.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    async def connect(listener):
        async with await asyncio.get_running_loop().create_server(Recorder, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            while not accepted:
                await asyncio.sleep(0.01)
            writer.close()

    with listen(ServeSettings(models=("a",), port=0)) as listener:
        asyncio.run(connect(listener))
    assert accepted[0] != 0


@pytest.mark.parametrize(("host", "reached"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "127.0.0.1")])
def test_server_listens_on_addresses_of_both_families(host, reached):
    """`::` means every interface, of IPv4 too."""
    if ":" in host and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with listen(ServeSettings(models=("a",), host=host, port=0)) as listener:
        socket.create_connection((reached, listener.getsockname()[1]), timeout=5).close()
