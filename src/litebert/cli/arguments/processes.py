"""`--processes N`: the same command in N processes on this machine, started by torchrun."""

import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated

from tyro.conf import arg

from litebert.errors import ConfigError, LitebertError
from litebert.machine import num_cores, validate_processes

Processes = Annotated[int, arg(metavar="N", help="processes on this machine that divide each batch")]


def start_processes(count: int, command: Sequence[str]) -> None:
    """Run `litebert COMMAND` in `count` processes under torchrun, and end this process with their exit code.

    Returns where one process is enough, and in the processes that torchrun has started. The cores are divided among
    the processes unless OMP_NUM_THREADS is set.

    Raises:
        ConfigError: there are more processes than this machine can run, or torchrun has started another number.
        LitebertError: a process was killed, and could not say why.
    """
    validate_processes(count, where="--processes")
    started = int(os.environ.get("WORLD_SIZE", "1"))
    if count in (1, started):
        return
    if started > 1:
        raise ConfigError(f"--processes: {count}, but torchrun started {started}; leave --processes out")
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, num_cores() // count)))
    sys.exit(_torchrun(["--standalone", f"--nproc-per-node={count}", "-m", "litebert", *command]))


def _torchrun(arguments: list[str]) -> int:
    """The exit code of the process that failed first, 0 if none did, or 128 + the signal that ended this process."""
    from torch.distributed import run
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    logging.disable()  # of this process, which has torchrun's messages only: the others say why they end
    try:
        run.run(run.parse_args(arguments))
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
    return 0
