"""Ranks with unequal numbers of microbatches, replicated and with FSDP, give the results of one process."""

import pytest
import torch

from litebert.training.checkpointing.run_checkpoints import model_tensors
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.evaluation_loop import evaluate
from litebert.training.loop.step import StepCounts, TrainStep, gradient_scaler
from support.models.tolerances import tolerance
from support.runs.toy import ToyBatches, ToyModel, ToyObjective, settings, train

LAYOUTS = pytest.mark.parametrize("layout", ["", "_fsdp"])
SIZES = pytest.mark.parametrize("size", [2, 3])
BATCHES = ToyBatches(batch_size=7, microbatch_size=1)


@pytest.fixture
def results(request, size) -> list[dict]:
    return request.getfixturevalue("ranks" if size == 2 else "three_ranks")


def assert_same(found: dict, expected: dict) -> None:
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], atol=tolerance(), rtol=0, msg=name)


@SIZES
@LAYOUTS
def test_gradient_of_unequal_microbatches_is_that_of_one_process(results, size, layout):
    model, world = ToyModel(dropout=0.0), DistributedContext.current("cpu")
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = gradient_scaler("fp32", world.device)
    train_step = TrainStep(model, ToyObjective(), sgd, scaler, settings(max_grad_norm=None), world)
    for step in range(2):
        microbatches = BATCHES.microbatches(step)
        counts = StepCounts.of(microbatches, ToyObjective(), world)
        train_step.update(microbatches, counts.labels, learning_rate=0.1, seed=0)
    found = [result[f"uneven_gradient{layout}"] for result in results]
    assert [result["microbatches"] for result in found] == ([4, 3] if size == 2 else [3, 2, 2])
    for result in found:
        assert_same(result["weights"], model_tensors(model))


@SIZES
@LAYOUTS
def test_training_and_evaluation_of_unequal_ranks_are_those_of_one_process(results, size, layout, tmp_path):
    model = ToyModel(dropout=0.0)
    train(tmp_path, model=model, batches=BATCHES, duration="4 steps", optimizer="lamb")
    share = ToyBatches(batch_size=7, microbatch_size=1, world_size=size).microbatches(9)
    evaluation = evaluate(model, ToyObjective(), share, device=torch.device("cpu"))
    for result in results:
        assert_same(result[f"uneven_training{layout}"]["weights"], model_tensors(model))
        assert result[f"uneven_training{layout}"]["evaluation"] == pytest.approx(
            evaluation, rel=tolerance(depth="compound")
        )
