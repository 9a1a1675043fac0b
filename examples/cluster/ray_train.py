"""Pretraining on a Ray cluster: Ray starts the processes and restarts them after failures.

    pip install 'ray[train]'
    python examples/cluster/ray_train.py CORPUS RUN --workers 16 --recipe paper-base train.log_every=50

CORPUS and RUN must be on a file system that all workers share. Each worker gets its rank from Ray and passes it to
litebert in the variables that torchrun would set. After a failure the run resumes from its checkpoint.
"""

import argparse
import os
from pathlib import Path


def work(settings: dict) -> None:
    """The function that every worker runs."""
    from ray import train

    context = train.get_context()
    become_a_torchrun_process(context.get_world_rank(), context.get_local_rank(), context.get_world_size())
    from litebert.commands.pretrain.pretrain import pretrain
    from litebert.commands.pretrain.pretrain_settings import load_pretrain_config

    run = load_pretrain_config(settings["recipe"], settings["overrides"], corpus=Path(settings["corpus"]))
    result = pretrain(run, Path(settings["out"]))
    train.report({"mlm_accuracy": result.end.mlm_accuracy} if result.end else {})


def become_a_torchrun_process(rank: int, local_rank: int, size: int) -> None:
    """Leave the process group of Ray, so that litebert can create its own with the same processes."""
    import torch.distributed

    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(local_rank), "WORLD_SIZE": str(size)}
    # The port of Ray is still in use by its group.
    os.environ["MASTER_PORT"] = str(int(os.environ["MASTER_PORT"]) + 1)


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("out")
    parser.add_argument("overrides", nargs="*", metavar="setting=value")
    parser.add_argument("--recipe", default="paper-base")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--no-gpu", action="store_true")
    return parser.parse_intermixed_args(words)


def main() -> None:
    """Start the workers and wait for them."""
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    given = arguments()
    settings = {name: getattr(given, name) for name in ("corpus", "out", "overrides", "recipe")}
    TorchTrainer(
        work,
        train_loop_config=settings,
        scaling_config=ScalingConfig(num_workers=given.workers, use_gpu=not given.no_gpu),
        run_config=RunConfig(failure_config=FailureConfig(max_failures=20)),
    ).fit()


if __name__ == "__main__":
    main()
