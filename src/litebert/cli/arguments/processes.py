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
    """Replace this process by torchrun with `count` processes of `litebert COMMAND`.

    Returns where one process is enough, and in the processes that torchrun has started. The cores are divided among
    the processes unless OMP_NUM_THREADS is set.

    Raises:
        ConfigError: there are more processes than this machine can run, or torchrun has started another number.
    """
    validate_processes(count, where="--processes")
    started = int(os.environ.get("WORLD_SIZE", "1"))
    if count in (1, started):
        return
    if started > 1:
        raise ConfigError(f"--processes: {count}, but torchrun started {started}; leave --processes out")
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, num_cores() // count)))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
    os.execv(sys.executable, [*torchrun, "-m", "litebert", *command])
