"""LAMB follows the original TensorFlow code, from the same start with the same gradients."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from litebert.training.optimizers import build_optimizer
from litebert.training.settings import TrainSettings

GOLDEN = np.load(Path(__file__).parent / "golden" / "lamb.npz")
NAMES = sorted(name.removeprefix("init/") for name in GOLDEN.files if name.startswith("init/"))
STEPS = len(GOLDEN[f"grads/{NAMES[0]}"])


@pytest.fixture(scope="module")
def trajectory() -> dict[str, list[np.ndarray]]:
    """Values of every variable after each step of our LAMB."""
    model = nn.ParameterDict({name: nn.Parameter(torch.tensor(GOLDEN[f"init/{name}"])) for name in NAMES})
    settings = TrainSettings.parse(
        {
            "duration": "20 steps",
            "learning_rate": float(GOLDEN["learning_rate"]),
            "weight_decay": float(GOLDEN["weight_decay"]),
            "exclude": ["LayerNorm", "layer_norm", "bias"],
        },
        where="test",
    )
    optimizer = build_optimizer(model, settings)
    values: dict[str, list[np.ndarray]] = {name: [] for name in NAMES}
    for step in range(STEPS):
        for name in NAMES:
            model[name].grad = torch.tensor(GOLDEN[f"grads/{name}"][step])
        optimizer.step()
        for name in NAMES:
            values[name].append(model[name].detach().numpy().copy())
    return values


@pytest.mark.parametrize("name", NAMES)
def test_twenty_steps_match_the_original(trajectory, name):
    np.testing.assert_allclose(np.stack(trajectory[name]), GOLDEN[f"after/{name}"], rtol=0, atol=1e-6)
