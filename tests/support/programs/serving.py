"""Servers for tests: the application in this process, and `litebert serve` in another."""

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import httpx

from litebert.serving.app import create_app
from litebert.serving.serve_settings import ServeSettings
from support.programs.forks import ForkedPopen

Request = tuple[str, dict[str, Any]]
"""Route and body."""


class Application:
    """An application in this process, without a network."""

    def __init__(self, *models: Path | str, **settings: Any) -> None:
        self.app = create_app(ServeSettings(models=tuple(map(str, models)), **settings))
        self.state = self.app.state.server
        self._runner = asyncio.Runner()

    def ask_together(self, requests: Sequence[Request], **headers: str) -> list[httpx.Response]:
        """The responses to requests that are sent at once."""

        async def ask() -> list[httpx.Response]:
            async with self.client(**headers) as client:
                return await asyncio.gather(*(client.post(route, json=body) for route, body in requests))

        return self.run(ask())

    def ask(self, route: str, body: Any = None, **options: Any) -> httpx.Response:
        """The response to one POST request."""
        return self.request("POST", route, **({"json": body} if body is not None else {}), **options)

    def request(self, method: str, route: str, **options: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            async with self.client() as client:
                return await client.request(method, route, **options)

        return self.run(ask())

    def client(self, **headers: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app, raise_app_exceptions=False),
            base_url="http://127.0.0.1",
            headers=headers,
            timeout=60,
        )

    def run(self, coroutine: Any) -> Any:
        return self._runner.run(coroutine)

    def close(self) -> None:
        self.run(self.state.models.close())
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class ServerProcess:
    """`litebert serve` on a free port."""

    def __init__(self, *arguments: Path | str, **environment: str) -> None:
        self.process = ForkedPopen(
            [sys.executable, "-m", "litebert", "serve", *map(str, arguments), "--port", "0"],
            stderr=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
            text=True,
        )
        self.log: list[str] = []
        self.url = self._url()

    def _url(self) -> str:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if match := re.search(r"listening on (http://\S+:\d+)", line):
                return match[1]
        raise AssertionError("".join(self.log))

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.url}/ready", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError("not ready within 60 seconds")

    def worker_ids(self) -> list[int]:
        """Process ids of the workers: uvicorn starts them, and a process that tracks shared resources."""
        parent = self.process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [int(each) for each in children if "spawn_main" in Path(f"/proc/{each}/cmdline").read_text()]

    def stop(self) -> str:
        """What is left on stderr, after the end."""
        if self.process.stderr is None or self.process.stderr.closed:
            return "".join(self.log)
        if self.process.poll() is None:
            self.process.terminate()
        _, log = self.process.communicate(timeout=60)
        self.log.append(log)
        return "".join(self.log)

    def __enter__(self) -> Self:
        self.wait_until_ready()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def post_scope(path, headers=()):
    """The ASGI scope of a POST request with a JSON body."""
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "headers": [(b"content-type", b"application/json"), *headers],
    }
