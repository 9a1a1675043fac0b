"""One rank of two: runs every scenario in one process group and writes what it saw. Started by `conftest.py`."""

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
from litebert.training.checkpointing.state_tensors import model_tensors
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
from litebert.training.loop.precision import gradient_scaler
from litebert.training.loop.step import TrainStep
from litebert.training.optim.optimizers import build_optimizer
from support import golden_lamb
from support.limits import files_no_larger_than
from support.toy import ToyBatches, ToyModel, ToyObjective, held_out, settings, train, trainer

ELASTIC = {"duration": "6 steps", "checkpoint_every": "2 steps"}
TRAINED = {"duration": "4 steps", "optimizer": "lamb", "max_grad_norm": 0.5}


def batches(world: DistributedContext, **changes) -> ToyBatches:
    return ToyBatches(rank=world.rank, world_size=world.size, **changes)


def gradient(world: DistributedContext, directory: Path, *, sharded: bool, microbatch_size: int) -> dict[str, Any]:
    """Weights after one step of plain descent at rate 1."""
    chosen = settings(max_grad_norm=None)
    model = distribute_model(ToyModel(dropout=0.0), world, sharded=sharded)
    sgd = torch.optim.SGD(model.parameters(), lr=1.0)
    updater = TrainStep(model, ToyObjective(), sgd, gradient_scaler("fp32", world.device), chosen, world)
    microbatches = batches(world, microbatch_size=microbatch_size).microbatches(0)
    outcome = updater.update(microbatches, {"class": 5, "size": 8}, learning_rate=1.0, seed=0)
    assert is_sharded(model) is sharded
    return {"weights": model_tensors(model), "norm": outcome.grad_norm, "losses": outcome.losses}


def original_lamb(world: DistributedContext, directory: Path, *, sharded: bool) -> dict[str, Any]:
    """Twenty steps with the original's gradients, each rank given its share of each."""
    model = distribute_model(golden_lamb.model(), world, sharded=sharded)
    optimizer = build_optimizer(model, golden_lamb.settings())
    values = []
    for step in range(golden_lamb.STEPS):
        for name, parameter in model.named_parameters():
            parameter.grad = shard_like(golden_lamb.gradient(name, step), parameter)
        optimizer.step()
        values.append(model_tensors(model))
    return {"values": values}


def trained(world: DistributedContext, directory: Path, *, optimizer: str, sharded: bool) -> dict[str, Any]:
    """Four steps, without dropout."""
    model = ToyModel(dropout=0.0)
    train(directory, model=model, batches=batches(world), **(TRAINED | {"optimizer": optimizer, "sharded": sharded}))
    return {"weights": model_tensors(model)}


def not_finite(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """Rank 1 alone gets inputs that are not finite, at one step."""
    changes = {"checkpoint_every": "1 step", "keep_checkpoints": 9}
    model, result = train(directory, batches=batches(world, broken=((2, 1),)), **changes)
    return {"weights": model_tensors(model), "skipped": result.skipped_steps}


def rolled_back(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """Rank 1 alone gets spikes; both go back and leave the same batches out."""
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
    return {"weights": model_tensors(run.model), "position": asdict(run.position), "skipped": result.skipped_steps}


def resharded(world: DistributedContext, directory: Path, *, optimizer: str) -> dict[str, Any]:
    """Two steps repeated, two sharded, two repeated again; beside six in one go."""
    model = ToyModel(0.0)
    fixed = {"schedule": "constant", "optimizer": optimizer, "allow_config_changes": ["train.duration"]}
    for duration, sharded in (("2 steps", False), ("4 steps", True), ("6 steps", False)):
        model = ToyModel(0.0)
        train(directory / "x", model=model, batches=batches(world), duration=duration, sharded=sharded, **fixed)
    alone = ToyModel(0.0)
    train(directory / "y", model=alone, batches=batches(world), duration="6 steps", **fixed)
    return {"changing": model_tensors(model), "alone": model_tensors(alone)}


def not_written(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """The disk of rank 0 takes no checkpoint."""
    with files_no_larger_than(1000):
        try:
            train(directory, batches=batches(world), log_every=100, duration="4 steps")
        except CheckpointError as error:
            return {"error": str(error)}
    return {}


def elastic(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """Go on with the run that one process began, until rank 1 gets a signal at step 4."""
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
        "alone": held_out(ToyModel()),
    }


def reductions(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """What the world gives, and an error on the first rank."""
    tensor = torch.tensor([float(world.rank + 1)])
    world.sum_tensors([tensor])

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
        "tensor": tensor.item(),
        "gather": world.gather(f"rank {world.rank}"),
        "first": world.on_rank_zero(lambda: world.rank),
        "error": error,
    }


def placement(world: DistributedContext, directory: Path) -> dict[str, Any]:
    """Models that begin differently, and gradients that only one rank has."""
    model = distribute_model(ToyModel(seed=world.rank), world, sharded=False)
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
    model = distribute_model(nn.Linear(2, 3), world, sharded=True)
    return {"whole": gather_full(model.weight), "rows": len(model.weight.to_local())}


GRADIENTS = {
    f"gradient{'_sharded' * sharded}_{accumulation}": partial(
        gradient, sharded=sharded, microbatch_size=4 // accumulation
    )
    for sharded in (False, True)
    for accumulation in (1, 2, 4)
}
SCENARIOS = {
    **GRADIENTS,
    "original_lamb": partial(original_lamb, sharded=False),
    "original_lamb_sharded": partial(original_lamb, sharded=True),
    "resharded_lamb": partial(resharded, optimizer="lamb"),
    "resharded_adamw": partial(resharded, optimizer="adamw"),
    "rolled_back": rolled_back,
    "not_written": not_written,
    "lamb": lambda world, at: trained(world, at, optimizer="lamb", sharded=False),
    "lamb_sharded": lambda world, at: trained(world, at, optimizer="lamb", sharded=True),
    "adamw": lambda world, at: trained(world, at, optimizer="adamw", sharded=False),
    "adamw_sharded": lambda world, at: trained(world, at, optimizer="adamw", sharded=True),
    "not_finite": not_finite,
    "elastic": elastic,
    "evaluation": evaluation,
    "reductions": reductions,
    "placement": placement,
    "sharded_tensor": sharded_tensor,
}


def main(directory: Path) -> None:
    torch.set_num_threads(1)
    with distributed_context(settings(timeout_seconds=30)) as world:
        seen = {name: scenario(world, directory / name) for name, scenario in SCENARIOS.items()}
        torch.save(seen, directory / f"rank-{world.rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
