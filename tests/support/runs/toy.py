"""A model, an objective and batches small enough to follow by hand; a program that trains once, to be killed."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from litebert.loss_sums import LossSums
from litebert.randomness import rng_for
from litebert.training.loop.evaluation_loop import evaluate
from litebert.training.train_settings import TrainSettings
from litebert.training.trainer import RunInfo, Trainer, TrainResult

FEATURES, CLASSES = 6, 3


@dataclass(frozen=True)
class ToyBatch:
    inputs: Tensor
    labels: Tensor
    """-100 carries no label."""

    @property
    def num_tokens(self) -> int:
        return self.inputs.numel()

    @property
    def num_examples(self) -> int:
        return len(self.inputs)

    def to(self, device: torch.device) -> "ToyBatch":
        return ToyBatch(self.inputs.to(device), self.labels.to(device))


@dataclass(frozen=True)
class ToyBatches:
    """Random inputs whose label can be learned; every third example has none."""

    batch_size: int = 8
    microbatch_size: int = 8
    rank: int = 0
    world_size: int = 1
    seed: int = 0
    fingerprint: str = "toy"
    examples_per_epoch: int = 80
    broken: tuple[tuple[int, int], ...] = ()
    """(batch, rank) pairs whose inputs are not finite."""
    loud: tuple[tuple[int, int], ...] = ()
    """(batch, rank) pairs whose inputs are a thousand times too large."""

    def microbatches(self, step: int) -> list[ToyBatch]:
        rng = rng_for(self.seed, "toy", step)
        inputs = torch.tensor(rng.normal(size=(self.batch_size, FEATURES)), dtype=torch.float32)
        labels = inputs[:, :CLASSES].argmax(1)
        labels[::3] = -100
        if (step, self.rank) in self.broken:
            inputs = inputs * float("nan")
        if (step, self.rank) in self.loud:
            inputs = inputs * 1000
        share = slice(self.rank, None, self.world_size)
        whole = ToyBatch(inputs[share], labels[share])
        size = self.microbatch_size
        return [
            ToyBatch(whole.inputs[at : at + size], whole.labels[at : at + size])
            for at in range(0, len(whole.inputs), size)
        ]


class ToyModel(nn.Module):
    def __init__(self, dropout: float = 0.1, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.up = nn.Linear(FEATURES, 16)
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(16)
        self.classifier = nn.Linear(16, CLASSES)
        self.size = nn.Linear(16, 1)
        self.unused = nn.Linear(2, 2)
        self.register_buffer("offset", torch.zeros(16))

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.norm(self.dropout(torch.relu(self.up(inputs) + self.offset)))
        return self.classifier(hidden), self.size(hidden).squeeze(1)


@dataclass
class ToyObjective:
    """A classification with labels for some examples and a regression with labels for all: two different counts."""

    before: Callable[[], None] = lambda: None
    """Called before every forward."""

    def counts(self, batch: ToyBatch) -> dict[str, int]:
        return {"class": int((batch.labels != -100).sum()), "size": len(batch.inputs)}

    def __call__(self, model: nn.Module, batch: ToyBatch) -> LossSums:
        self.before()
        logits, sizes = model(batch.inputs)
        labelled = nn.functional.cross_entropy(logits, batch.labels, ignore_index=-100, reduction="sum")
        squared = (sizes - batch.inputs.square().mean(1)).square().sum()
        return LossSums({"class": labelled, "size": squared}, {"class": (logits.argmax(1) == batch.labels).sum()})


def settings(**changes) -> TrainSettings:
    defaults = {"duration": "6 steps", "learning_rate": 0.01, "device": "cpu", "precision": "fp32"}
    return TrainSettings.parse(defaults | changes, where="test")


TRAINER_ARGUMENTS = ("evaluate", "callbacks", "lr_multipliers")
RUN_INFO = ("seed", "fingerprint", "flops")


def trainer(directory: Path, *, model=None, batches=None, objective=None, **changes) -> Trainer:
    """A trainer of the toy; `changes` are settings, or arguments of Trainer or RunInfo."""
    arguments = {name: changes.pop(name) for name in TRAINER_ARGUMENTS if name in changes}
    info = {name: changes.pop(name) for name in RUN_INFO if name in changes}
    return Trainer(
        model or ToyModel(),
        objective=objective or ToyObjective(),
        batches=batches or ToyBatches(),
        settings=settings(**changes),
        run=RunInfo(directory=directory, **info),
        **arguments,
    )


def train(directory: Path, **changes) -> tuple[nn.Module, TrainResult]:
    run = trainer(directory, **changes)
    return run.model, run.fit()


def validation(model: nn.Module) -> dict[str, float]:
    return evaluate(model, ToyObjective(), ToyBatches(seed=1).microbatches(0), device=torch.device("cpu"))


def rows(directory: Path) -> list[dict]:
    return [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]


def weights(model: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def losses(directory: Path) -> dict[int, tuple[float, ...]]:
    """What must be bit-identical, step by step."""
    names = (
        "train/loss",
        "train/class_loss",
        "train/size_loss",
        "train/grad_norm",
        "train/learning_rate",
        "train/tokens",
    )
    return {row["step"]: tuple(row[name] for name in names) for row in rows(directory) if "train/loss" in row}


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    train(Path(sys.argv[1]), **json.loads(sys.argv[2]))
