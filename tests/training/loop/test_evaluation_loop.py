"""Evaluation is exact for any batch size, and leaves the model as it was."""

import pytest
import torch

from litebert.training.loop.evaluation_loop import evaluate
from support.models.tolerances import tolerance
from support.runs.toy import ToyBatches, ToyModel, ToyObjective

CPU = torch.device("cpu")


def evaluated(microbatch_size: int, precision: str = "fp32") -> dict[str, float]:
    batches = ToyBatches(batch_size=12, microbatch_size=microbatch_size).microbatches(0)
    return evaluate(ToyModel(), ToyObjective(), batches, device=CPU, precision=precision)


@pytest.mark.parametrize("microbatch_size", [1, 5, 12])
def test_evaluation_does_not_depend_on_batch_size_or_dropout(microbatch_size):
    assert evaluated(microbatch_size) == pytest.approx(evaluated(4), rel=tolerance(depth="operation"))


def test_evaluation_means_are_sums_over_counts():
    result = evaluated(12)
    batch = ToyBatches(batch_size=12, microbatch_size=12).microbatches(0)[0]
    sums = ToyObjective()(ToyModel().eval(), batch)
    assert result["class_count"] == 8
    assert result["size_count"] == 12
    assert result["class_loss"] == pytest.approx(sums.losses["class"].item() / 8)
    assert result["class_accuracy"] == sums.correct["class"].item() / 8
    assert result["loss"] == result["class_loss"] + result["size_loss"]
    assert "size_accuracy" not in result


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_evaluation_in_low_precision_is_close(precision):
    assert evaluated(4, precision) == pytest.approx(evaluated(4), rel=0.05)


@pytest.mark.parametrize("training", [True, False])
def test_evaluation_restores_the_mode_of_the_model(training):
    model = ToyModel().train(training)
    evaluate(model, ToyObjective(), ToyBatches().microbatches(0), device=CPU)
    assert model.training is training


def test_evaluation_of_no_batches_gives_a_loss_of_zero():
    assert evaluate(ToyModel(), ToyObjective(), [], device=CPU) == {"loss": 0}
