"""Throughput, and model FLOPs utilization where it is known."""

import pytest
import torch

from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.step import StepCounts
from litebert.training.loop.throughput import peak_flops, peak_flops_of, throughput


def test_throughput_is_per_second():
    rates = throughput(StepCounts({}, tokens=100, examples=10, flops=None), 2.0, peak=1e12)
    assert rates == {"tokens_per_second": 50, "examples_per_second": 5}


def test_mfu_is_the_share_of_the_peak():
    rates = throughput(StepCounts({}, tokens=100, examples=10, flops=10**8), 2.0, peak=1e9)
    assert rates["flops_per_second"] == 5e7
    assert rates["mfu"] == pytest.approx(0.05)


def test_mfu_is_absent_without_a_known_peak():
    assert "mfu" not in throughput(StepCounts({}, tokens=1, examples=1, flops=1), 1.0, peak=None)


@pytest.mark.parametrize(
    ("name", "peak"),
    [
        ("NVIDIA H200", 989e12),
        ("NVIDIA H100 PCIe", 756e12),
        ("NVIDIA H100 NVL", 835e12),
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("Tesla V100-SXM2-16GB", 125e12),
        ("NVIDIA L40S", 362e12),
        ("NVIDIA L40", 181e12),
        ("NVIDIA L4", 121e12),
        ("NVIDIA A10", 125e12),
        ("NVIDIA A10G", None),
        ("NVIDIA RTX A1000", None),
        ("", None),
    ],
)
def test_peak_flops_are_those_of_the_data_sheets(name, peak):
    assert peak_flops_of(name) == peak


def test_peak_flops_of_the_cpu_are_unknown():
    assert peak_flops(DistributedContext.current("cpu")) is None


def test_peak_flops_are_those_of_all_devices(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H200")
    assert peak_flops(DistributedContext(rank=0, size=4, device=torch.device("cuda", 0))) == 4 * 989e12
