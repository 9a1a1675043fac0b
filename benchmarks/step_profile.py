"""Time of each part of a training step, compared with the peak throughput of the machine.

python benchmarks/step_profile.py [--model PRESET] [SETTING=VALUE …] [--rows full-128] [--batch-size 8] [--threads N]
    [--corpus DIR] [--torch-kernels] [--precision auto]

The settings change the preset: `--model modern-tiny num_hidden_layers=4 hidden_size=128 intermediate_size=336`. Whole
steps of a pretraining recipe are measured by recipe_profile.py.

Each part is run forward and backward by itself, on the shapes that it has in the step; the whole step is timed too, so
that what no part accounts for shows. The precision is that of `train.precision: auto`, measured, if none is named. The
floor of a part is its products at the rate of a square product, plus what it keeps for the backward pass, written once
and read once at the bandwidth of a copy; weights and their copies in 16 bits are not counted as kept. "Products alone"
are the same products one by one, in the shapes that they have in the part: the share of the peak that they reach is the
largest that a step of these products could have. In fp32 they include the softmax, which torch computes in one operator
with the products of attention.

With a corpus the trainer runs the step too, on real text, and the share of it outside forward and backward is printed.
"""

import argparse
from pathlib import Path

import torch
from libraries import speed_contestants as who
from steps.compute_options import compute_options, use_compute_options
from steps.step_parts import (
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
from litebert.model.models import ForPretraining
from litebert.model.presets import preset
from litebert.settings import with_overrides
from litebert.training.loop.freed_memory import freed_memory_kept


def main() -> None:
    """Print the table of the parts, and with a corpus a line about the trainer."""
    arguments = _arguments()
    use_compute_options(arguments)
    kind, length = arguments.rows.split("-")
    config = ModelConfig.parse(with_overrides(preset(arguments.model).to_dict(), arguments.settings), where="settings")
    model = ForPretraining(config, seed=0).train()
    lengths = who.ROWS[kind](batch_size=arguments.batch_size, length=int(length))
    batch = who.random_batch(config, lengths)
    precision = measured(arguments.precision, config)
    bandwidth = copy_bandwidth(arguments.seconds)
    parts = model_parts(model, batch, precision=precision, seconds=arguments.seconds)
    parts.append(Part("optimizer (norm, clipping, LAMB)", optimizer_seconds(model, arguments.seconds)))
    rate, whole = rate_and_step(model, batch, precision=precision, seconds=arguments.seconds)
    print(
        f"{' '.join([arguments.model, *arguments.settings])}, {len(lengths)} rows, {batch.num_tokens} tokens, "
        f"{torch.get_num_threads()} threads: products in {precision} at {rate / 1e9:.0f} GFLOP/s, "
        f"copies at {bandwidth / 1e9:.1f} GB/s\n"
    )
    print(table(parts, whole=whole + parts[-1].seconds, rate=rate, bandwidth=bandwidth))
    if arguments.corpus:
        sizes = {"batch_size": arguments.batch_size, "length": int(length)}
        print("\n" + outside(arguments.corpus, config, precision=precision, **sizes))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, parents=[compute_options()]
    )
    parser.add_argument("settings", nargs="*", metavar="SETTING=VALUE", help="of the model, other than its preset's")
    parser.add_argument("--model", default="albert-base-v2", help="a preset (albert-base-v2)")
    parser.add_argument("--rows", default="full-128", help="full or mixed, and the longest, such as mixed-512")
    parser.add_argument("--batch-size", type=int, default=8, help="rows of a step (8)")
    parser.add_argument("--corpus", type=Path, help="corpus directory, for the share of time outside the model")
    return parser.parse_args()


if __name__ == "__main__":
    with freed_memory_kept():  # as the trainer does
        main()
