"""The doctor: reports what the machine offers, advises where something is wrong, changes nothing."""

from dataclasses import replace

import pytest
import torch

from litebert.commands import doctor as module
from litebert.commands.doctor import CORE, EXTRAS, Diagnosis, MatmulThroughput, doctor

GIB = 1024**3
NARROW = module.WIDTHS.replace(hidden_size=48, num_attention_heads=4, intermediate_size=96)
MEASURE = module.matmul_speed.measure_matmul_speed
"""Read before a fixture replaces it."""


@pytest.fixture(scope="module")
def diagnosis(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(module.EXTRAS, "absent", ("absent_package.part",))
        patch.setitem(module.EXTRAS, "half", ("litebert", "litebert.absent"))
        patch.setattr(module.matmul_speed, "measure_matmul_speed", MEASURE)
        patch.setattr(module, "WIDTHS", NARROW)
        return doctor(tmp_path_factory.mktemp("disk"))


def test_doctor_reports_versions_devices_and_sizes(diagnosis):
    assert set(diagnosis.versions) == set(CORE)
    assert set(diagnosis.extras) == {*EXTRAS, "absent", "half"}
    assert not diagnosis.extras["absent"]
    assert not diagnosis.extras["half"]
    assert diagnosis.devices[-1] == "cpu"
    assert diagnosis.cores >= 1
    assert diagnosis.disk_free_bytes > 0
    assert [each.use for each in diagnosis.matmul if each.device == "cpu"] == ["training", "inference"]
    assert all(min(each.gflops.values()) > 0 for each in diagnosis.matmul)


def test_diagnosis_text_shows_every_figure(diagnosis, tmp_path):
    text = diagnosis.to_text()
    for shown in (
        diagnosis.processor,
        diagnosis.python,
        f"torch {diagnosis.versions['torch']}",
        "GFLOP/s",
        "plot",
        diagnosis.kernels,
    ):
        assert shown in text
    diagnosis.write(tmp_path / "diagnosis.json")
    assert Diagnosis.read(tmp_path / "diagnosis.json") == diagnosis


def test_diagnosis_text_without_a_known_memory_size(diagnosis):
    unknown = replace(diagnosis, memory_bytes=None, advice=["free some disk"])
    assert "memory     unknown" in unknown.to_text()
    assert unknown.to_text().endswith("note       free some disk")


def test_matmul_table_names_the_precision_that_auto_stands_for(diagnosis):
    rows = [
        MatmulThroughput("cpu", "training", {"fp32": 90.0, "bf16": 40.0}, "fp32"),
        MatmulThroughput("cpu", "inference", {"fp32": 100.0, "bf16": 500.0, "int8": 900.0}, "bf16"),
    ]
    lines = replace(diagnosis, matmul=rows).to_text().splitlines()
    table = [line.split() for line in lines if line.startswith("           cpu")]
    assert table == [
        ["cpu", "training", "90", "40", "–", "–", "fp32"],
        ["cpu", "inference", "100", "500", "–", "900", "bf16"],
    ]


@pytest.mark.parametrize(
    ("rates", "disk", "threads", "message"),
    [
        ((2.0, 1.0), 9 * GIB, None, "bf16 is 2.0 times slower than fp32 for training on cpu"),
        ((1.0, 2.0), 1 * GIB, None, "less than 2 GiB"),
        ((1.0, 2.0), 9 * GIB, "3", "OMP_NUM_THREADS=3"),
        ((1.0, 2.0), 9 * GIB, None, None),
    ],
)
def test_doctor_advises_where_something_is_wrong(monkeypatch, rates, disk, threads, message):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if threads:
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
    advice = module._advice(
        [MatmulThroughput("cpu", "training", dict(zip(("fp32", "bf16"), rates, strict=True)), "fp32")], disk
    )
    assert [message in line for line in advice] == ([True] if message else [])


def test_doctor_of_a_torch_without_onednn_measures_training_only(monkeypatch):
    monkeypatch.setattr(module.matmul_speed, "measure_matmul_speed", MEASURE)
    monkeypatch.setattr(module, "WIDTHS", NARROW)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    diagnosis = module.doctor()
    training, inference = diagnosis.matmul[-2:]
    assert training.gflops.keys() == {"fp32", "bf16"}
    assert (inference.gflops, inference.precision) == ({}, "fp32")
    assert not any("for inference" in line for line in diagnosis.advice)
