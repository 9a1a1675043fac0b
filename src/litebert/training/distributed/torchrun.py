"""torchrun from Python: several processes of one command, which end as one process does."""

import logging
import signal
from collections.abc import Sequence

from torch.distributed import run
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from litebert.errors import LitebertError


def torchrun(arguments: Sequence[str]) -> int:
    """Run `torchrun ARGUMENTS`; returns the exit code of the process that failed first, or 0 if none did.

    After a signal to this process, which the others receive too, it is 128 + the number of the signal.

    Raises:
        LitebertError: a process was killed, and could not say why.
    """
    logging.disable()  # of this process, which has torchrun's messages only: the others say why they end
    try:
        run.run(run.parse_args(list(arguments)))
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
