import pytest
import torch

from litebert.device import usable_device
from litebert.errors import ConfigError


@pytest.mark.parametrize(
    ("device", "precision", "available", "expected"),
    [
        ("auto", "fp32", True, "cuda"),
        ("auto", "fp32", False, "cpu"),
        ("auto", "int8", True, "cpu"),
        ("cpu", "fp32", True, "cpu"),
        ("cuda:1", "bf16", True, "cuda:1"),
        (torch.device("cuda", 1), "bf16", True, "cuda:1"),
        (torch.device("cpu"), "fp32", True, "cpu"),
    ],
)
def test_auto_is_a_cuda_device_where_there_is_one_that_computes_the_precision(
    monkeypatch, device, precision, available, expected
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2 * available)
    assert usable_device(device, precision) == expected
    with pytest.raises(
        ConfigError, match=r"device: 'cuda.*(torch finds 0 CUDA devices|int8 is computed on processors)"
    ):
        usable_device("cuda", "int8")
