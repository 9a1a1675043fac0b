"""Protects the server from its clients: the key, limits of bodies, time limits, and clients that have gone."""

import asyncio
import hmac
import time
from typing import Any, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from litebert.serving.http.http_errors import (
    AnswerTimeoutError,
    OverloadedError,
    RequestError,
    SlowBodyError,
    TooLargeError,
    UnauthorizedError,
    unexpected_response,
)
from litebert.serving.http.json_body import check_json_body
from litebert.serving.server_state import ServerState

PUBLIC: Final = ("/", "/docs", "/openapi.json", "/health", "/ready", "/metrics")
"""Routes that need no key."""
PAGE_FILES: Final = "/page/"
"""Neither do the files of the page."""


class RequestGuard:
    """ASGI middleware around every request."""

    def __init__(self, app: ASGIApp, state: ServerState) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or end it with a `RequestError`."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if (scope["method"], scope["path"]) == ("POST", "/"):  # as text-embeddings-inference; GET is the page
            path = next(iter(self._state.models)).loaded.routes[0]
            scope = {**scope, "path": path, "raw_path": path.encode()}
        response = _Response(self._state, scope, send)
        self._state.requests += 1
        try:
            check_key(self._state.api_key, scope)
            self._check_capacity(scope)
            headers = Headers(scope=scope)
            body = await self._read_body(headers, receive)
            if body is None:
                self._state.metrics.disconnects.inc()
                return
            if body and scope["method"] == "POST":
                check_json_body(
                    body,
                    content_type=headers.get("content-type", ""),
                    max_texts=self._state.settings.max_texts_per_request,
                )
            await self._answer(scope, body, receive, response)
        except RequestError as error:
            await error.response()(scope, receive, response.send)
        except Exception as error:
            if response.has_started:
                raise
            await unexpected_response(scope["path"], error)(scope, receive, response.send)
        finally:
            self._state.requests -= 1
            response.count()

    def _check_capacity(self, scope: Scope) -> None:
        """Raise OverloadedError for a request that need not be read, because nothing more can wait."""
        limit = self._state.settings.max_requests
        if scope["method"] == "POST" and self._state.requests > limit:
            self._state.metrics.rejected.labels("", "max_requests").inc()  # before the body says which model
            raise OverloadedError(f"{limit} requests are being answered, the limit; try again later", **_CLOSE)
        self._state.models.check_capacity(scope["path"])

    async def _read_body(self, headers: Headers, receive: Receive) -> bytes | None:
        """The whole body, of which no more than the limit is ever in memory; None if the client has gone.

        A body whose length is declared as more than the limit is not waited for.
        """
        seconds = self._state.settings.receive_timeout_seconds
        declared = headers.get("content-length", "")
        self._check_length(int(declared) if declared.isdigit() else 0)
        body = bytearray()
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    self._check_length(len(body))
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise SlowBodyError(f"body: not received within {seconds:g} seconds; send it again", **_CLOSE) from None

    def _check_length(self, size: int) -> None:
        limit = self._state.settings.max_body_bytes
        if size > limit:
            raise TooLargeError(f"body: more than the limit of {limit} bytes; send several requests", **_CLOSE)

    async def _answer(self, scope: Scope, body: bytes, receive: Receive, response: "_Response") -> None:
        """Run the application until it has answered, the client has gone, or the time is up."""
        answer = asyncio.ensure_future(self._app(scope, _replay(body), response.send))
        gone = asyncio.ensure_future(_disconnected(receive))
        seconds = self._state.settings.timeout_seconds
        try:
            await asyncio.wait({answer, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                answer.result()
            elif gone.done() and not response.is_complete:
                self._state.metrics.disconnects.inc()
            elif not response.has_started:
                raise AnswerTimeoutError(f"no answer within {seconds:g} seconds, the limit; try again later")
        finally:
            await _cancel(answer, gone)


class _Response:
    """The response of one request, with its metrics and the headers that every response has."""

    def __init__(self, state: ServerState, scope: Scope, send: Send) -> None:
        self._state = state
        self._scope = scope
        self._send = send
        self._started = time.monotonic()
        self.has_started = False
        self.is_complete = False
        """Whether its last byte was sent: then servers report that the client has gone, also if it has not."""
        self._status = 0

    async def send(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            self.has_started, self._status = True, message["status"]
            headers = MutableHeaders(scope=message)
            headers["x-total-time"] = f"{(time.monotonic() - self._started) * 1000:.1f}"
            if self._state.is_draining:
                headers["connection"] = "close"
        await self._send(message)
        self.is_complete = message["type"] == "http.response.body" and not message.get("more_body", False)

    def count(self) -> None:
        """Add the request to the metrics, if it was answered; paths without a route count as one."""
        if self.has_started:
            route = self._route()
            self._state.metrics.requests.labels(route, self._status).inc()
            self._state.metrics.request_seconds.labels(route).observe(time.monotonic() - self._started)

    def _route(self) -> str:
        """The path of the route; of a request refused before routing, its own if there is such a route."""
        if (matched := self._scope.get("route")) is not None:
            return getattr(matched, "path", "other")
        path = self._scope["path"]
        return path if path in self._scope["app"].openapi()["paths"] else "other"


def check_key(api_key: str | None, scope: Scope) -> None:
    """Raise UnauthorizedError for a request without the key, if there is one and the route needs it."""
    path = scope["path"]
    if api_key is None or path in PUBLIC or path.startswith(PAGE_FILES):
        return
    scheme, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
    is_equal = hmac.compare_digest(given.strip().encode("latin-1"), api_key.encode())
    if scheme.lower() != "bearer" or not is_equal:
        raise UnauthorizedError(
            "the key is missing or wrong; send the header `Authorization: Bearer KEY`",
            headers={"WWW-Authenticate": "Bearer", **_CLOSE["headers"]},
        )


_CLOSE: Final[dict[str, Any]] = {"headers": {"Connection": "close"}}
"""For errors before the body was read, after which the connection cannot be used again."""


def _replay(body: bytes) -> Receive:
    """The body as one message, and then nothing: `RequestGuard` looks after the connection."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else await asyncio.get_running_loop().create_future()

    return receive


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel(*tasks: asyncio.Future[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
