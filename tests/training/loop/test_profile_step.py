"""Profiling a step measures its cost and its first loss."""

from itertools import count
from types import SimpleNamespace

import pytest

from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.profile_step import profile_step
from support.runs.toy import ToyBatches, ToyModel, ToyObjective, losses, settings, train


def test_profile_step_measures_the_first_step(tmp_path):
    batches = ToyBatches(microbatch_size=4)
    cost = profile_step(
        ToyModel(dropout=0.0),
        objective=ToyObjective(),
        batches=batches,
        settings=settings(),
        world=DistributedContext.current("cpu"),
    )
    train(tmp_path, batches=batches, model=ToyModel(dropout=0.0))
    assert (cost.microbatches, cost.tokens) == (2, 48)
    assert cost.loss == pytest.approx(losses(tmp_path)[1][0])
    assert min(cost.batch_seconds, cost.step_seconds) > 0


def test_profile_step_runs_only_a_few_microbatches():
    calls = []
    cost = profile_step(
        ToyModel(),
        objective=ToyObjective(lambda: calls.append(1)),
        batches=ToyBatches(microbatch_size=1),
        settings=settings(),
        world=DistributedContext.current("cpu"),
    )
    assert cost.microbatches == 8
    assert len(calls) in range(2 * 2, 10 * 2 + 1, 2)  # two microbatches of two to ten steps


def test_profiled_time_of_a_step_is_that_of_all_its_microbatches(monkeypatch):
    """By a clock on which two microbatches take a second."""
    clock = SimpleNamespace(perf_counter=count(0.0).__next__)
    monkeypatch.setattr("litebert.training.loop.profile_step.time", clock)
    cost = profile_step(
        ToyModel(),
        objective=ToyObjective(),
        batches=ToyBatches(microbatch_size=1),
        settings=settings(),
        world=DistributedContext.current("cpu"),
    )
    assert (cost.microbatches, cost.step_seconds) == (8, 4)


class GrowingBatches(ToyBatches):
    """The batch of a later step has more microbatches."""

    def microbatches(self, step):
        return super().microbatches(step) * (1 + step)


def test_profile_of_several_steps_is_their_mean():
    cost = profile_step(
        ToyModel(),
        objective=ToyObjective(),
        batches=GrowingBatches(microbatch_size=4),
        settings=settings(),
        world=DistributedContext.current("cpu"),
        shares={0: 0.25, 3: 0.75},
    )
    assert (cost.microbatches, cost.tokens) == (2, round(0.25 * 48 + 0.75 * 4 * 48))
