"""The fastest precision of a model: the speed of its matrix products in each, measured on this processor.

There are processors with bf16 instructions on which products in bf16 take twice as long as in fp32, so that only a
measurement tells which precision is the fastest.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from litebert.device import gpu_precision
from litebert.model.config import ModelConfig
from litebert.model.prepacked.prepack import DENSE, has_operators
from litebert.settings import InferencePrecision

logger = logging.getLogger(__name__)

Use = Literal["training", "inference"]
CANDIDATES: Final[dict[Use, tuple[InferencePrecision, ...]]] = {
    "training": ("fp32", "bf16"),
    "inference": ("fp32", "bf16", "fp16"),
}
"""fp16 is not among those for training, because its gradients need a loss scale."""
ADVANTAGE: Final = 1.2
"""How many times as fast as fp32 a precision must be: below that, fp32 costs little and is exact."""
SECONDS: Final = 0.25
"""Of all measurements together."""
_FLOPS_PER_CALL: Final = 4e9
_MAX_WIDTH: Final = 1024
"""Wider layers are not faster, and take longer to make and to measure."""
_DTYPES: Final = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def fastest_precision(config: ModelConfig, device: torch.device, use: Use) -> InferencePrecision:
    """What `auto` is for a model; found without its weights."""
    if device.type != "cpu":
        return gpu_precision() if device.type == "cuda" else "fp32"
    if use == "inference" and not has_operators("fp32"):
        return "fp32"
    speed = measure_matmul_speed(config, use)
    logger.info("precision of %s: %s, the fastest of %s on this processor", use, speed.fastest, speed.to_text())
    return speed.fastest


@dataclass(frozen=True)
class MatmulSpeed:
    """Measured GFLOP/s of each precision."""

    gflops: Mapping[InferencePrecision, float]

    @property
    def fastest(self) -> InferencePrecision:
        """The precision that `auto` stands for: fp32 if no other is clearly faster, or none was measured.

        It is never int8, whose results differ more.
        """
        exact = {name: speed for name, speed in self.gflops.items() if name != "int8"}
        if not exact:  # this torch has no oneDNN
            return "fp32"
        best = max(exact, key=lambda name: exact[name])
        return best if exact[best] >= ADVANTAGE * exact["fp32"] else "fp32"

    def to_text(self) -> str:
        """`fp32 130, bf16 510 GFLOP/s`."""
        return ", ".join(f"{name} {speed:,.0f}" for name, speed in self.gflops.items()) + " GFLOP/s"


def measure_matmul_speed(config: ModelConfig, use: Use, *, extra: tuple[InferencePrecision, ...] = ()) -> MatmulSpeed:
    """The speed of the feed-forward products of a model on this processor, in about `SECONDS`.

    Args:
        config: of the model; its widths are what matters.
        use: training measures forward and backward products of torch, inference prepacked weights.
        extra: precisions to measure besides those that `auto` chooses from.
    """
    candidates = [name for name in (*CANDIDATES[use], *extra) if use == "training" or has_operators(name)]
    hidden, inner = min(config.hidden_size, _MAX_WIDTH), min(config.intermediate_size, 4 * _MAX_WIDTH)
    rows = int(min(max(_FLOPS_PER_CALL / (6 * hidden * inner), 32), 2048))
    make = _training_products if use == "training" else _inference_product
    with torch.no_grad():
        calls = {
            name: make(torch.full((rows, hidden), 0.1), torch.full((inner, hidden), 0.1), name) for name in candidates
        }
        best = _fastest_calls(calls)
    products = 3 if use == "training" else 1
    return MatmulSpeed({name: products * 2e-9 * rows * hidden * inner / best[name] for name in candidates})


def _training_products(x: Tensor, weight: Tensor, precision: InferencePrecision) -> Callable[[], Any]:
    """One dense layer: its output, and the gradients of its input and of its weight."""
    x, weight = x.to(_DTYPES[precision]), weight.to(_DTYPES[precision])

    def call() -> None:
        output = F.linear(x, weight)
        torch.mm(output, weight)
        torch.mm(output.T, x)

    return call


def _inference_product(x: Tensor, weight: Tensor, precision: InferencePrecision) -> Callable[[], Any]:
    dense = DENSE[precision](weight, None)
    return lambda: dense(x)


def _fastest_calls(calls: Mapping[InferencePrecision, Callable[[], Any]]) -> dict[InferencePrecision, float]:
    """Seconds of the fastest call of each; calls alternate, so that other load of the machine meets all alike."""
    best = dict.fromkeys(calls, float("inf"))
    start = time.perf_counter()
    for call in calls.values():
        call()
    while True:
        for name, call in calls.items():
            before = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - before)
        if time.perf_counter() - start > SECONDS:
            return best
