import pytest
import torch

from litebert.model import matmul_speed
from litebert.model.presets import preset

MEASURE = matmul_speed.measure_matmul_speed
"""Read before a fixture replaces it."""


@pytest.mark.parametrize(
    ("gflops", "fastest"),
    [
        ({"fp32": 100.0, "bf16": 400.0}, "bf16"),
        ({"fp32": 160.0, "bf16": 80.0}, "fp32"),
        ({"fp32": 100.0, "bf16": 110.0}, "fp32"),
        ({"fp32": 100.0, "bf16": 200.0, "fp16": 250.0}, "fp16"),
        ({"fp32": 100.0, "bf16": 200.0, "int8": 900.0}, "bf16"),
    ],
)
def test_fastest_precision_is_fp32_unless_another_is_clearly_faster(gflops, fastest):
    speed = matmul_speed.MatmulSpeed(gflops)
    assert speed.fastest == fastest
    assert speed.to_text().startswith(f"fp32 {gflops['fp32']:.0f}, bf16 ")


def test_fastest_precision_where_torch_can_measure_none_is_fp32():
    assert matmul_speed.MatmulSpeed({}).fastest == "fp32"


@pytest.mark.parametrize("use", ["training", "inference"])
@pytest.mark.parametrize(
    ("device", "has_bf16", "fastest"),
    [("cpu", False, "bf16"), ("cuda", True, "bf16"), ("cuda", False, "fp32"), ("mps", True, "fp32")],
)
def test_auto_is_measured_on_the_processor_and_bf16_on_gpus_that_compute_it(
    monkeypatch, use, device, has_bf16, fastest
):
    speed = matmul_speed.MatmulSpeed({"fp32": 100.0, "bf16": 400.0})
    monkeypatch.setattr(matmul_speed, "measure_matmul_speed", lambda config, use: speed)
    monkeypatch.setattr(matmul_speed, "has_operators", lambda precision: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda *, including_emulation: has_bf16)
    assert matmul_speed.fastest_precision(preset("albert-base-v2"), torch.device(device), use) == fastest


def test_auto_of_predictions_is_fp32_where_torch_cannot_prepack(monkeypatch):
    monkeypatch.setattr(matmul_speed, "has_operators", lambda precision: False)
    monkeypatch.setattr(matmul_speed, "measure_matmul_speed", lambda *arguments: pytest.fail("measured"))
    assert matmul_speed.fastest_precision(preset("albert-base-v2"), torch.device("cpu"), "inference") == "fp32"


@pytest.mark.parametrize("use", ["training", "inference"])
def test_matmul_speed_is_measured_for_every_candidate(monkeypatch, use):
    monkeypatch.setattr(matmul_speed, "SECONDS", 0.01)
    config = preset("albert-base-v2").replace(hidden_size=48, num_attention_heads=4, intermediate_size=96)
    speed = MEASURE(config, use, extra=("int8",) if use == "inference" else ())
    assert {"fp32"} <= speed.gflops.keys()
    assert all(value > 0 for value in speed.gflops.values())
    assert ("int8" in speed.gflops) == (use == "inference")
