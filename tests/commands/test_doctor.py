"""The doctor: tells what is there, advises where something is amiss, changes nothing."""

import os

import pytest

from litebert.commands import doctor as room
from litebert.commands.doctor import CORE, EXTRAS, Diagnosis, doctor

GIB = 1024**3


@pytest.fixture(scope="module")
def diagnosis(tmp_path_factory):
    return doctor(tmp_path_factory.mktemp("disk"))


def test_it_tells_versions_devices_and_sizes(diagnosis):
    assert set(diagnosis.versions) == set(CORE)
    assert set(diagnosis.extras) == set(EXTRAS)
    assert diagnosis.devices[-1] == "cpu"
    assert diagnosis.cores >= 1
    assert diagnosis.disk_free_bytes > 0
    assert min(diagnosis.matmul_fp32, diagnosis.matmul_bf16) > 0


def test_every_figure_is_shown(diagnosis):
    text = diagnosis.to_text()
    for shown in (diagnosis.processor, diagnosis.python, f"torch {diagnosis.versions['torch']}", "GFLOP/s", "plot"):
        assert shown in text
    assert Diagnosis(**diagnosis.to_dict()) == diagnosis


def test_unknown_memory_is_called_unknown(diagnosis, monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: (_ for _ in ()).throw(ValueError(name)))
    assert room._memory_bytes() is None
    unknown = Diagnosis(**{**diagnosis.to_dict(), "memory_bytes": None, "advice": ["mind the step"]})
    assert "memory     unknown" in unknown.to_text()
    assert unknown.to_text().endswith("note       mind the step")


@pytest.mark.parametrize(
    ("rates", "disk", "threads", "said"),
    [
        ((2.0, 1.0), 9 * GIB, None, "bf16 is slower"),
        ((1.0, 2.0), 1 * GIB, None, "less than 2 GiB"),
        ((1.0, 2.0), 9 * GIB, "3", "OMP_NUM_THREADS=3"),
        ((1.0, 2.0), 9 * GIB, None, None),
    ],
)
def test_advice_is_given_where_something_is_amiss(monkeypatch, rates, disk, threads, said):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if threads:
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
    advice = room._advice(*rates, disk)
    assert [said in line for line in advice] == ([True] if said else [])
