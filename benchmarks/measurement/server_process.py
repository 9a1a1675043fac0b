"""A server in a process of its own, for as long as a benchmark needs it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import httpx

ANSWER_SECONDS = 60


@contextmanager
def running_server(
    words: Sequence[str], *, port: int, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """The process `python WORDS` once it answers a text at /predict; SystemExit if it ends before."""
    variables = {**os.environ, "HF_HUB_OFFLINE": "1", **environment}
    process = subprocess.Popen([sys.executable, *words], env=variables)
    try:
        _wait_for_answer(process, port)
        yield process
    finally:
        process.terminate()
        process.wait()


def _wait_for_answer(process: subprocess.Popen[bytes], port: int) -> None:
    url = f"http://127.0.0.1:{port}/predict"
    while process.poll() is None:
        try:
            if httpx.post(url, json={"inputs": "a"}, timeout=ANSWER_SECONDS).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise SystemExit(f"the server ended with code {process.returncode} before it answered: {process.args}")
