"""Time that a checkpoint adds to training, written in the background and not.

    python benchmarks/saving.py [preset] [--every 4]

A model of the preset's size with LAMB's state is saved at intervals, and steps are timed with saves in the background,
with saves that stop the run, and without any, in turn. A save in the background that has not ended after the steps is
waited for outside of their time, and that wait has a line of its own: the next save of a run would wait as long.
"""

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from measurement.clocks import seconds_of
from torch import Tensor

from litebert.model.models import ForPretraining
from litebert.model.presets import preset
from litebert.training.checkpointing.checkpoint import AsyncCheckpointer, Checkpoint, Checkpoints
from litebert.training.checkpointing.run_checkpoints import model_tensors

DEFAULT_INTERVAL = 1000
"""Steps between two checkpoints of a run, unless its settings have another number."""


def main() -> None:
    """Print what each kind of save adds to the steps: medians over the rounds, and their ranges."""
    options = _arguments()
    torch.set_num_threads(1)
    model = ForPretraining(preset(options.preset), seed=0)
    with tempfile.TemporaryDirectory() as place:
        seconds, waits = measure(model, Path(place), rounds=options.rounds, every=options.every)
    size = snapshot(model, 0).size
    print(f"{options.preset}: {size / 1e6:.0f} MB every {options.every} steps, medians and ranges of {options.rounds}")
    added = {kind: np.subtract(each, seconds["none"]) for kind, each in seconds.items()}
    for kind, each in seconds.items():
        print(f"{kind:>10}: {spread(each)} s for {options.every} steps, {spread(added[kind])} s for the save")
    print(f"after the steps a save in the background takes {spread(waits)} s more")
    shares = added["background"] / (statistics.median(seconds["none"]) / options.every * DEFAULT_INTERVAL)
    print(f"at the default interval of {DEFAULT_INTERVAL} steps: {spread(100 * shares)} %")


def measure(
    model: ForPretraining, place: Path, *, rounds: int, every: int
) -> tuple[dict[str, list[float]], list[float]]:
    """Seconds of `every` steps in each round by the kind of save, and of the waits after those in the background."""
    ids = torch.zeros((1, 128), dtype=torch.int64)
    step(model, ids)
    seconds: dict[str, list[float]] = {"none": [], "background": [], "stopping": []}
    waits: list[float] = []
    with AsyncCheckpointer(Checkpoints(place, keep=2), before=lambda: None) as saver:

        def steps(kind: str, number: int) -> None:
            if kind != "none":
                saver.start(snapshot(model, number))
            if kind == "stopping":
                saver.finish()
            for _ in range(every):
                step(model, ids)

        for number in range(1, rounds + 1):
            for kind, times in seconds.items():
                times.append(seconds_of(partial(steps, kind, number)))
                wait = seconds_of(saver.finish)
                if kind == "background":
                    waits.append(wait)
    return seconds, waits


def step(model: ForPretraining, ids: Tensor) -> None:
    """Forward and backward."""
    mask, types = torch.ones_like(ids, dtype=torch.bool), torch.zeros_like(ids)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = model(ids, mask, types, torch.arange(0, ids.numel(), 7))
    output.mlm_logits.float().square().mean().backward()
    model.zero_grad()


def snapshot(model: ForPretraining, number: int) -> Checkpoint:
    """A checkpoint with two moments for each weight, as LAMB has them."""
    tensors = model_tensors(model)
    moments = {f"{name}/{key}": tensor.clone() for name, tensor in tensors.items() for key in ("exp_avg", "exp_avg_sq")}
    return Checkpoint(number, {}, tensors, moments)


def spread(values: Sequence[float] | np.ndarray) -> str:
    """`median (smallest to largest)`."""
    return f"{np.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset", nargs="?", default="albert-base-v2")
    parser.add_argument("--every", type=int, default=4, help="steps from one save to the next")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
