"""torchrun from Python: several processes of one command, which end as one process does."""

import logging
import signal
from collections.abc import Sequence

from torch.distributed import run
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from litebert.errors import LitebertError

SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1")
SECONDS_TO_SAVE = 600
"""After a signal, before torchrun kills the processes; its own default of 30 is short for a large checkpoint."""


def torchrun(arguments: Sequence[str]) -> int:
    """Run `torchrun ARGUMENTS`; returns the exit code of the process that failed first, or 0 if none did.

    After SIGTERM, SIGINT, SIGUSR1 or SIGHUP to this process it is 128 + the number of the signal. The others receive it
    too and have `SECONDS_TO_SAVE` for what they do then.

    Raises:
        LitebertError: a process was killed, and could not say why.
    """
    logging.disable()  # of this process, which has torchrun's messages only: the others say why they end
    options = [f"--signals-to-handle={','.join(SIGNALS)}", f"--shutdown-timeout={SECONDS_TO_SAVE}"]
    try:
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
