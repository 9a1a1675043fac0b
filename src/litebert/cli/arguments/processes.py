"""`--processes N`: the same command in N processes on this machine, started by torchrun."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated

from tyro.conf import arg

from litebert.errors import ConfigError
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
    from litebert.training.distributed.torchrun import torchrun  # imports torch

    sys.exit(torchrun(["--standalone", f"--nproc-per-node={count}", "-m", "litebert", *command]))
