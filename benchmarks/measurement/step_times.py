"""Time, memory and throughput of training steps on one device, for `training_speed.py` and `step_profile.py`."""

import ctypes
import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from litebert.machine import peak_process_memory, process_memory, reset_peak_process_memory
from measurement.clocks import clock_for

WARMUP_STEPS = 3
BLOCKS = 3
GAIN = 1.05
"""A doubled batch must be this much faster per sequence to be worth another doubling."""
LONGEST_STEP = 0.5
"""Seconds of a step, from which on larger batches are not tried."""


@dataclass(frozen=True)
class Timing:
    """What one contestant's training steps on one batch took."""

    seconds_a_step: float
    peak_bytes: int | None
    """Most memory in use for weights, gradients, optimizer and activations; None where it cannot be known."""
    first_loss: float


def matmul_rate(
    device: torch.device,
    *,
    size: int,
    seconds: float = 1.0,
    dtype: torch.dtype = torch.bfloat16,
    fastest: bool = False,
) -> float:
    """FLOP/s of square products of random matrices: the median of several blocks, or the fastest product.

    A share of it should be that of a time which was taken in the same way.
    """
    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(size, size, generator=generator).to(device, dtype) for _ in range(2))
    timed = fastest_seconds if fastest else median_seconds
    return 2 * size**3 / timed(lambda: left @ right, device, seconds=seconds)


def train_steps(
    load: Callable[[], nn.Module],
    loss_of: Callable[[nn.Module], Tensor],
    device: torch.device,
    *,
    seconds: float,
    bf16: bool = True,
) -> Timing:
    """Time whole steps: forward (in bf16 if `bf16`), backward, clipping, a fused AdamW update."""
    before = _forget_peak(device)
    model = load().to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)

    def step() -> Tensor:
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            loss = loss_of(model)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    first_loss = step().item()
    taken = (fastest_seconds if device.type == "cpu" else median_seconds)(step, device, seconds=seconds)
    peak = _peak(device)
    return Timing(taken, None if peak is None else peak - before, first_loss)


def median_seconds(action: Callable[[], object], device: torch.device, *, seconds: float) -> float:
    """Median over blocks of the mean time of `action`; about `seconds` in all, after a warm-up."""
    once = min(seconds_on(device, action) for _ in range(WARMUP_STEPS))
    repeats = max(1, round(seconds / BLOCKS / once))
    return statistics.median(seconds_on(device, action, repeats=repeats) for _ in range(BLOCKS))


def fastest_seconds(action: Callable[[], object], device: torch.device, *, seconds: float) -> float:
    """The least time of `action`, run again and again for `seconds`, twice at least."""
    taken = [seconds_on(device, action) for _ in range(2)]
    while sum(taken) < seconds:
        taken.append(seconds_on(device, action))
    return min(taken)


def seconds_on(device: torch.device, action: Callable[[], object], *, repeats: int = 1) -> float:
    """Mean seconds of some calls, until the device has computed them; on one thread of a CPU in processor time."""
    clock = clock_for(torch.get_num_threads()) if device.type == "cpu" else time.perf_counter
    _wait(device)
    start = clock()
    for _ in range(repeats):
        action()
    _wait(device)
    return (clock() - start) / repeats


def doubled_while_worth_it(seconds_of: Callable[[int], float], *, start: int, most: int) -> int:
    """The batch size at which doubling stops to pay, does not fit into memory, or makes steps too long.

    `seconds_of` gives the time of a step at a batch size.
    """
    best, best_rate = start, start / seconds_of(start)
    while best * 2 <= most and best / best_rate < LONGEST_STEP:
        try:
            rate = best * 2 / seconds_of(best * 2)
        except torch.cuda.OutOfMemoryError:
            break
        if rate < GAIN * best_rate:
            break
        best, best_rate = best * 2, rate
    return best


def _forget_peak(device: torch.device) -> int:
    """Reset the peak memory; returns the bytes in use before a model is loaded."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return 0
    if process_memory():
        ctypes.CDLL(None).malloc_trim(0)
    reset_peak_process_memory()
    return process_memory()


def _peak(device: torch.device) -> int | None:
    """Most bytes in use since `_forget_peak`: of torch on a GPU, of the process where the system reports it."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else peak_process_memory() or None


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
