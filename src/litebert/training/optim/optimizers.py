"""Optimizers by name. Before: a placed model, settings. After: `step.py`, `checkpoint.py`."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import torch
from torch import nn

from litebert.training.optim.lamb import Lamb
from litebert.training.train_settings import OptimizerName, TrainSettings

_OPTIMIZERS: dict[OptimizerName, Callable[..., torch.optim.Optimizer]] = {
    "lamb": Lamb,
    "lamb_bias_corrected": partial(Lamb, bias_correction=True),
    "adamw": lambda groups, **settings: torch.optim.AdamW(_without_adapted(groups), fused=True, **settings),
    "adamw_uncorrected": lambda groups, **settings: Lamb(_without_adapted(groups), adapted=False, **settings),
}


def build_optimizer(
    model: nn.Module, settings: TrainSettings, *, lr_multipliers: Mapping[str, float] = MappingProxyType({})
) -> torch.optim.Optimizer:
    """The optimizer of `settings` over the trainable parameters of `model`.

    Excluded names are in groups of their own, and so are those with another factor of the learning rate than 1.
    """
    excluded = re.compile("|".join(f"(?:{pattern})" for pattern in settings.exclude) or r"(?!)")
    together: dict[tuple[float, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            key = (-lr_multipliers.get(name, 1.0), excluded.search(name) is not None)
            together.setdefault(key, []).append(parameter)
    groups = [
        {"params": together[key], "adapted": not key[1], "lr_multiplier": -key[0]}
        | ({"weight_decay": 0.0} if key[1] else {})
        for key in sorted(together)
    ]
    return _OPTIMIZERS[settings.optimizer](
        groups,
        lr=settings.learning_rate,
        betas=settings.betas,
        eps=settings.eps,
        weight_decay=settings.weight_decay,
    )


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Use `rate`, times the factor of each group, for the next update."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("lr_multiplier", 1.0)


def _without_adapted(groups: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in group.items() if key != "adapted"} for group in groups]
