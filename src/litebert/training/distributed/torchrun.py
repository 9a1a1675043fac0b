"""torchrun from Python: several processes of one command, which end as one process does."""

import logging
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from torch.distributed import run
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from litebert.errors import LitebertError
from litebert.machine import num_cores

SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1")
SECONDS_TO_SAVE = 600
"""After a signal, before torchrun kills the processes; its own default of 30 is short for a large checkpoint."""


def run_processes(count: int, command: Sequence[str], *, hide_result: bool = False) -> int:
    """Run `litebert COMMAND` in `count` processes on this machine; returns the exit code as `torchrun` does.

    The processes divide the cores unless OMP_NUM_THREADS is set. With `hide_result` what they write to stdout is lost.
    """
    threads = str(max(1, num_cores() // count))
    with _environment_variable("OMP_NUM_THREADS", threads), TemporaryDirectory() as logs:
        # Without a directory torch makes one and leaves it.
        options = ["--standalone", f"--nproc-per-node={count}", f"--log-dir={logs}"]
        return torchrun([*options, *(["--redirects=1"] if hide_result else []), "-m", "litebert", *command])


@contextmanager
def _environment_variable(name: str, default: str) -> Iterator[None]:
    """Inside, the variable has its value or `default`."""
    given = os.environ.get(name)
    os.environ[name] = given or default
    try:
        yield
    finally:
        if given is None:
            del os.environ[name]
        else:
            os.environ[name] = given


@contextmanager
def _signal_handlers_kept() -> Iterator[None]:
    """After the block the handlers are those before it; torch leaves its own, which raise an exception of torch."""
    numbers = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    handlers = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                signal.signal(number, handler)


def torchrun(arguments: Sequence[str]) -> int:
    """Run `torchrun ARGUMENTS`; returns the exit code of the process that failed first, or 0 if none did.

    After SIGTERM, SIGINT or SIGUSR1 to this process it is 128 + the number of the signal. The others receive it too and
    have `SECONDS_TO_SAVE` for what they do then.

    Raises:
        LitebertError: a process was killed, and could not say why.
    """
    logging.disable()  # of this process, which has torchrun's messages only: the others say why they end
    options = [f"--signals-to-handle={','.join(SIGNALS)}", f"--shutdown-timeout={SECONDS_TO_SAVE}"]
    try:
        with _signal_handlers_kept():
            run.run(run.parse_args([*options, *arguments]))
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if failure.exitcode >= 0:
            return failure.exitcode
        raise LitebertError(
            f"process {rank} was killed by {signal.Signals(-failure.exitcode).name}; if memory ran out, set a smaller "
            "microbatch_size; the same command resumes the run"
        ) from None
    except SignalException as error:
        return 128 + error.sigval
    finally:
        logging.disable(logging.NOTSET)
    return 0
