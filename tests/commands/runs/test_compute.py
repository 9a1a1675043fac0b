"""Compute settings change what a step costs and none of its results."""

import pytest

from litebert.commands.pretrain.dry_run import dry_run
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.runs.compute import Compute
from litebert.model.encoder import Encoder
from litebert.model.kernels.native.library import native_library
from litebert.model.models import ForPretraining, SentenceEmbedder
from support.models.native_kernels import NEEDS_GCC
from support.models.tolerances import close_to
from support.runs.callbacks import At
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
@pytest.mark.parametrize("native", [True, False])
def test_kernels_of_a_pretraining_run_are_those_of_its_settings_and_end_with_it(corpus_directory, tmp_path, native):
    used = []
    run = plan(corpus_directory, *STEPS, f"compute.native_kernels={native}")
    pretrain(run, tmp_path / "run", callbacks=[At("step", 1, lambda: used.append(native_library() is not None))])
    assert used == [native]
    assert native_library() is not None


@NEEDS_GCC
def test_kernels_of_a_dry_run_are_those_of_its_settings_and_end_with_it(corpus_directory, tmp_path, monkeypatch):
    used = []
    forward = ForPretraining.forward
    monkeypatch.setattr(
        ForPretraining, "forward", lambda *inputs, **more: used.append(native_library()) or forward(*inputs, **more)
    )
    dry_run(plan(corpus_directory, *STEPS, "compute.native_kernels=false"), tmp_path)
    assert set(used) == {None}
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
