"""Compute settings change what a step costs and none of its results."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError

import pytest
import torch

from litebert.commands.compute import Compute, kept_precision, warn_slow_bf16
from litebert.commands.pretrain.dry_run import dry_run
from litebert.commands.pretrain.pretrain import pretrain
from litebert.model import matmul_speed
from litebert.model.encoder import Encoder
from litebert.model.kernels.native.library import native_library
from litebert.model.matmul_speed import MatmulSpeed
from litebert.model.models import SentenceEmbedder
from litebert.settings import read_yaml
from support.models.native_kernels import NEEDS_GCC
from support.models.tolerances import close_to
from support.runs.pretrain_runs import losses, plan

STEPS = ("train.duration=3 steps", "max_eval_examples=0")


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("every", [None, 2])
def test_compute_configures_the_encoder(small_config, monkeypatch, compiled, every):
    calls = []
    monkeypatch.setattr(Encoder, "compile_blocks", lambda self: calls.append(self))
    model = SentenceEmbedder(small_config)
    Compute(compile=compiled, activation_checkpoint_interval=every).apply(model)
    assert model.encoder.activation_checkpoint_interval == every
    assert calls == [model.encoder] * compiled


@NEEDS_GCC
def test_kernels_are_those_of_the_settings(small_config):
    model = SentenceEmbedder(small_config)
    Compute(native_kernels=False).apply(model)
    assert native_library() is None
    Compute().apply(model)
    assert native_library() is not None


@pytest.mark.parametrize("every", [1, 2])
def test_activation_checkpointing_changes_no_loss(corpus_directory, tmp_path, every):
    """With dropout, too: recomputation draws the same mask."""
    pretrain(plan(corpus_directory, *STEPS), tmp_path / "kept")
    again = plan(corpus_directory, *STEPS, f"compute.activation_checkpoint_interval={every}")
    pretrain(again, tmp_path / "again")
    kept, computed = ([row["train/loss"] for row in losses(tmp_path / name)] for name in ("kept", "again"))
    assert computed == close_to(kept)


def test_run_resumes_with_other_compute_settings_and_microbatch_size(corpus_directory, tmp_path):
    pretrain(plan(corpus_directory, *STEPS, "train.schedule=constant"), tmp_path / "run")
    more = ("train.duration=5 steps", "train.schedule=constant", "train.allow_config_changes=[train.duration]")
    changed = plan(corpus_directory, *STEPS[1:], *more, "compute.activation_checkpoint_interval=1", "microbatch_size=2")
    assert pretrain(changed, tmp_path / "run").steps == 5


def test_dry_run_counts_fewer_activations_with_checkpointing(corpus_directory, tmp_path):
    all_kept, few = (
        dry_run(plan(corpus_directory, *STEPS, "model.num_hidden_layers=6", *more), tmp_path).activations
        for more in ((), ("compute.activation_checkpoint_interval=1",))
    )
    assert few < all_kept


def test_auto_precision_is_measured_recorded_and_kept_on_resume(corpus_directory, tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO", "litebert")
    monkeypatch.setattr(matmul_speed, "measure_matmul_speed", lambda *_: MatmulSpeed({"fp32": 100.0, "bf16": 300.0}))
    auto = plan(corpus_directory, *STEPS, "train.precision=auto")
    pretrain(auto, tmp_path / "run")
    assert read_yaml(tmp_path / "run" / "settings.yaml")["train"]["precision"] == "bf16"
    assert "train.precision: bf16, the fastest of fp32 100, bf16 300 GFLOP/s" in caplog.text
    monkeypatch.setattr(matmul_speed, "measure_matmul_speed", lambda *_: MatmulSpeed({"fp32": 100.0, "bf16": 50.0}))
    more = ("train.duration=4 steps", "train.allow_config_changes=[train.duration]")
    longer = plan(corpus_directory, *STEPS[1:], *more, "train.precision=auto")
    pretrain(longer, tmp_path / "run")
    assert read_yaml(tmp_path / "run" / "settings.yaml")["train"]["precision"] == "bf16"


def test_dry_run_measures_the_precision(corpus_directory, tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO", "litebert")
    monkeypatch.setattr(matmul_speed, "measure_matmul_speed", lambda *_: MatmulSpeed({"fp32": 100.0, "bf16": 300.0}))
    dry_run(plan(corpus_directory, *STEPS, "train.precision=auto"), tmp_path / "none")
    assert "train.precision: bf16, the fastest of fp32 100, bf16 300 GFLOP/s" in caplog.text


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
    monkeypatch.setattr("litebert.commands.compute.has_bf16_instructions", lambda: instructions)
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
