"""A rehearsal costs what a step costs and tells the numbers of the first."""

import pytest

from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.profile_step import profile_step
from support.toy import ToyBatches, ToyModel, ToyObjective, losses, settings, train


def test_it_does_the_first_step_and_counts_a_whole_one(tmp_path):
    batches = ToyBatches(microbatch_size=4)
    cost = profile_step(
        ToyModel(),
        objective=ToyObjective(),
        batches=batches,
        settings=settings(),
        world=DistributedContext.current("cpu"),
    )
    train(tmp_path, batches=batches, model=ToyModel(dropout=0.0))
    assert (cost.microbatches, cost.tokens) == (2, 48)
    assert cost.loss == pytest.approx(losses(tmp_path)[1][0], rel=0.3)
    assert min(cost.batch_seconds, cost.step_seconds) > 0


def test_of_many_microbatches_a_few_are_enough():
    calls = []
    cost = profile_step(
        ToyModel(),
        objective=ToyObjective(lambda: calls.append(1)),
        batches=ToyBatches(microbatch_size=1),
        settings=settings(),
        world=DistributedContext.current("cpu"),
    )
    assert (cost.microbatches, len(calls)) == (8, 4)
