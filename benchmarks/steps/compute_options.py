"""How steps are computed and how long they are timed: options of step_profile.py and recipe_profile.py."""

from argparse import ArgumentParser, Namespace

import torch

from litebert.model.kernels.native.library import use_native_kernels
from steps.step_parts import DTYPES


def compute_options() -> ArgumentParser:
    """A parent of the parsers of both."""
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--torch-kernels", action="store_true", help="without those that are compiled")
    parser.add_argument(
        "--precision", choices=("auto", *DTYPES), default="auto", help="auto: measured, as by `train.precision: auto`"
    )
    parser.add_argument("--threads", type=int, help="of the CPU (all)")
    parser.add_argument("--seconds", type=float, default=3.0, help="to spend on each figure")
    return parser


def use_compute_options(arguments: Namespace) -> None:
    """Set threads and kernels of this process."""
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    use_native_kernels(enabled=not arguments.torch_kernels)
