"""Two processes give the results of one."""

import pytest
import torch

from litebert.training.checkpointing.run_checkpoints import model_tensors
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.evaluation_loop import evaluate
from litebert.training.loop.step import TrainStep, gradient_scaler
from support.models import golden_lamb
from support.models.tolerances import PROMISED, tolerance
from support.programs.distributed_worker import ELASTIC, GRADIENTS, TRAINED, muon_weights
from support.runs.toy import ToyBatches, ToyModel, ToyObjective, losses, rows, settings, train

CPU = torch.device("cpu")
BOTH = pytest.mark.parametrize("rank", [0, 1])


def assert_same(ours: dict, theirs: dict, atol: float = PROMISED["weights"]) -> None:
    assert ours.keys() == theirs.keys()
    for name in ours:
        torch.testing.assert_close(ours[name], theirs[name], atol=atol, rtol=0)


@pytest.fixture(scope="module")
def single() -> tuple[dict, float, dict]:
    """Weights after one step of plain descent by one process, the norm of its gradient, its losses."""
    model, world = ToyModel(dropout=0.0), DistributedContext.current("cpu")
    sgd = torch.optim.SGD(model.parameters(), lr=1.0)
    train_step = TrainStep(
        model, ToyObjective(), sgd, gradient_scaler("fp32", CPU), settings(max_grad_norm=None), world
    )
    outcome = train_step.update(ToyBatches().microbatches(0), {"class": 5, "size": 8}, learning_rate=1.0, seed=0)
    return model_tensors(model), outcome.grad_norm, outcome.losses


@BOTH
@pytest.mark.parametrize("scenario", GRADIENTS)
def test_gradient_of_two_ranks_is_that_of_one_process(ranks, single, rank, scenario):
    weights, norm, means = single
    seen = ranks[rank][scenario]
    assert_same(seen["weights"], weights)
    assert seen["norm"] == pytest.approx(norm, rel=tolerance(depth="operation"))
    assert seen["losses"] == pytest.approx(means, rel=PROMISED["losses"])


@BOTH
@pytest.mark.parametrize("optimizer", ["lamb", "adamw"])
@pytest.mark.parametrize("layout", ["", "_fsdp"])
def test_training_on_two_ranks_gives_the_weights_of_one_process(tmp_path, ranks, rank, optimizer, layout):
    model = ToyModel(dropout=0.0)
    train(tmp_path, model=model, **(TRAINED | {"optimizer": optimizer}))
    assert_same(ranks[rank][optimizer + layout]["weights"], model_tensors(model), atol=tolerance())


@BOTH
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_muon_of_two_ranks_gives_the_weights_of_one_process(ranks, rank, precision):
    assert_same(ranks[rank]["divided_muon"][precision], muon_weights(precision), atol=0)


@pytest.mark.parametrize("optimizer", ["lamb", "adamw"])
def test_fsdp_run_is_resumed_by_one_process(tmp_path, ranks, directory, optimizer):
    model = ToyModel(dropout=0.0)
    train(directory / f"{optimizer}_fsdp", model=model, **(TRAINED | {"optimizer": optimizer}))
    assert_same(ranks[0][f"{optimizer}_fsdp"]["weights"], model_tensors(model), atol=0)


def test_step_not_finite_on_one_rank_is_skipped_on_all(ranks, directory):
    first, second = (seen["not_finite"] for seen in ranks)
    assert first["skipped"] == second["skipped"] == 1
    assert_same(first["weights"], second["weights"], atol=0)
    assert all(tensor.isfinite().all() for tensor in first["weights"].values())
    assert [row["step"] for row in rows(directory / "not_finite") if row["train/loss"] is None] == [3]


@BOTH
@pytest.mark.parametrize("layout", ["original_lamb", "original_lamb_fsdp"])
def test_lamb_on_two_ranks_matches_the_tensorflow_reference(ranks, rank, layout):
    for step, values in enumerate(ranks[rank][layout]["values"]):
        assert_same(values, {name: golden_lamb.after(name, step) for name in golden_lamb.NAMES})


def test_checkpoint_is_unchanged_by_a_step_not_finite_on_one_rank(ranks, directory):
    """The checkpoints before and after that step, which is saved as the last one, hold the same bytes."""
    before, after = (directory / "not_finite_at_the_end" / "checkpoints" / f"step-{step:08d}" for step in (2, 3))
    for name in ("litebert.safetensors", "optimizer.safetensors"):
        assert (before / name).read_bytes() == (after / name).read_bytes()


def test_rollback_after_spikes_on_one_rank_is_the_same_on_both(ranks):
    first, second = (seen["rolled_back"] for seen in ranks)
    assert first["position"] == second["position"]
    expected = {"step": 16, "rollbacks": 1, "skipped_batches": 4, "skipped_steps": 3}
    assert {name: first["position"][name] for name in expected} == expected
    assert_same(first["weights"], second["weights"], atol=0)


def test_callback_with_every_rank_has_the_same_hooks_on_both(ranks):
    first, second = (seen["hooks"]["calls"] for seen in ranks)
    assert first == second
    assert [call for call in first if call[0] == "checkpoint"] == [("checkpoint", 1), ("checkpoint", 2)]


def test_checkpoint_failure_ends_both_ranks_with_the_reason(ranks):
    for seen in ranks:
        assert "step-00000004" in seen["not_written"]["error"]
        assert "could not be written" in seen["not_written"]["error"]


@pytest.mark.parametrize("optimizer", ["lamb", "adamw"])
def test_run_resumes_from_replicated_to_fsdp_and_back(ranks, optimizer):
    """Steps 1–2 replicated, 3–4 with FSDP, 5–6 replicated give the weights of a replicated run."""
    alone, changing = ranks[0][f"resharded_{optimizer}"]["alone"], ranks[0][f"resharded_{optimizer}"]["changing"]
    assert_same(changing, alone)


def test_signal_to_one_rank_stops_both_with_the_state_saved(ranks):
    for seen in ranks:
        assert "stopped by SIGTERM after step 4; the state is saved" in seen["elastic"]["stopped"]


def test_run_resumes_from_one_process_to_two_and_back(tmp_path, ranks, directory):
    train(directory / "elastic", model=ToyModel(0.0), **ELASTIC)
    train(tmp_path, model=ToyModel(0.0), **ELASTIC)
    changing, whole = losses(directory / "elastic"), losses(tmp_path)
    assert list(changing) == list(whole) == [1, 2, 3, 4, 5, 6]
    for step in whole:
        assert changing[step] == pytest.approx(whole[step], rel=PROMISED["losses"])


@BOTH
@pytest.mark.parametrize("share", ["shared", "uneven"])
def test_evaluation_is_exact_over_ranks(ranks, rank, share):
    whole = evaluate(ToyModel(), ToyObjective(), ToyBatches(batch_size=12).microbatches(0), device=CPU)
    assert ranks[rank]["evaluation"][share] == pytest.approx(whole, rel=PROMISED["losses"])


def test_signal_to_one_rank_ends_an_evaluation_on_both(ranks, directory):
    first, second = (result["interrupted_evaluation"] for result in ranks)
    assert (first["forwards"], second["forwards"]) == (5, 2)
    for result in (first, second):
        assert "stopped by SIGTERM after step 2; the state is saved" in result["stopped"]
        assert result["steps"] == 4
    assert_same(first["weights"], second["weights"], atol=0)
    found = [row["step"] for row in rows(directory / "interrupted_evaluation") if "evaluation/loss" in row]
    assert found == [2, 4]


@BOTH
def test_collectives_reach_every_rank(ranks, rank):
    assert ranks[rank]["reductions"] == {
        "sum": {"a": 1, "b": 2},
        "max": {"a": 1, "b": -1},
        "tensors": [(shape, [3.0]) for shape in [(1,), (2, 3), (1024, 1024), ()]],
        "gather": ["rank 0", "rank 1"],
        "first": 0,
        "error": "disk full",
    }


@BOTH
def test_distribute_model_gives_every_rank_the_weights_of_rank_0(ranks, rank):
    assert_same(ranks[rank]["placement"]["weights"], model_tensors(ToyModel(seed=0)), atol=0)


@BOTH
def test_reduce_gradients_takes_a_missing_gradient_as_zero(ranks, rank):
    placement = ranks[rank]["placement"]
    assert torch.equal(placement["gradient"], torch.ones_like(placement["gradient"]))
    assert "up.weight" not in placement["unused"]
    assert "unused.weight" in placement["unused"]


def test_gather_full_joins_the_shards(ranks):
    first, second = (seen["sharded_tensor"] for seen in ranks)
    assert torch.equal(first["whole"], second["whole"])
    assert (first["rows"], second["rows"]) == (2, 1)
