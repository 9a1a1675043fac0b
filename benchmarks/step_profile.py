"""Time of each part of a training step, compared with the peak throughput of the machine.

python benchmarks/step_profile.py [--model PRESET] [SETTING=VALUE …] [--rows full-128] [--batch-size 8] [--threads N]
    [--corpus DIR] [--torch-kernels] [--precision auto]
python benchmarks/step_profile.py --recipe NAME --corpus DIR [SETTING=VALUE …] [--threads N] [--compare-kernels]

The settings change the preset: `--model modern-tiny num_hidden_layers=4 hidden_size=128 intermediate_size=336`.

Each part is run forward and backward by itself, on the shapes that it has in the step; the whole step is timed too, so
that what no part accounts for shows. The precision is that of `train.precision: auto`, measured, if none is named. The
floor of a part is its products at the rate of a square product, plus what it keeps for the backward pass, written once
and read once at the bandwidth of a copy; weights and their copies in 16 bits are not counted as kept. "Products alone"
are the same products one by one, in the shapes that they have in the part: the share of the peak that they reach is the
largest that a step of these products could have. In fp32 they include the softmax, which torch computes in one operator
with the products of attention.

With a corpus the step is also run by the trainer, on real text, and what is not forward and backward is told.

`--recipe` runs steps of a pretraining recipe instead, with its own batches, objectives and optimizer, and tells the
share of the peak that they reach; with `--compare-kernels` how long they take with the kernels of torch and with those
that are compiled for the processor, in turn.
"""

import argparse
from pathlib import Path

import torch
from libraries import speed_contestants as who
from steps.kernel_turns import compare_kernels
from steps.recipe_steps import recipe_share
from steps.step_parts import (
    DTYPES,
    Part,
    copy_bandwidth,
    measured,
    model_parts,
    optimizer_seconds,
    rate_and_step,
    table,
)
from steps.trainer_steps import outside

from litebert.model.config import ModelConfig
from litebert.model.kernels.native.library import use_native_kernels
from litebert.model.models import ForPretraining
from litebert.model.presets import preset
from litebert.settings import with_overrides
from litebert.training.loop.freed_memory import freed_memory_kept


def main() -> None:
    arguments = _arguments()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    use_native_kernels(enabled=not arguments.torch_kernels)
    if arguments.recipe:
        of_recipe = (arguments.recipe, arguments.settings, arguments.corpus, arguments.precision)
        if arguments.compare_kernels:
            print(compare_kernels(*of_recipe))
        else:
            print(recipe_share(*of_recipe, seconds=arguments.seconds, native=not arguments.torch_kernels))
        return
    kind, length = arguments.rows.split("-")
    config = ModelConfig.parse(with_overrides(preset(arguments.model).to_dict(), arguments.settings), where="settings")
    model = ForPretraining(config, seed=0).train()
    lengths = who.ROWS[kind](batch_size=arguments.batch_size, length=int(length))
    batch = who.random_batch(config, lengths)
    precision = measured(arguments.precision, config)
    bandwidth = copy_bandwidth(arguments.seconds)
    parts = model_parts(model, batch, precision, seconds=arguments.seconds)
    parts.append(Part("optimizer (norm, clipping, LAMB)", optimizer_seconds(model, arguments.seconds)))
    rate, whole = rate_and_step(model, batch, precision, seconds=arguments.seconds)
    print(
        f"{' '.join([arguments.model, *arguments.settings])}, {len(lengths)} rows, {batch.num_tokens} tokens, "
        f"{torch.get_num_threads()} threads: products in {precision} at {rate / 1e9:.0f} GFLOP/s, "
        f"copies at {bandwidth / 1e9:.1f} GB/s\n"
    )
    print(table(parts, whole=whole + parts[-1].seconds, rate=rate, bandwidth=bandwidth))
    if arguments.corpus:
        print("\n" + outside(arguments.corpus, config, precision, arguments.batch_size, int(length)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", metavar="SETTING=VALUE", help="of the model, other than its preset's")
    parser.add_argument("--recipe", help="a pretraining recipe, whose own steps are run")
    parser.add_argument("--torch-kernels", action="store_true", help="without those that are compiled")
    parser.add_argument("--compare-kernels", action="store_true", help="steps of the recipe with and without them")
    parser.add_argument(
        "--precision", choices=("auto", *DTYPES), default="auto", help="auto: measured, as by `train.precision: auto`"
    )
    parser.add_argument("--model", help="a preset (albert-base-v2)")
    parser.add_argument("--rows", help="full or mixed, and the longest: full-512, mixed-512 (full-128)")
    parser.add_argument("--batch-size", type=int, help="rows of a step (8)")
    parser.add_argument("--threads", type=int, help="of the CPU; all unless said otherwise")
    parser.add_argument("--seconds", type=float, default=3.0, help="to spend on each figure")
    parser.add_argument("--corpus", type=Path, help="corpus directory, for the share of time outside the model")
    arguments = parser.parse_args()
    if arguments.recipe and not arguments.corpus:
        parser.error("--recipe needs --corpus")
    for name, default in {"model": "albert-base-v2", "rows": "full-128", "batch_size": 8}.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, default)
        elif arguments.recipe:
            parser.error(f"--{name.replace('_', '-')} has no effect with --recipe, whose own steps are run")
    if arguments.torch_kernels and arguments.compare_kernels:
        parser.error("give --torch-kernels or --compare-kernels, which runs both")
    if any(setting.startswith("train.precision=") for setting in arguments.settings):
        parser.error("give --precision instead of train.precision")
    if arguments.compare_kernels and not arguments.recipe:
        parser.error("--compare-kernels needs --recipe")
    return arguments


if __name__ == "__main__":
    with freed_memory_kept():  # as the trainer does
        main()
