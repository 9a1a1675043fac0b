"""One rank under torchrun: trains the toy, and does what its argument says once it has restarted or not."""

import os
import signal
import sys
import time
from pathlib import Path

import torch

from litebert.training.callbacks.callback import Callback
from litebert.training.distributed.context import DistributedContext, distributed_context
from support.runs.toy import ToyBatches, ToyModel, ToyObjective, settings, train

RUN = {"duration": "24 steps", "checkpoint_every": "4 steps"}


def at_forward(number: int, action) -> ToyObjective:
    """An objective that acts at its n-th forward, in the first life of this rank."""
    seen = []

    def before() -> None:
        seen.append(None)
        if len(seen) == number and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0":
            action()

    return ToyObjective(before)


def killed(world: DistributedContext, directory: Path, step: str) -> None:
    """Rank 1 is killed, as by the system, in a forward; every rank leaves its process id."""
    (directory / f"pid-{os.getpid()}").touch()

    def kill() -> None:
        (directory / "killed").write_text(str(time.time()))
        os.kill(os.getpid(), signal.SIGKILL)

    class NoteResume(Callback):
        def on_step(self, run, record) -> None:
            if (directory / "killed").exists() and not (directory / "again").exists():
                (directory / "again").write_text(str(time.time()))

    objective = at_forward(int(step), kill) if world.rank == 1 else ToyObjective()
    batches = ToyBatches(rank=world.rank, world_size=world.size)
    train(directory / "run", model=ToyModel(0.0), batches=batches, objective=objective, callbacks=[NoteResume()], **RUN)


def asleep(world: DistributedContext, directory: Path, step: str) -> None:
    """Rank 1 sleeps in a forward while rank 0 waits for it."""
    objective = at_forward(int(step), lambda: time.sleep(60)) if world.rank == 1 else ToyObjective()
    batches = ToyBatches(rank=world.rank, world_size=world.size)
    train(directory / "run", model=ToyModel(0.0), batches=batches, objective=objective, **RUN)


def repeated(directory: Path, timeout: float, runs: int) -> None:
    """Several runs one after the other, as those of a table."""
    for number in range(runs):
        with distributed_context(settings(timeout_seconds=timeout)) as world:
            total = world.sum({"numbers": number + world.rank})
            (directory / f"run-{number}-{world.rank}").write_text(str(total["numbers"]))


def main() -> None:
    scenario, directory, timeout, argument = sys.argv[1:]
    torch.set_num_threads(1)
    if scenario == "repeated":
        repeated(Path(directory), float(timeout), int(argument))
        return
    with distributed_context(settings(timeout_seconds=float(timeout))) as world:
        {"killed": killed, "asleep": asleep}[scenario](world, Path(directory), argument)


if __name__ == "__main__":
    main()
