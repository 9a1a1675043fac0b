"""Compute settings change what a step costs and none of its results."""

import pytest

from litebert.commands.pretrain.dry_run import dry_run
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.runs.compute import Compute
from litebert.model.encoder import Encoder
from litebert.model.kernels.native.library import native_library
from litebert.model.models import SentenceEmbedder
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
