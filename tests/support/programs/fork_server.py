"""A process that has imported torch and litebert, and forks for each Python command that a test starts.

`python -m support.programs.fork_server SOCKET PID`; it ends when the process PID has ended. Its client is `ForkedPopen`
of forks.py.
"""

import atexit
import gc
import importlib
import os
import pickle
import runpy
import select
import socket
import struct
import sys
import types
from contextlib import suppress
from pathlib import Path

IMPORTED = (
    "torch._dynamo",
    "torch.distributed.run",
    "litebert.commands.reproduce.worker",
    "litebert.commands.sweep.run_trials",
    "litebert.commands.predict.predict",
    "litebert.commands.embed.embed",
    "litebert.commands.corpus.build",
)
OPTIONAL = ("matplotlib.pyplot", "tokenizers", "litebert.serving.app", "uvicorn")
NUMBER = struct.Struct("q")
"""Lengths, process ids and exit codes are sent as this."""


_exit_codes = []
"""That of the command, once it has ended without an error."""


def main():
    path, watched = sys.argv[1], int(sys.argv[2])
    atexit.register(leave)  # the first to be registered is the last to be called
    for name in (*IMPORTED, *OPTIONAL):
        try:
            importlib.import_module(name)
        except ImportError:
            assert name in OPTIONAL, name
    prepare()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{path}.new")
        listener.listen(64)
        Path(f"{path}.new").rename(path)
        request = serve(listener, watched)
    if request:
        try:
            run_python(request["words"])
            _exit_codes.append(0)
        except SystemExit as end:
            _exit_codes.extend([end.code or 0] if isinstance(end.code, int | None) else [])
            raise
    else:
        for file in Path(path).parent.glob(f"{Path(path).name}*"):
            file.unlink()


def prepare():
    """What each command would do again: the pattern of a tokenizer's files is made of a million characters."""
    from litebert.tokenization.text_settings import TextSettings
    from litebert.tokenization.transformers_files import _normalizers
    from support.runs import shortcuts

    _normalizers(TextSettings(), b"")
    shortcuts.set_all()


def leave():
    """End without freeing each object of torch, which takes longer than most commands."""
    if _exit_codes:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_exit_codes[0])


def serve(listener, watched):
    """Fork for each connection; the request in a process that is to run it, None once `watched` has ended."""
    while is_alive(watched):
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not select.select([listener], [], [], 1)[0]:
            continue
        connection, _ = listener.accept()
        if os.fork() == 0:
            return keep(connection)
        connection.close()
    return None


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def keep(connection):
    """Start a process and send its id and its exit code; only that process returns, with the request."""
    header, descriptors, *_ = socket.recv_fds(connection, NUMBER.size, 3)
    with connection.makefile("rb") as stream:
        request = pickle.loads(stream.read(*NUMBER.unpack(header)))
    process = os.fork()
    if process:
        for descriptor in (0, 1, 2, *descriptors):
            os.close(descriptor)
        connection.sendall(NUMBER.pack(process))
        _, status = os.waitpid(process, 0)
        connection.sendall(NUMBER.pack(os.waitstatus_to_exitcode(status)))
        os._exit(0)
    connection.close()
    if request["new_session"]:
        os.setsid()
    for standard, descriptor in enumerate(descriptors):
        os.dup2(descriptor, standard)
        os.close(descriptor)  # a server that this process starts would hold it open
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    return request


def run_python(words):
    """`python words`: a module, a program, or a file."""
    import subprocess

    import torch
    from torch.distributed.elastic.multiprocessing.subprocess_handler import subprocess_handler

    from support.programs.forks import ForkedPopen

    # torchrun starts its ranks by a name that it has imported.
    subprocess.Popen = subprocess_handler.Popen = ForkedPopen
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    if words[0] == "-u":
        sys.stdout.reconfigure(write_through=True)
        words = words[1:]
    option, *sys.argv = words
    sys.path[0] = str(Path.cwd() if option in ("-m", "-c") else Path(option).parent)
    if option == "-m":
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    elif option == "-c":
        program, sys.argv[0] = sys.argv[0], "-c"
        sys.modules["__main__"] = module = types.ModuleType("__main__")
        exec(program, module.__dict__)
    else:
        sys.argv = list(words)
        runpy.run_path(option, run_name="__main__")


if __name__ == "__main__":
    main()
