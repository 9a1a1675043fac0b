"""Optimizers by name, with parameter groups for weight decay, layer adaptation and learning rate multipliers."""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import nn

from litebert.errors import ConfigError
from litebert.training.optim.lamb import Lamb
from litebert.training.optim.muon import Muon
from litebert.training.train_settings import TrainSettings, VectorOptimizerName


class MuonWith(torch.optim.Optimizer):
    """Muon for matrices and `other` for the rest; both share their parameter groups and states with this optimizer."""

    def __init__(self, muon: Muon, other: torch.optim.Optimizer) -> None:
        super().__init__([*muon.param_groups, *other.param_groups], {})
        self._parts = (muon, other)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure` returns."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        first = len(self._parts[0].param_groups)
        groups = (self.param_groups[:first], self.param_groups[first:])
        for part, part_groups in zip(self._parts, groups, strict=True):
            part.state, part.param_groups = self.state, part_groups
            part.step()
        return loss


def build_optimizer(
    model: nn.Module, settings: TrainSettings, *, lr_multipliers: Mapping[str, float] = MappingProxyType({})
) -> torch.optim.Optimizer:
    """The optimizer of `settings` over the trainable parameters of `model`; `set_learning_rate` sets its learning rate.

    `lr_multipliers` maps names of parameters to factors of the learning rate, 1 by default.
    """
    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    if settings.optimizer != "muon":
        return _adam_family(settings.optimizer, _parameter_groups(trained, settings, lr_multipliers), settings)
    matrices = {name: trained.pop(name) for name in _names_of_matrices(trained, settings)}
    if not matrices or not trained:
        raise ConfigError(
            f"muon_parameters: {len(matrices)} matrices match {list(settings.muon_parameters)} and {len(trained)} "
            "trained parameters do not, expected some of each; name the matrices of the blocks, or use adamw"
        )
    muon = _muon(_parameter_groups(matrices, settings, lr_multipliers), settings)
    others = _parameter_groups(trained, settings, lr_multipliers)
    return MuonWith(muon, _adam_family(settings.muon_companion, others, settings))


def state_elements(model: nn.Module, settings: TrainSettings) -> int:
    """Elements of the optimizer's state: the momentum of each matrix that Muon trains, two moments of all others."""
    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    matrices = _names_of_matrices(trained, settings) if settings.optimizer == "muon" else []
    return sum((1 if name in matrices else 2) * parameter.numel() for name, parameter in trained.items())


def set_learning_rate(optimizer: torch.optim.Optimizer, learning_rate: float) -> None:
    """Set the learning rate of the next update, times the multiplier of each group."""
    for group in optimizer.param_groups:
        group["lr"] = learning_rate * group.get("lr_multiplier", 1.0)


def _names_of_matrices(parameters: Mapping[str, nn.Parameter], settings: TrainSettings) -> list[str]:
    """Those that Muon trains."""
    return [
        name
        for name, parameter in parameters.items()
        if parameter.ndim == 2 and _matches(name, settings.muon_parameters)
    ]


def _adam_family(
    name: VectorOptimizerName, groups: list[dict[str, Any]], settings: TrainSettings
) -> torch.optim.Optimizer:
    """LAMB or AdamW, with or without bias correction."""
    adamw = name == "adamw"
    corrected = adamw if settings.bias_correction is None else settings.bias_correction
    if adamw and corrected:
        return torch.optim.AdamW(groups, lr=0.0, betas=settings.betas, eps=settings.eps, fused=True)
    for group in groups:
        group["layer_adaptation"] &= not adamw
    return Lamb(groups, lr=0.0, betas=settings.betas, eps=settings.eps, bias_correction=corrected)


def _muon(groups: list[dict[str, Any]], settings: TrainSettings) -> Muon:
    for group in groups:
        group["lr_multiplier"] *= settings.muon_learning_rate / settings.learning_rate
    dtype = torch.bfloat16 if settings.precision == "bf16" else torch.float32
    return Muon(groups, lr=0.0, momentum=settings.muon_momentum, dtype=dtype)


def _parameter_groups(
    parameters: Mapping[str, nn.Parameter], settings: TrainSettings, lr_multipliers: Mapping[str, float]
) -> list[dict[str, Any]]:
    not_decayed, not_adapted = settings.exclude_from_weight_decay, settings.exclude_from_layer_adaptation
    not_adapted = not_decayed if not_adapted is None else not_adapted
    groups: dict[tuple[float, bool, bool], list[nn.Parameter]] = {}
    for name, parameter in parameters.items():
        decayed, adapted = not _matches(name, not_decayed), not _matches(name, not_adapted)
        groups.setdefault((lr_multipliers.get(name, 1.0), decayed, adapted), []).append(parameter)
    return [
        {
            "params": groups[multiplier, decayed, adapted],
            "lr_multiplier": multiplier,
            "weight_decay": settings.weight_decay if decayed else 0.0,
            "layer_adaptation": adapted,
        }
        for multiplier, decayed, adapted in sorted(groups, reverse=True)
    ]


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(re.search(pattern, name) for pattern in patterns)
