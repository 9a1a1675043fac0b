"""Python commands that start at once: forks of a process that has imported torch, in place of new interpreters."""

import fcntl
import inspect
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.programs.fork_server import NUMBER

SERVER = "LITEBERT_FORK_SERVER"
"""Environment variable: the socket of the server, and after a colon the process with which it ends."""
ADDRESS = f"{tempfile.gettempdir()}/litebert-{uuid.uuid4().hex}:{os.getpid()}"
"""What the first process of a run of the tests gives it."""
START_SECONDS = 120


class ForkedPopen(subprocess.Popen):
    """`subprocess.Popen`, except that the server forks for a command of this Python."""

    _server = None

    def _execute_child(self, *arguments):
        given = inspect.signature(super()._execute_child).bind(*arguments).arguments
        words = given["args"]
        if not _can_fork(words) or given["pass_fds"] or given["preexec_fn"]:
            super()._execute_child(*arguments)
            return
        pipes = [given[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        request = {
            "words": [os.fspath(word) for word in words[1:]],
            "environment": dict(os.environ if given["env"] is None else given["env"]),
            "directory": os.fspath(given["cwd"] or Path.cwd()),
            "new_session": given["start_new_session"],
        }
        message = pickle.dumps(request)
        self._server = connected(int(request["environment"].get("RANK", "0")))
        descriptors = [standard if pipe == -1 else pipe for standard, pipe in enumerate(pipes)]
        socket.send_fds(self._server, [NUMBER.pack(len(message))], descriptors)
        self._server.sendall(message)
        self.pid = self._received()
        self._child_created = True
        self._close_pipe_fds(*(given[name] for name in CHILD_PIPES))

    def _received(self, flags=0):
        """The next number that the server sends."""
        return NUMBER.unpack(self._server.recv(NUMBER.size, flags))[0]

    def _try_wait(self, wait_flags):
        if self._server is None:
            return super()._try_wait(wait_flags)
        try:
            code = self._received(socket.MSG_DONTWAIT if wait_flags else 0)
        except BlockingIOError:
            return 0, 0
        self._server.close()
        return self.pid, -code if code < 0 else code << 8

    def _internal_poll(self, *arguments, **options):
        if self._server is None:
            return super()._internal_poll(*arguments, **options)
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


CHILD_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")


def _can_fork(words):
    """Whether it is a module, a program or a file for this Python, without options of the interpreter but `-u`.

    Only on Linux: elsewhere, libraries with threads do not allow a fork, and each command is a new interpreter.
    """
    if sys.platform != "linux":
        return False
    is_python = not isinstance(words, str) and os.fspath(words[0]) == sys.executable
    return is_python and (words[1] in ("-m", "-c", "-u") or not os.fspath(words[1]).startswith("-"))


@contextmanager
def forked_python():
    """`subprocess` forks for commands of this Python, here and in the processes that it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", ForkedPopen)
        yield


def connected(rank=0):
    """A connection to the server, which is started if nothing has needed it yet.

    Forks of one server have one seed of string hashes, so processes of even and odd rank have servers of their own:
    an order of a set that differs between ranks is then seen, as with new interpreters.
    """
    path, _, watched = os.environ[SERVER].rpartition(":")
    path = f"{path}-{rank % 2}"
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
    except OSError:
        _start_server(path, watched)
        connection.connect(path)
    return connection


def _start_server(path, watched):
    with Path(f"{path}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if Path(path).exists():
            return
        words = [sys.executable, "-m", "support.programs.fork_server", path, watched]
        streams = {0: os.devnull, 1: os.devnull, 2: f"{path}.log"}
        actions = [(os.POSIX_SPAWN_OPEN, each, name, os.O_RDWR | os.O_CREAT, 0o600) for each, name in streams.items()]
        os.posix_spawn(sys.executable, words, {**os.environ, "OMP_NUM_THREADS": "1"}, file_actions=actions, setsid=True)
        until = time.monotonic() + START_SECONDS
        while not Path(path).exists():
            assert time.monotonic() < until, Path(f"{path}.log").read_text()
            time.sleep(0.02)
