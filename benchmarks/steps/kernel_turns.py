"""The steps of a recipe with the compiled kernels and with those of torch, in turn in one run."""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median

import torch
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


def compare_kernels(recipe: str, overrides: Sequence[str], corpus: Path, precision: Precision) -> str:
    """Weights after one step with either kernels side by side, then the seconds of a step with each."""
    config = load_pretrain_config(recipe, overrides, corpus=corpus).model
    settings = [*overrides, "max_eval_examples=0", f"train.precision={measured(precision, config)}"]
    one_step = [*settings, "train.duration=1 steps", "train.warmup=0"]
    with tempfile.TemporaryDirectory() as scratch:
        after_one_step = {}
        for native in ("true", "false"):
            run = load_pretrain_config(recipe, [*one_step, f"compute.native_kernels={native}"], corpus=corpus)
            pretrain(run, Path(scratch) / native, callbacks=[kept := KeepWeights()])
            after_one_step[native] = kept.weights
        run = load_pretrain_config(recipe, [*settings, f"train.duration={STEPS} steps"], corpus=corpus)
        pretrain(run, Path(scratch) / "run", callbacks=[turns := KernelTurns()])
    difference = (after_one_step["true"] - after_one_step["false"]).norm() / after_one_step["false"].norm()
    native, by_torch = turns.seconds[True], turns.seconds[False]
    return (
        f"{recipe}, {torch.get_num_threads()} threads, {run.train.precision}: weights after one step differ by "
        f"{difference:.1e} of their norm; a step takes {1e3 * mean(by_torch):.0f} ms with the kernels of torch, "
        f"{1e3 * mean(native):.0f} ms with the compiled ones: {mean(by_torch) / mean(native):.2f} times as fast "
        f"(medians {1e3 * median(by_torch):.0f} and {1e3 * median(native):.0f} ms: "
        f"{median(by_torch) / median(native):.2f}; {len(by_torch)} and {len(native)} steps)"
    )


class KeepWeights(Callback):
    """All weights after a step, as one vector."""

    weights: torch.Tensor

    def on_step(self, run: RunState, record: StepRecord) -> None:
        self.weights = parameters_to_vector(run.model.parameters()).detach().clone()
