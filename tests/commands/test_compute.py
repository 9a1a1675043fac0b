"""How a model computes: settings that change what a step costs and none of its numbers."""

import pytest

from litebert.commands.compute import Compute
from litebert.commands.pretrain.dry_run import dry_run
from litebert.commands.pretrain.pretrain import pretrain
from litebert.model.encoder import Encoder
from litebert.model.models import SentenceEmbedder
from support.pretrain_runs import losses, plan

STEPS = ("train.duration=3 steps", "max_eval_examples=0")


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("every", [None, 2])
def test_an_encoder_is_told(small_config, monkeypatch, compiled, every):
    calls = []
    monkeypatch.setattr(Encoder, "compile_blocks", lambda self: calls.append(self))
    model = SentenceEmbedder(small_config)
    Compute(compile=compiled, activation_checkpoint_interval=every).apply(model)
    assert model.encoder.activation_checkpoint_interval == every
    assert calls == [model.encoder] * compiled


@pytest.mark.parametrize("every", [1, 2])
def test_computing_activations_again_changes_no_loss(corpus_directory, tmp_path, every):
    """Nor does dropout, which is drawn again as it was."""
    pretrain(plan(corpus_directory, *STEPS), tmp_path / "kept")
    again = plan(corpus_directory, *STEPS, f"compute.activation_checkpoint_interval={every}")
    pretrain(again, tmp_path / "again")
    kept, computed = ([row["train/loss"] for row in losses(tmp_path / name)] for name in ("kept", "again"))
    assert computed == pytest.approx(kept, rel=1e-6)


def test_a_run_that_had_too_little_memory_goes_on_with_fewer_activations(corpus_directory, tmp_path):
    pretrain(plan(corpus_directory, *STEPS, "train.schedule=constant"), tmp_path / "run")
    more = ("train.duration=5 steps", "train.schedule=constant", "train.allow_config_changes=[train.duration]")
    changed = plan(corpus_directory, *STEPS[1:], *more, "compute.activation_checkpoint_interval=1", "microbatch_size=2")
    assert pretrain(changed, tmp_path / "run").steps == 5


def test_the_dry_run_counts_fewer_activations(corpus_directory, tmp_path):
    all_kept, few = (
        dry_run(plan(corpus_directory, *STEPS, "model.num_hidden_layers=6", *more), tmp_path).activations
        for more in ((), ("compute.activation_checkpoint_interval=1",))
    )
    assert few < all_kept
