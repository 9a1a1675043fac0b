"""Steps of a pretraining recipe, as it runs them: their share of the peak, and their time with either kernels."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import numpy as np
import torch
from libraries import speed_timing as timing

from litebert.analysis.curves import read_curves
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_settings import PretrainRun, load_pretrain_config
from litebert.settings import TrainingPrecision
from steps.kernel_turns import STEPS as STEPS_IN_TURN
from steps.kernel_turns import compare_kernels
from steps.step_parts import CPU, DTYPES, precision_of

STEPS: Final = 60
"""Of which the first quarter, in which oneDNN compiles the matrix products, is not counted."""


def turns_of_kernels(
    recipe: str, overrides: Sequence[str], corpus: Path, precision: Literal["auto", TrainingPrecision]
) -> str:
    """Time of a step with the kernels of torch and with the compiled ones, in turn in one run."""

    def load(*more: str) -> PretrainRun:
        return load_pretrain_config(recipe, [*settings, *more], corpus=corpus)

    settings = [*overrides, "max_eval_examples=0", f"train.duration={STEPS_IN_TURN} steps"]
    settings.append(f"train.precision={precision_of(precision, load().model)}")
    return compare_kernels(load, name=recipe)


def recipe_share(
    recipe: str,
    overrides: Sequence[str],
    corpus: Path,
    precision: Literal["auto", TrainingPrecision],
    *,
    seconds: float,
    native: bool,
) -> str:
    """Products of the steps over the peak, with everything that a step of the trainer does.

    `seconds`: to spend on the measurement of the peak. `native`: whether the compiled kernels are used.
    """
    config = load_pretrain_config(recipe, overrides, corpus=corpus).model
    fixed = [
        f"train.duration={STEPS} steps",
        "train.log_every=1",
        "max_eval_examples=0",
        f"compute.native_kernels={str(native).lower()}",
        f"train.precision={precision_of(precision, config)}",
    ]
    run = load_pretrain_config(recipe, [*overrides, *fixed], corpus=corpus)
    with tempfile.TemporaryDirectory() as scratch:
        pretrain(run, Path(scratch) / "run")
        curves = read_curves(Path(scratch) / "run" / "metrics.jsonl")
    rate = timing.matmul_rate(CPU, size=1024, seconds=seconds, dtype=DTYPES[run.train.precision])
    names = "train/examples_per_second", "train/flops_per_second", "train/tokens_per_second"
    examples, flops, tokens = (np.array(curves[name].values[STEPS // 4 :]) for name in names)
    reached, read = (np.average(each, weights=1 / examples) for each in (flops, tokens))  # by the time of each step
    return (
        f"{' '.join([recipe, *overrides])}, {torch.get_num_threads()} threads: "
        f"{reached / 1e9:.0f} GFLOP/s, {read:,.0f} tokens/s; products in {run.train.precision} at "
        f"{rate / 1e9:.0f} GFLOP/s: {reached / rate:.0%} of the peak"
    )
