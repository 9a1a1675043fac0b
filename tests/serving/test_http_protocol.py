"""Connections whose client takes too long for the headers of a request."""

import asyncio

import pytest

pytest.importorskip("uvicorn")

from litebert.serving.http import http_protocol

APPLICATION_ANSWER = b"HTTP/1.1 200 OK"


async def application(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def served(client):
    """What `client(reader, writer)` returns, with a server that uses the protocol."""
    from uvicorn import Config
    from uvicorn.server import ServerState

    config = Config(application, ws="none", log_level="error", lifespan="off")
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: http_protocol.TimedHttpProtocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        return await asyncio.wait_for(client(reader, writer), 10)
    finally:
        writer.close()
        server.close()
        await server.wait_closed()


@pytest.fixture(autouse=True)
def short_time(monkeypatch):
    monkeypatch.setattr(http_protocol, "HEADERS_SECONDS", 0.2)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost:"])
def test_connection_without_complete_headers_is_closed(sent):
    async def client(reader, writer):
        writer.write(sent)
        return await reader.read()

    assert asyncio.run(served(client)) == b""


def test_second_request_has_the_same_time_for_its_headers():
    async def client(reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        first = await reader.readuntil(b"ok")
        writer.write(b"GET / HTT")
        return first, await reader.read()

    first, second = asyncio.run(served(client))
    assert first.startswith(APPLICATION_ANSWER)
    assert second == b""


def test_body_may_take_longer_than_the_headers():
    async def client(reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n1")
        await asyncio.sleep(0.5)
        writer.write(b"2")
        return await reader.readuntil(b"ok")

    assert asyncio.run(served(client)).startswith(APPLICATION_ANSWER)
