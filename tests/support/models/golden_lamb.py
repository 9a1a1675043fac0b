"""Twenty steps of LAMB of google-research/albert: initial values, gradients, values after each step."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from litebert.training.train_settings import TrainSettings

GOLDEN = np.load(Path(__file__).parents[2] / "parity" / "golden" / "lamb.npz")
NAMES = sorted(name.removeprefix("init/") for name in GOLDEN.files if name.startswith("init/"))
STEPS = len(GOLDEN[f"grads/{NAMES[0]}"])


def model() -> nn.ParameterDict:
    return nn.ParameterDict({name: nn.Parameter(torch.tensor(GOLDEN[f"init/{name}"])) for name in NAMES})


def settings() -> TrainSettings:
    values = {
        "duration": "20 steps",
        "learning_rate": float(GOLDEN["learning_rate"]),
        "weight_decay": float(GOLDEN["weight_decay"]),
        "exclude_from_weight_decay": ["LayerNorm", "layer_norm", "bias"],
    }
    return TrainSettings.parse(values, where="test")


def gradient(name: str, step: int) -> Tensor:
    return torch.tensor(GOLDEN[f"grads/{name}"][step])


def after(name: str, step: int) -> Tensor:
    return torch.tensor(GOLDEN[f"after/{name}"][step])
