"""A training step, from data to weights, equals LAMB on the gradients of google-research/albert."""

import pytest
import torch

from litebert.commands.pretrain.pretraining_objective import PretrainingObjective
from litebert.corpus.sampling.pretrain_batches import PretrainBatch
from litebert.model.io.tensor_names import tensor_names
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.step import TrainStep, gradient_scaler
from litebert.training.optim.optimizers import build_optimizer, set_learning_rate
from litebert.training.train_settings import TrainSettings
from support.models.golden import MODELS, Golden
from support.models.tolerances import PROMISED

RATE = 0.00176


def settings() -> TrainSettings:
    values = {"duration": "1 step", "learning_rate": RATE, "max_grad_norm": None, "device": "cpu", "precision": "fp32"}
    return TrainSettings.parse(values, where="test")


def batch(golden: Golden) -> PretrainBatch:
    weights = golden.expected["masked_lm_weights"].flatten()
    ids, mask, types = golden.batch
    return PretrainBatch(
        input_ids=ids,
        attention_mask=mask,
        token_type_ids=types,
        masked_positions=golden.flat_positions,
        labels=golden.expected["masked_lm_ids"].flatten().masked_fill(weights == 0, -100),
        sentence_pair_labels=golden.expected["sentence_order_labels"][:, 0],
        sequence_starts=None,
        num_tokens=int(mask.sum()),
    )


def lamb_on_reference_gradients(name: str) -> dict[str, torch.Tensor]:
    """Weights after LAMB on the stored gradients."""
    golden = Golden(name, torch.float32)
    parameters = dict(golden.model.named_parameters())
    for row in tensor_names(golden.model.config):
        if row.litebert in parameters:
            gradient = golden.expected[f"grad/{row.tensorflow}"]
            parameters[row.litebert].grad = (gradient.T if row.transposed else gradient).contiguous()
    optimizer = build_optimizer(golden.model, settings())
    set_learning_rate(optimizer, settings().learning_rate)
    optimizer.step()
    return {key: parameter.detach() for key, parameter in parameters.items()}


@pytest.mark.parametrize("microbatches", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_training_step_equals_lamb_on_the_gradients_of_the_reference(name, microbatches):
    golden = Golden(name, torch.float32)
    before = {key: parameter.detach().clone() for key, parameter in golden.model.named_parameters()}
    objective, world, whole = PretrainingObjective(), DistributedContext.current("cpu"), batch(golden)
    scaler, optimizer = gradient_scaler("fp32", world.device), build_optimizer(golden.model, settings())
    train_step = TrainStep(golden.model, objective, optimizer, scaler, settings(), world)
    # Every microbatch is the whole batch: twice the sums over twice the counts.
    counts = {key: microbatches * count for key, count in objective.counts(whole).items()}
    train_step.update([whole] * microbatches, counts, learning_rate=RATE, seed=0)
    expected = lamb_on_reference_gradients(name)
    for key, parameter in golden.model.named_parameters():
        step = (expected[key] - before[key]).norm()
        assert (parameter - expected[key]).norm() <= PROMISED["step"] * step + PROMISED["optimizer"], key
        assert step > 0, key
