"""Steps of a pretraining recipe, with its own batches, objectives and optimizer, and all that the trainer does.

python benchmarks/recipe_profile.py NAME --corpus DIR [SETTING=VALUE …] [--threads N] [--torch-kernels]
python benchmarks/recipe_profile.py NAME --corpus DIR [SETTING=VALUE …] [--threads N] --compare-kernels

Prints the share of the peak that the steps reach; with `--compare-kernels` how long they take with the kernels of torch
and with those that are compiled for the processor, in turn, after the weights of one step with each were compared. The
precision is that of `train.precision: auto`, measured, if none is named.
"""

import argparse
from pathlib import Path

from steps.compute_options import compute_options, use_compute_options
from steps.kernel_turns import compare_kernels
from steps.recipe_steps import recipe_share

from litebert.training.loop.freed_memory import freed_memory_kept


def main() -> None:
    """Print one paragraph."""
    arguments = _arguments()
    use_compute_options(arguments)
    profiled = {"corpus": arguments.corpus, "precision": arguments.precision}
    if arguments.compare_kernels:
        print(compare_kernels(arguments.recipe, arguments.settings, **profiled))
        return
    native = not arguments.torch_kernels
    print(recipe_share(arguments.recipe, arguments.settings, **profiled, seconds=arguments.seconds, native=native))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, parents=[compute_options()]
    )
    parser.add_argument("recipe", metavar="NAME", help="a pretraining recipe")
    parser.add_argument("settings", nargs="*", metavar="SETTING=VALUE", help="of the recipe, other than its own")
    parser.add_argument("--corpus", type=Path, required=True, help="corpus directory")
    parser.add_argument("--compare-kernels", action="store_true", help="both kernels, in turn")
    arguments = parser.parse_intermixed_args()
    if arguments.torch_kernels and arguments.compare_kernels:
        parser.error("give --torch-kernels or --compare-kernels, which runs both")
    if any(setting.startswith("train.precision=") for setting in arguments.settings):
        parser.error("give --precision instead of train.precision")
    return arguments


if __name__ == "__main__":
    with freed_memory_kept():  # as the trainer does
        main()
