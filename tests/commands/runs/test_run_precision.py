"""The precision of runs is measured once, and kept."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError

import pytest
import torch

from litebert.commands.pretrain.dry_run import dry_run
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.runs.run_precision import kept_precision, warn_slow_bf16
from litebert.model import matmul_speed
from litebert.model.matmul_speed import MatmulSpeed
from litebert.settings import read_yaml
from support.runs.pretrain_runs import plan

STEPS = ("train.duration=3 steps", "max_eval_examples=0")


def test_auto_precision_is_measured_recorded_and_kept_on_resume(corpus_directory, tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO", "litebert")
    monkeypatch.setattr(matmul_speed, "measure_matmul_speed", lambda *_: MatmulSpeed({"fp32": 100.0, "bf16": 300.0}))
    auto = plan(corpus_directory, *STEPS, "train.precision=auto")
    pretrain(auto, tmp_path / "run")
    assert read_yaml(tmp_path / "run" / "settings.yaml")["train"]["precision"] == "bf16"
    assert "precision of training: bf16, the fastest of fp32 100, bf16 300 GFLOP/s" in caplog.text
    monkeypatch.setattr(matmul_speed, "measure_matmul_speed", lambda *_: MatmulSpeed({"fp32": 100.0, "bf16": 50.0}))
    more = ("train.duration=4 steps", "train.allow_config_changes=[train.duration]")
    longer = plan(corpus_directory, *STEPS[1:], *more, "train.precision=auto")
    pretrain(longer, tmp_path / "run")
    assert read_yaml(tmp_path / "run" / "settings.yaml")["train"]["precision"] == "bf16"


def test_dry_run_measures_the_precision(corpus_directory, tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO", "litebert")
    monkeypatch.setattr(matmul_speed, "measure_matmul_speed", lambda *_: MatmulSpeed({"fp32": 100.0, "bf16": 300.0}))
    dry_run(plan(corpus_directory, *STEPS, "train.precision=auto"), tmp_path / "none")
    assert "precision of training: bf16, the fastest of fp32 100, bf16 300 GFLOP/s" in caplog.text


@pytest.mark.parametrize(
    ("precision", "device", "instructions", "warned"),
    [
        ("bf16", "cpu", False, True),
        ("bf16", "cpu", True, False),
        ("bf16", "cpu", None, False),
        ("bf16", "cuda", False, False),
        ("fp32", "cpu", False, False),
    ],
)
def test_warn_slow_bf16_only_where_the_processor_emulates_it(
    monkeypatch, caplog, precision, device, instructions, warned
):
    monkeypatch.setattr("litebert.commands.runs.run_precision.has_bf16_instructions", lambda: instructions)
    warn_slow_bf16(precision, torch.device(device))
    assert ("no bf16 instructions" in caplog.text) is warned


def test_commands_that_begin_at_the_same_time_keep_what_one_of_them_measures(tmp_path):
    both_measure = Barrier(2)
    measured = []

    def measure(found):
        measured.append(found)
        with suppress(BrokenBarrierError):
            both_measure.wait(0.2)  # passes at once if the other one measures too
        return found

    with ThreadPoolExecutor(2) as pool:
        kept = [pool.submit(kept_precision, tmp_path, [], lambda name=name: measure(name)) for name in ("fp32", "bf16")]
    assert {each.result() for each in kept} == {measured[0]}
    assert len(measured) == 1
