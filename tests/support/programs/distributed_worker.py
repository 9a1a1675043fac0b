"""One rank: runs every scenario for its number of ranks and writes the results. Started by `conftest.py`."""

import os
import signal
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from litebert.errors import CheckpointError, LitebertError, StoppedBySignalError
from litebert.training.checkpointing.run_checkpoints import model_tensors
from litebert.training.distributed.context import (
    DistributedContext,
    distribute_model,
    distributed_context,
    gather_full,
    is_sharded,
    reduce_gradients,
    shard_like,
)
from litebert.training.loop.evaluation_loop import evaluate
from litebert.training.loop.step import StepCounts, TrainStep, gradient_scaler
from litebert.training.optim.optimizers import build_optimizer, set_learning_rate
from support.models import golden_lamb
from support.models.limits import files_no_larger_than
from support.runs.callbacks import HookRecorder
from support.runs.toy import ToyBatches, ToyModel, ToyObjective, settings, train, trainer, validation

ELASTIC = {"duration": "6 steps", "checkpoint_every": "2 steps"}
TRAINED = {"duration": "4 steps", "optimizer": "lamb", "max_grad_norm": 0.5}


def batches(world: DistributedContext, **changes) -> ToyBatches:
    return ToyBatches(rank=world.rank, world_size=world.size, **changes)


def gradient(world: DistributedContext, directory: Path, *, fsdp: bool, microbatch_size: int) -> dict[str, Any]:
    """Weights after one step of plain descent at rate 1."""
    chosen = settings(max_grad_norm=None)
    model = ToyModel(dropout=0.0)
    distribute_model(model, world, fsdp=fsdp)
    sgd = torch.optim.SGD(model.parameters(), lr=1.0)
    train_step = TrainStep(model, ToyObjective(), sgd, gradient_scaler("fp32", world.device), chosen, world)
    microbatches = batches(world, microbatch_size=microbatch_size).microbatches(0)
    outcome = train_step.update(microbatches, {"class": 5, "size": 8}, learning_rate=1.0, seed=0)
    assert is_sharded(model) is fsdp
    return {"weights": model_tensors(model), "norm": outcome.grad_norm, "losses": outcome.losses}


def original_lamb(world: DistributedContext, directory: Path, *, fsdp: bool) -> dict[str, Any]:
    """Twenty steps with the gradients of the TensorFlow reference, a share of each on each rank."""
    model = golden_lamb.model()
    distribute_model(model, world, fsdp=fsdp)
    optimizer = build_optimizer(model, golden_lamb.settings())
    values = []
    set_learning_rate(optimizer, golden_lamb.settings().learning_rate)
    for step in range(golden_lamb.STEPS):
        for name, parameter in model.named_parameters():
            parameter.grad = shard_like(golden_lamb.gradient(name, step), parameter)
        optimizer.step()
        values.append(model_tensors(model))
    return {"values": values}


def divided_muon(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """Three updates with the same gradients on each rank, whose directions the ranks compute in turns."""
    return {precision: muon_weights(precision) for precision in ("fp32", "bf16")}


def muon_weights(precision: str) -> dict[str, torch.Tensor]:
    """The weights of the toy after three updates with given gradients."""
    model, generator = ToyModel(), torch.Generator().manual_seed(3)
    chosen = {"optimizer": "muon", "muon_parameters": ["up", "classifier"], "precision": precision}
    optimizer = build_optimizer(model, settings(**chosen))
    set_learning_rate(optimizer, 0.01)
    for _ in range(3):
        for parameter in model.parameters():
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        optimizer.step()
    return model_tensors(model)


def trained(world: DistributedContext, directory: Path, *, optimizer: str, fsdp: bool) -> dict[str, Any]:
    """Four steps, without dropout."""
    model = ToyModel(dropout=0.0)
    train(directory, model=model, batches=batches(world), **(TRAINED | {"optimizer": optimizer, "fsdp": fsdp}))
    return {"weights": model_tensors(model)}


def not_finite(world: DistributedContext, directory: Path, **changes: str) -> dict[str, Any]:
    """Only rank 1 gets inputs that are not finite, at one step."""
    saved = {"checkpoint_every": "1 step", "keep_checkpoints": 9}
    model, result = train(directory, batches=batches(world, broken=((2, 1),)), **saved, **changes)
    return {"weights": model_tensors(model), "skipped": result.skipped_steps}


def rolled_back(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """Only rank 1 gets spikes; both ranks roll back and skip the same batches."""
    spikes = {"window": 8, "sigma_factor": 50.0, "policy": "rollback"}
    loud = tuple((batch, 1) for batch in (9, 10, 11))
    changes = {
        "duration": "16 steps",
        "checkpoint_every": "4 steps",
        "max_consecutive_skipped_steps": 2,
        "spikes": spikes,
    }
    run = trainer(directory, model=ToyModel(0.0), batches=batches(world, loud=loud), **changes)
    result = run.fit()
    return {"weights": model_tensors(run.model), "position": asdict(run.progress), "skipped": result.skipped_steps}


def hooks(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """The hooks of a callback that runs on every rank."""
    recorder = HookRecorder()
    recorder.every_rank = True
    train(directory, batches=batches(world), duration="2 steps", checkpoint_every="1 step", callbacks=[recorder])
    return {"calls": recorder.calls}


def resharded(world: DistributedContext, directory: Path, *, optimizer: str) -> dict[str, Any]:
    """Two steps replicated, two with FSDP, two replicated; beside six replicated."""
    model = ToyModel(0.0)
    fixed = {"schedule": "constant", "optimizer": optimizer, "allow_config_changes": ["train.duration"]}
    for duration, fsdp in (("2 steps", False), ("4 steps", True), ("6 steps", False)):
        model = ToyModel(0.0)
        train(directory / "x", model=model, batches=batches(world), duration=duration, fsdp=fsdp, **fixed)
    alone = ToyModel(0.0)
    train(directory / "y", model=alone, batches=batches(world), duration="6 steps", **fixed)
    return {"changing": model_tensors(model), "alone": model_tensors(alone)}


def not_written(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """The disk of rank 0 is full."""
    with files_no_larger_than(1000):
        try:
            train(directory, batches=batches(world), log_every=100, duration="4 steps")
        except CheckpointError as error:
            return {"error": str(error)}
    return {}


def elastic(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """Resume the run that one process began, until rank 1 gets a signal at step 4."""
    done = []

    def before() -> None:
        done.append(None)
        if world.rank == 1 and len(done) == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    try:
        train(directory, model=ToyModel(0.0), batches=batches(world), objective=ToyObjective(before), **ELASTIC)
    except StoppedBySignalError as error:
        return {"stopped": str(error)}
    return {}


def evaluation(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """Each rank evaluates its share; rank 1 of the second evaluation has none."""
    own = batches(world, batch_size=12, microbatch_size=4).microbatches(0)
    all_of_it = ToyBatches(batch_size=12).microbatches(0) if world.rank == 0 else []
    return {
        "shared": evaluate(ToyModel(), ToyObjective(), own, device=world.device),
        "uneven": evaluate(ToyModel(), ToyObjective(), all_of_it, device=world.device),
        "alone": validation(ToyModel()),
    }


def uneven_gradient(world: DistributedContext, directory: Path, *, fsdp: bool) -> dict[str, Any]:
    """Two steps of gradient descent on batches of 7 in microbatches of 1, so that the ranks have unequal numbers."""
    model = ToyModel(dropout=0.0)
    distribute_model(model, world, fsdp=fsdp)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    chosen, scaler = settings(max_grad_norm=None), gradient_scaler("fp32", world.device)
    train_step = TrainStep(model, ToyObjective(), sgd, scaler, chosen, world)
    for step in range(2):
        microbatches = batches(world, batch_size=7, microbatch_size=1).microbatches(step)
        counts = StepCounts.of(microbatches, ToyObjective(), world)
        train_step.update(microbatches, counts.labels, learning_rate=0.1, seed=0)
    return {"weights": model_tensors(model), "microbatches": len(microbatches)}


def uneven_training(world: DistributedContext, directory: Path, *, fsdp: bool) -> dict[str, Any]:
    """A run with unequal numbers of microbatches, evaluated on unequal numbers of batches between its steps."""
    model, uneven = ToyModel(dropout=0.0), batches(world, batch_size=7, microbatch_size=1)

    def evaluate_share(trained: nn.Module) -> dict[str, Any]:
        share = uneven.microbatches(9) if world.rank == 0 else uneven.microbatches(9)[:0]
        return evaluate(trained, ToyObjective(), share, device=world.device)

    changes = {"duration": "4 steps", "optimizer": "lamb", "fsdp": fsdp, "evaluate_every": "2 steps"}
    _, result = train(directory, model=model, batches=uneven, evaluate=evaluate_share, **changes)
    return {"weights": model_tensors(model), "evaluation": dict(result.evaluation)}


def interrupted_evaluation(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """A signal to rank 1 in its second forward of an evaluation; the ranks have unequal numbers of batches."""
    forwards: list[None] = []

    def count() -> None:
        forwards.append(None)
        if world.rank == 1 and len(forwards) == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    def evaluate_share(trained: nn.Module) -> dict[str, Any]:
        share = batches(world, batch_size=9, microbatch_size=1).microbatches(9)
        return evaluate(trained, ToyObjective(count), share, device=world.device)

    changes = {"duration": "4 steps", "evaluate_every": "2 steps", "evaluate": evaluate_share}
    try:
        train(directory, model=ToyModel(0.0), batches=batches(world), **changes)
    except StoppedBySignalError as error:
        stopped, seen = str(error), len(forwards)
        model, result = train(directory, model=ToyModel(0.0), batches=batches(world), **changes)
        return {"stopped": stopped, "forwards": seen, "steps": result.steps, "weights": model_tensors(model)}
    return {}


def reductions(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """The collectives, and an error on rank 0."""
    tensors = [torch.full(shape, float(world.rank + 1)) for shape in [(1,), (2, 3), (1024, 1024), ()]]
    world.sum_tensors(tensors)

    def fail() -> None:
        raise CheckpointError("disk full")

    try:
        world.on_rank_zero(fail)
        error = ""
    except LitebertError as problem:
        error = str(problem)
    return {
        "sum": world.sum({"a": world.rank, "b": 1}),
        "max": world.max({"a": world.rank, "b": -1}),
        "tensors": [(tuple(tensor.shape), tensor.unique().tolist()) for tensor in tensors],
        "gather": world.gather(f"rank {world.rank}"),
        "first": world.on_rank_zero(lambda: world.rank),
        "error": error,
    }


def placement(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """Models with different initial weights, and gradients on only one rank."""
    model = ToyModel(seed=world.rank)
    distribute_model(model, world, fsdp=False)
    if world.rank == 1:
        model.up.weight.grad = torch.ones_like(model.up.weight)
    reduce_gradients(model, world)
    return {
        "weights": model_tensors(model),
        "gradient": model.up.weight.grad,
        "unused": [name for name, parameter in model.named_parameters() if parameter.grad is None],
    }


def sharded_tensor(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """A parameter with fewer rows than would fill both ranks evenly."""
    model = nn.Linear(2, 3)
    distribute_model(model, world, fsdp=True)
    return {"whole": gather_full(model.weight), "rows": len(model.weight.to_local())}


GRADIENTS = {
    f"gradient{'_fsdp' * fsdp}_{accumulation}": partial(gradient, fsdp=fsdp, microbatch_size=4 // accumulation)
    for fsdp in (False, True)
    for accumulation in (1, 2, 4)
}
UNEVEN = {
    f"uneven_{name}{'_fsdp' * fsdp}": partial(scenario, fsdp=fsdp)
    for name, scenario in (("gradient", uneven_gradient), ("training", uneven_training))
    for fsdp in (False, True)
}
SCENARIOS = {
    **GRADIENTS,
    "original_lamb": partial(original_lamb, fsdp=False),
    "original_lamb_fsdp": partial(original_lamb, fsdp=True),
    "divided_muon": divided_muon,
    "resharded_lamb": partial(resharded, optimizer="lamb"),
    "resharded_adamw": partial(resharded, optimizer="adamw"),
    "rolled_back": rolled_back,
    "hooks": hooks,
    "not_written": not_written,
    "lamb": lambda world, at: trained(world, at, optimizer="lamb", fsdp=False),
    "lamb_fsdp": lambda world, at: trained(world, at, optimizer="lamb", fsdp=True),
    "adamw": lambda world, at: trained(world, at, optimizer="adamw", fsdp=False),
    "adamw_fsdp": lambda world, at: trained(world, at, optimizer="adamw", fsdp=True),
    "not_finite": not_finite,
    "not_finite_at_the_end": partial(not_finite, duration="3 steps"),
    "elastic": elastic,
    "evaluation": evaluation,
    "interrupted_evaluation": interrupted_evaluation,
    "reductions": reductions,
    "placement": placement,
    "sharded_tensor": sharded_tensor,
}


def main(directory: Path) -> None:
    torch.set_num_threads(1)
    with distributed_context(settings(timeout_seconds=30)) as world:
        scenarios = UNEVEN | (SCENARIOS if world.size == 2 else {})
        seen = {name: scenario(world, directory / name) for name, scenario in scenarios.items()}
        torch.save(seen, directory / f"rank-{world.rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
