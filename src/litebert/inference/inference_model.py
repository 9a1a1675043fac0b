"""The model that runs at prediction: prepacked for the processor, or the given one under autocast."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, get_args
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from litebert.device import autocast
from litebert.errors import ConfigError
from litebert.model import matmul_speed
from litebert.model.encoder import encoder_of
from litebert.model.prepacked.prepack import can_prepack, modules_and_parameters, prepacked
from litebert.model.sharing_schedule import Schedule
from litebert.settings import InferencePrecision

Versions = tuple[int | Schedule | tuple[int, int], ...]


class _StepCounter:
    """Counts the steps of all optimizers: fused ones change weights without counting it in `_version`."""

    def __init__(self) -> None:
        self.count = 0
        register_optimizer_step_post_hook(self._add)

    def _add(self, *unused: object) -> None:
        self.count += 1


_OPTIMIZER_STEPS: Final = _StepCounter()
_PREPACKED: Final[WeakKeyDictionary[nn.Module, tuple[InferencePrecision, Versions, nn.Module]]] = WeakKeyDictionary()
"""The last prepacked copy of each model, so that a server does not prepack for every text."""


def resolve_precision(precision: InferencePrecision, model: nn.Module) -> InferencePrecision:
    """`precision`, or for `auto` the fastest one on the device of `model`: measured on CPUs, bf16 on GPUs with it.

    Raises ConfigError for a name that is no precision.
    """
    if precision not in get_args(InferencePrecision):
        raise ConfigError(f"precision: {precision!r}, expected one of {', '.join(get_args(InferencePrecision))}")
    if precision != "auto":
        return precision
    device = next(model.parameters()).device
    config: Any = getattr(model, "config", None)
    if device.type == "cpu" and (config is None or not can_prepack(model, "fp32")):
        return "fp32"
    return matmul_speed.fastest_precision(config, device, "inference")


@contextmanager
def inference_model(model: nn.Module, precision: InferencePrecision) -> Iterator[nn.Module]:
    """The model to run in the block, in evaluation mode and without gradients.

    On a CPU it is a prepacked copy with the present weights of `model`; otherwise `model` itself under autocast.
    `precision` is resolved. Raises ConfigError for int8 where a model cannot be prepacked.
    """
    modules, parameters = modules_and_parameters(model)
    fast = can_prepack(model, precision, parameters)
    if precision == "int8" and not fast:
        raise ConfigError("precision: int8 needs a model of litebert on a CPU with oneDNN; use bf16 or fp32")
    training = [module for module in modules if module.training]
    trained = model.training or any(each.grad is not None for each in parameters)
    _set_training(training, value=False)  # also for the copy, which shares the embeddings and heads
    try:
        with torch.inference_mode(), autocast("fp32" if fast else precision, parameters[0].device):
            yield _prepacked(model, parameters, precision, trained=trained) if fast else model
    finally:
        _set_training(training, value=True)


def _set_training(modules: Iterable[nn.Module], *, value: bool) -> None:
    for module in modules:
        module.training = value


def _prepacked(
    model: nn.Module, parameters: Iterable[nn.Parameter], precision: InferencePrecision, *, trained: bool
) -> nn.Module:
    """The prepacked copy: new for a model in training, otherwise one for as long as the weights stay."""
    if trained:  # its weights will change again, so that a copy would only take memory
        return prepacked(model, precision)
    each_version = ((each.data_ptr(), 0 if each.is_inference() else each._version) for each in parameters)
    versions = (_OPTIMIZER_STEPS.count, encoder_of(model).schedule, *each_version)
    known = _PREPACKED.get(model)
    if known is None or known[:2] != (precision, versions):
        known = _PREPACKED[model] = (precision, versions, prepacked(model, precision))
    return known[2]
