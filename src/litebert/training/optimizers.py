"""Optimizers by name. Before: a placed model, settings. After: `step.py`, `checkpoint.py`."""

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import nn

from litebert.training.lamb import Lamb
from litebert.training.settings import OptimizerName, TrainSettings

_OPTIMIZERS: dict[OptimizerName, Callable[..., torch.optim.Optimizer]] = {
    "lamb": Lamb,
    "lamb_bias_corrected": partial(Lamb, bias_correction=True),
    "adamw": lambda groups, **settings: torch.optim.AdamW(_without_adapted(groups), fused=True, **settings),
    "adamw_uncorrected": lambda groups, **settings: Lamb(_without_adapted(groups), adapted=False, **settings),
}


def build_optimizer(model: nn.Module, settings: TrainSettings) -> torch.optim.Optimizer:
    """The optimizer of `settings` over the trainable parameters of `model`, excluded names in a group of their own."""
    excluded = re.compile("|".join(f"(?:{pattern})" for pattern in settings.exclude) or r"(?!)")
    trainable = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    groups = [
        {"params": [parameter for name, parameter in trainable if not excluded.search(name)], "adapted": True},
        {
            "params": [parameter for name, parameter in trainable if excluded.search(name)],
            "adapted": False,
            "weight_decay": 0.0,
        },
    ]
    return _OPTIMIZERS[settings.optimizer](
        [group for group in groups if group["params"]],
        lr=settings.learning_rate,
        betas=settings.betas,
        eps=settings.eps,
        weight_decay=settings.weight_decay,
    )


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Use `rate` for the next update of every group."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def _without_adapted(groups: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in group.items() if key != "adapted"} for group in groups]
