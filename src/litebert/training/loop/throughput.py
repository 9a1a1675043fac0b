"""Tokens, examples and operations of a step per second, and the peak of known accelerators."""

import re

import torch

from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.step import StepCounts

# Peak FLOP/s in bf16 without sparsity. Source: data sheets of the vendor.
_PEAK_FLOPS = {
    "H200": 989e12,
    "H100 PCIe": 756e12,
    "H100 NVL": 835e12,
    "H100": 989e12,
    "A100": 312e12,
    "L40S": 362e12,
    "L40": 181e12,
    "A10": 125e12,
    "L4": 121e12,
    "V100": 125e12,
    "T4": 65e12,
}


def peak_flops(world: DistributedContext) -> float | None:
    """Peak FLOP/s of all accelerators of `world`, which are assumed equal; None if not in the table."""
    name = torch.cuda.get_device_name(world.device) if world.device.type == "cuda" else ""
    peak = peak_flops_of(name)
    return None if peak is None else peak * world.size


def peak_flops_of(device_name: str) -> float | None:
    """Peak FLOP/s of the accelerator with this name; None if it is not in the table."""
    matching = (peak for name, peak in _PEAK_FLOPS.items() if re.search(rf"\b{name}\b", device_name))
    return next(matching, None)


def throughput(counts: StepCounts, seconds: float, *, peak: float | None) -> dict[str, float]:
    """Tokens, examples and, where known, FLOPs per second and MFU, over all ranks; `peak` is that of all devices.

    MFU is model FLOPs utilization. Source: PaLM (Chowdhery et al., 2022), appendix B.
    """
    rates = {"tokens_per_second": counts.tokens / seconds, "examples_per_second": counts.examples / seconds}
    if counts.flops is not None:
        rates["flops_per_second"] = counts.flops / seconds
        if peak is not None:
            rates["mfu"] = rates["flops_per_second"] / peak
    return rates
