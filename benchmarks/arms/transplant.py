"""Makes a model of the parts of two others, to find which part helps or hinders fine-tuning.

    python benchmarks/arms/transplant.py MODEL OTHER OUT [--parts embeddings attentions feed_forwards] [--scale 0.25]

OUT is MODEL with the named parts of OTHER, which has the same configuration; `--scale` multiplies the matrices of the
blocks of the result. Fine-tune MODEL, OTHER and OUT with the same recipe and compare the training loss of the first
thousand steps in `metrics.jsonl`. The figures are in log.md (2026-11-24, weight decay).
"""

import argparse
from pathlib import Path

import torch

from litebert.model.io.model_directory import load_model, save_model
from litebert.tokenization.tokenizer import Tokenizer

PARTS = {
    "embeddings": ("encoder.embeddings.", "encoder.projection."),
    "attentions": ("encoder.attentions.",),
    "feed_forwards": ("encoder.feed_forwards.",),
}
"""Beginnings of the names of the parameters of each part."""


def main() -> None:
    """Write the model."""
    arguments = _arguments()
    model, other = load_model(arguments.model), load_model(arguments.other)
    if model.config != other.config:
        raise SystemExit(f"{arguments.other}: its configuration differs from that of {arguments.model}")
    transplant(model, other, parts=arguments.parts, scale=arguments.scale)
    save_model(model, arguments.out, extra_files=Tokenizer.load(arguments.model).files())


@torch.no_grad()
def transplant(model: torch.nn.Module, other: torch.nn.Module, *, parts: list[str], scale: float) -> None:
    """Copy the weights of `parts` of `other` to `model`; multiply the matrices of its blocks by `scale`."""
    chosen = tuple(prefix for part in parts for prefix in PARTS[part])
    others = dict(other.named_parameters())
    for name, parameter in model.named_parameters():
        if name.startswith(chosen):
            parameter.copy_(others[name])
        if parameter.dim() == 2 and name.startswith((*PARTS["attentions"], *PARTS["feed_forwards"])):
            parameter.mul_(scale)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("other", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--parts", nargs="*", default=[], choices=tuple(PARTS))
    parser.add_argument("--scale", type=float, default=1.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
