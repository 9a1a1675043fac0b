"""Load for `serving.py` and `serving_limits.py`: requests as prepared bytes over raw connections.

The load shares the processor with the server, so it must cost little: a third of a millisecond for a request at most.
"""

import asyncio
import itertools
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Answer:
    """One response; times in seconds."""

    status: int
    """0: the connection failed."""
    body: Any
    latency: float
    at: float
    """When it arrived, since the beginning of the load."""


async def closed_loop(texts: Sequence[str], *, port: int, clients: int) -> list[Answer]:
    """The answer to each text: each client has a connection and asks when it has its answer."""
    requests = iter([(index, request(text)) for index, text in enumerate(texts)])
    answers: list[Any] = [None] * len(texts)
    begin = time.monotonic()

    async def client() -> None:
        reader, writer = await asyncio.open_connection(HOST, port)
        for index, content in requests:
            answers[index] = await ask(reader, writer, content, begin)
        writer.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return answers


async def open_loop(texts: Sequence[str], *, port: int, per_second: float, seconds: float) -> list[Answer]:
    """Answers to requests that arrive as a Poisson process, whatever is answered; each has a connection of its own."""
    arrivals = np.random.default_rng(0).exponential(1 / per_second, int(per_second * seconds)).cumsum()
    requests = [request(text, close=True) for text in texts]
    begin = time.monotonic()

    async def ask_at(at: float, content: bytes) -> Answer:
        await asyncio.sleep(max(0.0, begin + at - time.monotonic()))
        started = time.monotonic()
        try:
            reader, writer = await asyncio.open_connection(HOST, port)
            answer = await ask(reader, writer, content, begin, started=started)
            writer.close()
            return answer
        except (OSError, asyncio.IncompleteReadError):
            now = time.monotonic()
            return Answer(0, None, now - started, now - begin)

    return await asyncio.gather(*map(ask_at, arrivals, itertools.cycle(requests)))


async def ask(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    content: bytes,
    begin: float,
    *,
    started: float | None = None,
) -> Answer:
    """The answer to one request on an open connection."""
    started = time.monotonic() if started is None else started
    writer.write(content)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
    body = await reader.readexactly(length)
    now = time.monotonic()
    return Answer(int(head.split()[1]), json.loads(body), now - started, now - begin)


def request(text: str, *, close: bool = False) -> bytes:
    """A request to /predict."""
    body = json.dumps({"inputs": text, "truncate": True}).encode()
    head = f"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + (b"Connection: close\r\n\r\n" if close else b"\r\n") + body
