"""Steps of a pretraining recipe, as it runs them, and the share of the peak that they reach."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from measurement import step_times as timing

from litebert.analysis.curves import read_curves
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from steps.step_parts import CPU, DTYPES, Precision, measured

STEPS: Final = 60
"""Of which the first quarter, in which oneDNN compiles the matrix products, is not counted."""


def recipe_share(
    recipe: str,
    overrides: Sequence[str],
    *,
    corpus: Path,
    precision: Precision,
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
        f"train.precision={measured(precision, config)}",
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
