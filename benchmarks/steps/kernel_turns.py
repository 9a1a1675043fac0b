"""The steps of a recipe with the compiled kernels and with those of torch, in turn in one run."""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median

import numpy as np
import torch
from measurement.ratios import ratio_of
from torch.nn.utils import parameters_to_vector

from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.model.kernels.native.library import use_native_kernels
from litebert.training.callbacks.callback import Callback, RunState, StepRecord
from steps.step_parts import Precision, measured

TURN, UNCOUNTED = 12, 4
"""Steps with the same kernels, and the first of them that are not counted, since oneDNN may compile products for them.
Eight are counted, so that recipes of which each fourth or each second step is masked have their share of such steps."""
TURNS = 8
"""Of both kernels; the first two are not counted."""
STEPS = TURN * TURNS
TOLERANCE = 1e-3
"""Largest difference of the weights after one step, relative to their norm; in bf16 it is below 1e-4."""


class KernelTurns(Callback):
    """Switches the kernels after every turn, and keeps the seconds of each step."""

    def __init__(self) -> None:
        self.seconds: dict[bool, list[float]] = {True: [], False: []}
        self._native, self._last = False, 0.0

    def on_train_begin(self, run: RunState) -> None:
        use_native_kernels(enabled=False)

    def on_step(self, run: RunState, record: StepRecord) -> None:
        step = run.progress.step
        if counted(step):
            self.seconds[self._native].append(time.perf_counter() - self._last)
        if step % TURN == 0:
            self._native = not self._native
            use_native_kernels(enabled=self._native)
        self._last = time.perf_counter()


def counted(step: int) -> bool:
    """Whether the time of a step is counted; the first step is 1."""
    return step > 2 * TURN and (step - 1) % TURN >= UNCOUNTED


def compare_kernels(recipe: str, overrides: Sequence[str], *, corpus: Path, precision: Precision) -> str:
    """Seconds of a step with either kernels; ValueError if the weights after one step with each are not the same."""
    config = load_pretrain_config(recipe, overrides, corpus=corpus).model
    settings = [*overrides, "max_eval_examples=0", f"train.precision={measured(precision, config)}"]
    difference = weight_difference(recipe, settings, corpus=corpus)
    if not difference <= TOLERANCE:
        raise ValueError(f"{recipe}: weights differ by {difference:.1e} of their norm; no step is timed")
    run = load_pretrain_config(recipe, [*settings, f"train.duration={STEPS} steps"], corpus=corpus)
    with tempfile.TemporaryDirectory() as scratch:
        pretrain(run, Path(scratch) / "run", callbacks=[turns := KernelTurns()])
    native, by_torch = turns.seconds[True], turns.seconds[False]
    times = ratio_of(by_torch, native, paired=False)
    of_medians = ratio_of(by_torch, native, paired=False, statistic=np.median)
    return (
        f"{recipe}, {torch.get_num_threads()} threads, {run.train.precision}: weights after one step differ by "
        f"{difference:.1e} of their norm; a step takes {1e3 * mean(by_torch):.0f} ms with the kernels of torch, "
        f"{1e3 * mean(native):.0f} ms with the compiled ones: {times} times as fast "
        f"(medians {1e3 * median(by_torch):.0f} and {1e3 * median(native):.0f} ms: {of_medians}; "
        f"{len(by_torch)} and {len(native)} steps, 95 % intervals over the steps)"
    )


def weight_difference(recipe: str, settings: Sequence[str], *, corpus: Path) -> float:
    """‖compiled − torch‖ ÷ ‖torch‖ of all weights after one step with either kernels."""
    weights = []
    with tempfile.TemporaryDirectory() as scratch:
        for native in ("true", "false"):
            one_step = ["train.duration=1 steps", "train.warmup=0", f"compute.native_kernels={native}"]
            run = load_pretrain_config(recipe, [*settings, *one_step], corpus=corpus)
            pretrain(run, Path(scratch) / native, callbacks=[kept := KeepWeights()])
            weights.append(kept.weights)
    return ((weights[0] - weights[1]).norm() / weights[1].norm()).item()


class KeepWeights(Callback):
    """All weights after a step, as one vector."""

    weights: torch.Tensor

    def on_step(self, run: RunState, record: StepRecord) -> None:
        self.weights = parameters_to_vector(run.model.parameters()).detach().clone()
