"""The model that runs at prediction: prepacked for the processor, or the given one under autocast."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, get_args
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from litebert.errors import ConfigError
from litebert.model import matmul_speed
from litebert.model.config import ModelConfig
from litebert.model.prepacked.prepack import can_prepack, has_operators, modules_and_parameters, prepacked
from litebert.precision import autocast, gpu_computes_bf16
from litebert.settings import InferencePrecision, validate_device_computes

logger = logging.getLogger(__name__)

Versions = tuple[int | tuple[int, int], ...]


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


def resolve_device(device: str, precision: InferencePrecision) -> str:
    """`device`, or for `auto` `cuda` if torch finds a CUDA device, `cpu` without one and for int8."""
    if device != "auto":
        return device
    return "cuda" if precision != "int8" and torch.cuda.is_available() else "cpu"


def usable_device(device: str | torch.device, precision: InferencePrecision) -> str:
    """`resolve_device`, with a ConfigError for a device that torch does not find, or that does not compute int8."""
    device = str(device)
    resolved = resolve_device(device, precision)
    try:
        found = torch.device(resolved)
    except RuntimeError:
        raise ConfigError(f"device: unknown {device!r}; expected auto, cpu, cuda or cuda:N") from None
    if found.type not in ("cpu", "cuda"):
        raise ConfigError(f"device: {device!r}; expected auto, cpu, cuda or cuda:N")
    count = torch.cuda.device_count()
    if found.type == "cuda" and (found.index or 0) >= count:
        raise ConfigError(f"device: {device!r} was asked for, but torch finds {count} CUDA devices; use 'cpu'")
    validate_device_computes(resolved, precision)
    return resolved


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
    return fastest_precision(config, device)


def fastest_precision(config: ModelConfig, device: torch.device) -> InferencePrecision:
    """What `auto` is for a model of a model directory; found without its weights."""
    if device.type != "cpu":
        return "bf16" if device.type == "cuda" and gpu_computes_bf16() else "fp32"
    if not has_operators("fp32"):
        return "fp32"
    speed = matmul_speed.measure_matmul_speed(config, "inference")
    logger.info("precision: %s, the fastest of %s on this processor", speed.fastest, speed.to_text())
    return speed.fastest


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
    versions = (_OPTIMIZER_STEPS.count, *each_version)
    known = _PREPACKED.get(model)
    if known is None or known[:2] != (precision, versions):
        known = _PREPACKED[model] = (precision, versions, prepacked(model, precision))
    return known[2]
