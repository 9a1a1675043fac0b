"""How long `litebert serve` takes to refuse, to give up and to end.

    python benchmarks/serving_limits.py MODEL        a classifier, such as that of `litebert quickstart`

Prints for each route the longest refusal of 100,000 texts, wrong ones included; how long after its limit a request
without an answer, and one with a slow body, has its status; and how long the server takes to end under load.
"""

import argparse
import asyncio
import json
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import httpx
from measurement.server_load import closed_loop
from measurement.server_process import running_server

MANY = 100_000
TIMEOUT_SECONDS = 0.5
CLIENTS = 16
BODIES: dict[str, list[dict[str, Any]]] = {
    "/predict": [{"inputs": [each] * MANY} for each in ("a", ["a"], None)],
    "/embed": [{"inputs": [each] * MANY} for each in ("a", [1], [-1], 1)],
    "/v1/embeddings": [{"model": "m", "input": ["a"] * MANY}],
    "/similarity": [{"inputs": {"source_sentence": "a", "sentences": ["a"] * MANY}}],
    "/tokenize": [{"inputs": ["a"] * MANY}],
    "/rerank": [{"query": "a", "texts": ["a"] * MANY}],
}


def server(model: Path, port: int, *options: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """A server of the model `m` that answers."""
    words = ["-m", "litebert", "serve", f"m={model}", "--port", str(port), *options]
    return running_server(words, port=port, environment={})


def refusals(client: httpx.Client) -> dict[str, float]:
    """Seconds until the status 413 or 422 of 100,000 texts, the longest of each route."""
    found = {}
    for route, bodies in BODIES.items():
        seconds = [timed_post(client, route, content=json.dumps(each).encode(), statuses=(413, 422)) for each in bodies]
        found[route] = round(max(seconds), 3)
    return found


def timed_post(client: httpx.Client, route: str, *, content: bytes, statuses: tuple[int, ...]) -> float:
    """Seconds of a request; AssertionError for another status than these."""
    begin = time.monotonic()
    response = client.post(route, content=content, headers={"content-type": "application/json"})
    assert response.status_code in statuses, response.status_code
    return time.monotonic() - begin


def late_answers(client: httpx.Client) -> float:
    """Longest time after the limit until the status 504 of requests that are more work than fits into it."""
    pair = ["the film was good " * 100, "a long story " * 60]
    content = json.dumps({"inputs": [pair] * 64, "truncate": True}).encode()

    def seconds(_: int) -> float:
        return timed_post(client, "/predict", content=content, statuses=(200, 504))

    with ThreadPoolExecutor(CLIENTS) as threads:
        longest = max(threads.map(seconds, range(CLIENTS)))
    assert longest > TIMEOUT_SECONDS, "every request was answered in time"
    return longest - TIMEOUT_SECONDS


def slow_body(port: int) -> float:
    """Seconds after the limit until the status 408."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        begin = time.monotonic()
        connection.sendall(b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n{")
        assert connection.recv(1000).startswith(b"HTTP/1.1 408")
        return time.monotonic() - begin - TIMEOUT_SECONDS


def ending(process: subprocess.Popen[bytes], port: int) -> float:
    """Seconds from SIGTERM under load until the end of the server."""

    def ask() -> None:
        with suppress(OSError, asyncio.IncompleteReadError):  # the server has ended
            asyncio.run(closed_loop(["the film was good " * 50] * 10_000, port=port, clients=CLIENTS))

    threading.Thread(target=ask, daemon=True).start()
    time.sleep(1)
    begin = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.wait()
    return round(time.monotonic() - begin, 2)


def main() -> None:
    """Measure with the limits of the defaults, then with short ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--port", type=int, default=8766)
    arguments = parser.parse_args()
    client = httpx.Client(base_url=f"http://127.0.0.1:{arguments.port}", timeout=60)
    with server(arguments.model, arguments.port) as process:
        result: dict[str, Any] = {"refusal_seconds": refusals(client), "end_seconds": ending(process, arguments.port)}
    limits = ("--timeout-seconds", str(TIMEOUT_SECONDS), "--receive-timeout-seconds", str(TIMEOUT_SECONDS))
    with server(arguments.model, arguments.port, *limits, "--max-queue-tokens", "1000000"):
        result["late_answers_seconds_after_limit"] = [round(late_answers(client), 3) for _ in range(3)]
        result["slow_body_seconds_after_limit"] = [round(slow_body(arguments.port), 3) for _ in range(3)]
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
