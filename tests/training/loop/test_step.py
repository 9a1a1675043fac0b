"""One step: the same gradient for any microbatch size, clipped as a whole, skipped if not finite."""

import pytest
import torch

from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.step import StepCounts, StepOutcome, TrainStep, UpdateLimits, gradient_scaler
from support.models.tolerances import tolerance
from support.runs.toy import ToyBatches, ToyModel, ToyObjective, settings

COUNTS = {"class": 5, "size": 8}


def test_step_counts_labels_tokens_and_examples():
    microbatches = ToyBatches(microbatch_size=3).microbatches(0)
    counts = StepCounts.of(microbatches, ToyObjective(), DistributedContext.current("cpu"))
    assert counts == StepCounts(labels=COUNTS, tokens=48, examples=8, flops=None)


def test_step_counts_sum_flops_over_microbatches():
    microbatches = ToyBatches(microbatch_size=3).microbatches(0)
    world = DistributedContext.current("cpu")
    counts = StepCounts.of(microbatches, ToyObjective(), world, flops=lambda batch: 10 * batch.num_examples)
    assert counts.flops == 80


def test_step_outcome_has_metrics_by_name():
    metrics = StepOutcome({"a": 1.0, "b": 2.0}, {"a": 0.5}, 4.0).metrics()
    assert metrics == {"loss": 3.0, "a_loss": 1.0, "b_loss": 2.0, "a_accuracy": 0.5, "grad_norm": 4.0}


def updated(batches: ToyBatches, *, precision: str = "fp32", **changes) -> tuple[ToyModel, StepOutcome]:
    """The toy after one step of plain gradient descent at rate 1: its weights have moved by its gradient."""
    model = ToyModel(dropout=0.0)
    chosen, world = (
        settings(precision=precision, **({"max_grad_norm": None} | changes)),
        DistributedContext.current("cpu"),
    )
    scaler = gradient_scaler(chosen.precision, world.device)
    sgd = torch.optim.SGD(model.parameters(), lr=1.0)
    train_step = TrainStep(model, ToyObjective(), sgd, scaler, chosen, world)
    return model, train_step.update(batches.microbatches(0), COUNTS, learning_rate=1.0, seed=0)


def movement(model: ToyModel) -> torch.Tensor:
    pairs = zip(model.parameters(), ToyModel().parameters(), strict=True)
    return torch.cat([(after - before).flatten() for after, before in pairs]).detach()


@pytest.mark.parametrize("microbatch_size", [1, 2, 3, 4, 5])
def test_gradient_accumulation_gives_the_gradient_of_the_whole_batch(microbatch_size):
    whole, whole_outcome = updated(ToyBatches())
    parts, parts_outcome = updated(ToyBatches(microbatch_size=microbatch_size))
    torch.testing.assert_close(movement(parts), movement(whole), atol=tolerance(depth="operation"), rtol=0)
    assert parts_outcome.losses == pytest.approx(whole_outcome.losses, rel=tolerance(depth="operation"))
    assert parts_outcome.accuracies == whole_outcome.accuracies


def test_train_step_divides_each_loss_by_its_own_count():
    _, outcome = updated(ToyBatches())
    batch = ToyBatches().microbatches(0)[0]
    logits, _ = ToyModel(dropout=0.0)(batch.inputs)
    mean = torch.nn.functional.cross_entropy(logits, batch.labels, ignore_index=-100)
    assert outcome.losses["class"] == pytest.approx(mean.item(), rel=tolerance(depth="operation"))
    assert outcome.loss == pytest.approx(sum(outcome.losses.values()))
    assert outcome.accuracies.keys() == {"class"}


def test_grad_norm_is_that_of_the_whole_gradient():
    model, outcome = updated(ToyBatches())
    assert outcome.grad_norm == pytest.approx(movement(model).norm().item(), rel=tolerance())


def test_clipping_scales_the_whole_gradient():
    free, _ = updated(ToyBatches())
    clipped, outcome = updated(ToyBatches(microbatch_size=2), max_grad_norm=0.5)
    assert movement(clipped).norm().item() == pytest.approx(0.5, rel=tolerance(depth="compound"))
    torch.testing.assert_close(
        movement(clipped),
        movement(free) * 0.5 / outcome.grad_norm,
        atol=tolerance(depth="operation"),
        rtol=tolerance(depth="compound"),
    )


def test_clipping_leaves_a_smaller_gradient():
    free, _ = updated(ToyBatches())
    clipped, _ = updated(ToyBatches(), max_grad_norm=1e6)
    assert torch.equal(movement(clipped), movement(free))


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_step_that_is_not_finite_does_not_update_the_weights(precision):
    model, outcome = updated(ToyBatches(broken=((0, 0),)), precision=precision)
    assert not outcome.finite
    assert not movement(model).any()


def test_bf16_step_is_close_to_fp32_and_keeps_fp32_weights():
    exact, _ = updated(ToyBatches())
    rough, _ = updated(ToyBatches(), precision="bf16")
    assert {parameter.dtype for parameter in rough.parameters()} == {torch.float32}
    torch.testing.assert_close(movement(rough), movement(exact), atol=0.02, rtol=0.02)
    assert not torch.equal(movement(rough), movement(exact))


def test_loss_without_labels_is_zero():
    model = ToyModel(dropout=0.0)
    world, chosen = DistributedContext.current("cpu"), settings()
    sgd = torch.optim.SGD(model.parameters(), lr=1.0)
    train_step = TrainStep(model, ToyObjective(), sgd, gradient_scaler("fp32", world.device), chosen, world)
    batch = ToyBatches().microbatches(0)[0]
    batch.labels.fill_(-100)
    outcome = train_step.update([batch], {"class": 0, "size": 8}, learning_rate=1.0, seed=0)
    assert outcome.losses["class"] == 0
    assert outcome.finite


@pytest.mark.parametrize(("loss", "norm"), [(float("nan"), 1.0), (float("inf"), 1.0), (1.0, float("nan"))])
def test_step_outcome_is_finite_only_if_all_its_values_are(loss, norm):
    assert not StepOutcome({"a": loss, "b": 1.0}, {}, norm).finite
    assert StepOutcome({"a": 1.0}, {}, 1.0).finite


@pytest.mark.parametrize(
    ("limits", "applied"),
    [
        (UpdateLimits(loss=2.0, grad_norm=3.0), True),
        (UpdateLimits(loss=1.9), False),
        (UpdateLimits(grad_norm=2.9), False),
    ],
)
def test_step_is_applied_only_up_to_the_limit_of_the_loss_and_of_the_norm(limits, applied):
    assert StepOutcome({"a": 2.0}, {}, 3.0, limits).applied is applied


def test_step_releases_the_gradients():
    model, _ = updated(ToyBatches())
    assert [parameter.grad for parameter in model.parameters()] == [None] * len(list(model.parameters()))


def test_step_tells_the_watchdog_of_each_microbatch():
    heartbeat, counts = DistributedContext.current("cpu").heartbeat, []
    for microbatch_size in (8, 2):
        before = heartbeat.count
        updated(ToyBatches(microbatch_size=microbatch_size))
        counts.append(heartbeat.count - before)
    assert counts[1] - counts[0] == 3


def test_loss_and_gradient_of_a_single_label_are_its_own():
    (batch,) = ToyBatches().microbatches(0)
    batch.labels[1:], batch.labels[0] = -100, 1
    model, world = ToyModel(dropout=0.0), DistributedContext.current("cpu")
    loss = torch.nn.functional.cross_entropy(model(batch.inputs)[0][:1], batch.labels[:1])
    (expected,) = torch.autograd.grad(loss, [model.classifier.weight])
    sgd, scaler = torch.optim.SGD(model.parameters(), lr=1.0), gradient_scaler("fp32", world.device)
    start = model.classifier.weight.detach().clone()
    step = TrainStep(model, ToyObjective(), sgd, scaler, settings(max_grad_norm=None), world)
    outcome = step.update([batch], {"class": 1, "size": 8}, learning_rate=1.0, seed=0)
    assert outcome.losses["class"] == pytest.approx(loss.item())
    torch.testing.assert_close(start - model.classifier.weight, expected)
