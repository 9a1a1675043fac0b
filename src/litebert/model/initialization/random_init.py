"""Random initialization: truncated normal weights, one random stream per parameter.

Each parameter has its own generator, keyed by the seed and the parameter's name, so that a seed gives the same encoder
under any head and on any device.
"""

from typing import Final

from torch import nn

from litebert.model.layers.block import LowRankUpdate
from litebert.model.truncated_normal import fill_truncated_normal
from litebert.randomness import torch_seed_for

_STREAM_NAMES: Final = {"sentence_pair.weight": "sop.weight"}
"""Parameters whose random stream has another key than their name."""


def initialize(model: nn.Module, *, scale: float, seed: int) -> None:
    """Weights and tables: normal with standard deviation `scale`, truncated at 2 `scale`. Biases: 0. LayerNorm: 1, 0.

    Of a low-rank update B A, B is 0.

    Parameters on the meta device are skipped. Source: `create_initializer` in modeling.py of google-research/albert.
    """
    for path, module in model.named_modules():
        for name, parameter in module.named_parameters(path, recurse=False):
            if parameter.is_meta:
                continue
            if isinstance(module, LowRankUpdate) and name.endswith(".b"):
                nn.init.zeros_(parameter)
            elif parameter.ndim == 2:
                key = torch_seed_for(seed, "init", _STREAM_NAMES.get(name, name))
                fill_truncated_normal(parameter, scale=scale, seed=key)
            else:
                nn.init.constant_(parameter, float(isinstance(module, nn.LayerNorm) and name.endswith("weight")))
