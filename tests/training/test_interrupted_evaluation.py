"""A signal during an evaluation ends the run at once; the resumed run takes the evaluation again."""

import os
import signal

import pytest
import torch

from litebert.errors import StoppedBySignalError
from litebert.training.callbacks.early_stopping import EarlyStopping
from litebert.training.loop.evaluation_loop import evaluate
from support.runs.callbacks import At, HookRecorder, KilledError, killer
from support.runs.toy import ToyBatches, ToyObjective, losses, rows, train, weights

RUN = {"duration": "8 steps", "evaluate_every": "2 steps", "checkpoint_every": "3 steps"}


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


class Evaluation:
    """An evaluation of 8 forwards; the n-th forward of all evaluations sends a signal to this process."""

    def __init__(self, signal_at: int | None = None) -> None:
        self.forwards, self._signal_at = 0, signal_at

    def __call__(self, model: torch.nn.Module) -> dict[str, float]:
        batches = ToyBatches(microbatch_size=1, seed=1).microbatches(0)
        return evaluate(model, ToyObjective(self._count), batches, device=torch.device("cpu"))

    def _count(self) -> None:
        self.forwards += 1
        if self.forwards == self._signal_at:
            terminate()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run without interruption: its directory and weights."""
    directory = tmp_path_factory.mktemp("whole")
    model, _ = train(directory, **RUN, evaluate=Evaluation())
    return directory, weights(model)


def assert_resumes(directory, whole) -> None:
    expected, expected_weights = whole
    model, result = train(directory, **RUN, evaluate=Evaluation())
    assert torch.equal(weights(model), expected_weights)
    assert losses(directory) == losses(expected)
    found, wanted = ([row for row in rows(each) if "evaluation/loss" in row] for each in (directory, expected))
    assert found == wanted
    assert result.evaluation["loss"] == wanted[-1]["evaluation/loss"]


@pytest.mark.parametrize(("signal_at", "step"), [(1, 2), (11, 4), (25, 8), (31, 8)])
def test_signal_during_an_evaluation_ends_it_before_the_next_forward(tmp_path, whole, signal_at, step):
    evaluation = Evaluation(signal_at)
    with pytest.raises(StoppedBySignalError, match=f"after step {step}; the state is saved"):
        train(tmp_path, **RUN, evaluate=evaluation)
    assert evaluation.forwards == signal_at
    assert (tmp_path / "checkpoints" / f"step-{step:08d}").is_dir()
    assert_resumes(tmp_path, whole)


@pytest.mark.parametrize("step", [1, 3, 7])
def test_signal_before_a_due_evaluation_skips_it_until_the_resume(tmp_path, whole, step):
    evaluation, recorder = Evaluation(), HookRecorder()
    with pytest.raises(StoppedBySignalError, match=f"after step {step + 1};"):
        train(tmp_path, **RUN, evaluate=evaluation, callbacks=[At("step", step, terminate), recorder])
    assert ("evaluate", step + 1) not in recorder.calls
    assert_resumes(tmp_path, whole)


def test_interrupted_evaluation_is_taken_once_after_kills(tmp_path, whole):
    """Interrupted at step 4, resumed and killed after step 5, resumed again."""
    with pytest.raises(StoppedBySignalError):
        train(tmp_path, **RUN, evaluate=Evaluation(11))
    with pytest.raises(KilledError):
        train(tmp_path, **RUN, evaluate=Evaluation(), callbacks=[killer("step", 5)])
    assert_resumes(tmp_path, whole)


def test_interrupted_evaluation_killed_before_its_checkpoint_is_logged_once(tmp_path, whole):
    """Interrupted at step 4; the resumed run logs the evaluation and is killed at once; resumed again."""

    class KilledAfterEvaluation(HookRecorder):
        def on_evaluate(self, run, metrics):
            raise KilledError

    with pytest.raises(StoppedBySignalError):
        train(tmp_path, **RUN, evaluate=Evaluation(11))
    with pytest.raises(KilledError):
        train(tmp_path, **RUN, evaluate=Evaluation(), callbacks=[KilledAfterEvaluation()])
    assert_resumes(tmp_path, whole)


def test_interrupted_evaluation_counts_for_early_stopping_after_the_resume(tmp_path):
    def run(evaluation):
        return train(tmp_path, **RUN, evaluate=evaluation, callbacks=[EarlyStopping(1, metric="size_count")])

    with pytest.raises(StoppedBySignalError):
        run(Evaluation(11))
    _, result = run(Evaluation())
    assert (result.steps, result.stopped_early) == (4, True)
    _, result = run(Evaluation())
    assert (result.steps, result.stopped_early) == (4, True)
