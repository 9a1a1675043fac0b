"""Time that a checkpoint adds to training, written in the background and not.

    python benchmarks/saving.py [preset] [--every 4]

A model of the preset's size with LAMB's state is saved at intervals, and steps are timed with saves in the background,
with saves that stop the run, and without any, interleaved. A save in the background that has not ended after the steps
is waited for outside of their time, and that wait is told apart: the next save of a run would wait as long.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch
from torch import Tensor

from litebert.model.models import ForPretraining
from litebert.model.presets import preset
from litebert.training.checkpointing.checkpoint import AsyncCheckpointer, Checkpoint, Checkpoints
from litebert.training.checkpointing.run_checkpoints import model_tensors


def step(model: torch.nn.Module, ids: Tensor) -> None:
    mask, types = torch.ones_like(ids, dtype=torch.bool), torch.zeros_like(ids)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = model(ids, mask, types, torch.arange(0, ids.numel(), 7))
    output.mlm_logits.float().square().mean().backward()
    model.zero_grad()


def snapshot(model: torch.nn.Module, number: int) -> Checkpoint:
    tensors = model_tensors(model)
    moments = {f"{name}/{key}": tensor.clone() for name, tensor in tensors.items() for key in ("exp_avg", "exp_avg_sq")}
    return Checkpoint(number, {}, tensors, moments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset", nargs="?", default="albert-base-v2")
    parser.add_argument("--every", type=int, default=4, help="steps from one save to the next")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = ForPretraining(preset(options.preset), seed=0)
    ids = torch.zeros((1, 128), dtype=torch.int64)
    step(model, ids)
    seconds: dict[str, list[float]] = {"none": [], "background": [], "stopping": []}
    waits: list[float] = []
    with (
        tempfile.TemporaryDirectory() as place,
        AsyncCheckpointer(Checkpoints(Path(place), keep=2), before=lambda: None) as saver,
    ):
        for number in range(1, options.rounds + 1):
            for kind, times in seconds.items():
                began = time.perf_counter()
                if kind != "none":
                    saver.start(snapshot(model, number))
                if kind == "stopping":
                    saver.finish()
                for _ in range(options.every):
                    step(model, ids)
                ended = time.perf_counter()
                times.append(ended - began)
                saver.finish()
                if kind == "background":
                    waits.append(time.perf_counter() - ended)
        size = snapshot(model, 0).size
    medians = {kind: statistics.median(times) for kind, times in seconds.items()}
    print(f"{options.preset}: {size / 1e6:.0f} MB every {options.every} steps, medians of {options.rounds}")
    for kind, median in medians.items():
        print(f"{kind:>10}: {median:.3f} s for {options.every} steps, {median - medians['none']:.3f} s for the save")
    print(f"after the steps a save in the background takes {statistics.median(waits):.3f} s more")
    share = (medians["background"] - medians["none"]) / (medians["none"] / options.every * 1000)
    print(f"at the default interval of 1000 steps: {share:.3%}")


if __name__ == "__main__":
    main()
