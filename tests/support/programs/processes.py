"""Processes that tests start."""

import os
import socket
from pathlib import Path

SOURCE = Path(__file__).parents[3] / "src"
TESTS = Path(__file__).parents[2]
PYTHONPATH = os.pathsep.join([str(SOURCE), str(TESTS)])
"""What a child process needs to import this checkout, whatever litebert is installed."""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
