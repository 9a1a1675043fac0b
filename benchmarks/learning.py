"""Loss over steps and over time of litebert and transformers, from the same weights on the same batches.

    python benchmarks/learning.py CORPUS --steps 300 --threads 1 --out learning.json

The weights are random, or those of `--model`, a model directory that transformers loads. Same for both sides: initial
weights, examples, masks, sentence-order pairs, their order, AdamW with the same betas and groups, learning rate of
each step, clipping, precision. litebert runs `TrainStep`; `AlbertForPreTraining` of transformers runs in a plain
PyTorch loop. First the losses and gradients of the first batch are compared in fp32. The two take turns step by step
in one process, so that other load slows both down alike; seconds are processor time with one thread, otherwise the
time that passes. Making the batches and evaluations is not counted for either side. `--trainer` then runs
`transformers.Trainer` on the same batches, with the same optimizer and learning rates, after the two sides; its seconds
include its setup. Needs `pip install transformers accelerate`.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from libraries import speed_contestants as who
from libraries.trainer_run import trainer_seconds
from measurement.clocks import clock_for, seconds_of
from measurement.ratios import ratio_of
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from litebert.commands.doctor import doctor
from litebert.commands.pretrain.pretraining_objective import PretrainingObjective
from litebert.corpus.format.shards import Corpus, Split
from litebert.corpus.sampling.pretrain_batches import PretrainBatch, PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.device import autocast
from litebert.files import write_json
from litebert.model.config import ModelConfig
from litebert.model.io.hf_weights import tensors_to_transformers
from litebert.model.io.model_directory import load_model
from litebert.model.io.model_spec import read_model_spec
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.run_schedule import RunSchedule, TrainingProgress
from litebert.training.loop.step import TrainStep, gradient_scaler
from litebert.training.optim.optimizers import build_optimizer
from litebert.training.train_settings import TrainSettings

CPU = torch.device("cpu")
LENGTH, BATCH_SIZE = 128, 16
TOLERANCE = 1e-4
"""Largest relative difference of loss and gradient, ‖litebert − transformers‖ / ‖transformers‖, in fp32."""


@dataclass(frozen=True)
class Side:
    """One library: its model, and a function that does a step at a learning rate."""

    name: str
    model: nn.Module
    step: Callable[[PretrainBatch, float], None]
    mlm_logits: Callable[[PretrainBatch], Tensor]
    """[P, V], at the masked positions."""


def main() -> None:
    """Compare the first gradients, then train both sides in turns."""
    arguments = _arguments()
    torch.set_num_threads(arguments.threads)
    train = batches(arguments.corpus, "train", seed=arguments.seed)
    validation = batches(arguments.corpus, "validation", seed=arguments.seed)
    settings = train_settings(arguments)
    with tempfile.TemporaryDirectory() as directory:
        if arguments.model:
            validate_model(arguments.model, arguments.corpus)
        weights = arguments.model or who.save_weights(config_of(arguments.corpus), Path(directory) / "model")
        differences = first_differences(weights, train.microbatches(0)[0])
        sides = [litebert_side(weights, settings), transformers_side(weights, settings)]
        theirs = transformers_side(weights, settings) if arguments.trainer else None
    validation_batches = [validation.microbatches(index)[0] for index in range(arguments.eval_batches)]
    points = train_both(
        sides,
        train,
        validation_batches=validation_batches,
        schedule=RunSchedule.of(settings, train),
        every=arguments.every,
    )
    names = {"processor": doctor().processor, "threads": arguments.threads, "torch": torch.__version__}
    report: dict[str, Any] = {"machine": names, "settings": settings.to_dict()}
    report |= {"seed": arguments.seed, "steps": arguments.steps, "model": arguments.model and arguments.model.name}
    report |= {"first_step_differences": differences, "points": points}
    write_json(arguments.out, report)
    print(table(points))
    if theirs is not None:
        report["trainer"] = run_trainer(theirs, settings, train=train, validation_batches=validation_batches)
        write_json(arguments.out, report)
        print(comparison(points[-1], report["trainer"]))


def validate_model(model: Path, corpus: Path) -> None:
    """Exit if the two sides would not train alike: with dropout they draw other random numbers."""
    config = read_model_spec(model).config
    dropout = max(config.hidden_dropout_prob, config.attention_probs_dropout_prob, config.classifier_dropout_prob)
    size = Corpus.open(corpus, "train").vocabulary.size
    if dropout or config.vocab_size != size or config.max_position_embeddings < LENGTH:
        sys.exit(
            f"{model}: dropout {dropout}, a vocabulary of {config.vocab_size} and {config.max_position_embeddings} "
            f"positions; expected no dropout, {size} as the corpus has, and at least {LENGTH}"
        )


def config_of(corpus: Path) -> ModelConfig:
    """Four layers of 128 that share a block; no dropout, so that both sides compute the same."""
    return ModelConfig(
        vocab_size=Corpus.open(corpus, "train").vocabulary.size,
        embedding_size=64,
        hidden_size=128,
        num_hidden_layers=4,
        num_attention_heads=2,
        intermediate_size=512,
        max_position_embeddings=LENGTH,
        initializer_range=0.05,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        classifier_dropout_prob=0.0,
    )


def batches(corpus: Path, split: Split, *, seed: int) -> PretrainBatches:
    """Batches of whole-word masked pairs in one microbatch."""
    sampling = SamplingSettings(max_length=LENGTH, max_ngram=1)
    return PretrainBatches(
        Corpus.open(corpus, split), sampling, batch_size=BATCH_SIZE, microbatch_size=BATCH_SIZE, seed=seed
    )


def train_settings(arguments: argparse.Namespace) -> TrainSettings:
    """AdamW with the betas of PyTorch."""
    values = {"duration": f"{arguments.steps} steps", "learning_rate": arguments.learning_rate, "warmup": 0.08}
    return TrainSettings.parse({**values, "optimizer": "adamw", "precision": arguments.precision}, where="benchmark")


def litebert_side(weights: Path, settings: TrainSettings) -> Side:
    """The training step of `litebert pretrain`."""
    model, objective = load_model(weights), PretrainingObjective("sop")
    world = DistributedContext.current("cpu")
    optimizer, scaler = build_optimizer(model, settings), gradient_scaler(settings.precision, CPU)
    trained = TrainStep(model, objective, optimizer, scaler, settings, world)

    def step(batch: PretrainBatch, learning_rate: float) -> None:
        trained.update([batch], objective.counts(batch), learning_rate=learning_rate, seed=0)

    def logits(batch: PretrainBatch) -> Tensor:
        inputs = batch.input_ids, batch.attention_mask, batch.token_type_ids
        return model(*inputs, batch.masked_positions, batch.sequence_starts).mlm_logits

    return Side("litebert", model, step, logits)


def transformers_side(weights: Path, settings: TrainSettings) -> Side:
    """`AlbertForPreTraining` in a plain PyTorch loop, with the groups of weight decay of litebert."""
    model = who.load_theirs(weights, "sdpa")
    optimizer = their_optimizer(model, settings)

    def step(batch: PretrainBatch, learning_rate: float) -> None:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate
        with autocast(settings.precision, CPU):
            loss = who.their_loss(model, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm or float("inf"))
        optimizer.step()
        optimizer.zero_grad()

    def mlm_logits(batch: PretrainBatch) -> Tensor:
        output = model(batch.input_ids, batch.attention_mask, batch.token_type_ids)
        return output.prediction_logits.flatten(0, 1)[batch.masked_positions]

    return Side("transformers", model, step, mlm_logits)


def their_optimizer(model: nn.Module, settings: TrainSettings) -> torch.optim.Optimizer:
    """AdamW with the groups of weight decay of litebert."""
    named = list(model.named_parameters())
    decayed = [each for name, each in named if not any(word in name.lower() for word in ("norm", "bias"))]
    others = [each for name, each in named if any(word in name.lower() for word in ("norm", "bias"))]
    groups = [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=settings.betas, eps=settings.eps, fused=True)  # as litebert's


def our_loss(model: nn.Module, batch: PretrainBatch) -> Tensor:
    """Mean MLM loss plus mean SOP loss of litebert, each over its own labels."""
    objective = PretrainingObjective("sop")
    sums, counts = objective(model, batch).losses, objective.counts(batch)
    return torch.stack([value / counts[name] for name, value in sums.items()]).sum()


def first_differences(weights: Path, batch: PretrainBatch) -> dict[str, float]:
    """Relative differences of the loss and of the gradients of the first batch; ValueError if they are no rounding."""
    models: list[Any] = [load_model(weights), who.load_theirs(weights, "sdpa").train()]
    losses = [loss(model, batch) for model, loss in zip(models, (our_loss, who.their_loss), strict=True)]
    for loss in losses:
        loss.backward()
    ours = tensors_to_transformers({name: each.grad for name, each in models[0].named_parameters()}, models[0].config)
    pairs = [(ours[name], each.grad) for name, each in models[1].named_parameters()]
    difference = torch.stack([(a - b).norm() for a, b in pairs]).norm()
    norm = torch.stack([b.norm() for _, b in pairs]).norm()
    found = {"loss": (losses[0] / losses[1] - 1).abs().item(), "gradient": (difference / norm).item()}
    for name, value in found.items():
        if not value <= TOLERANCE:
            raise ValueError(f"{name}: differs by {value:.2g} at step 0, expected at most {TOLERANCE:.0e}")
    return found


def train_both(
    sides: Sequence[Side],
    train: PretrainBatches,
    *,
    validation_batches: Sequence[PretrainBatch],
    schedule: RunSchedule,
    every: int,
) -> list[dict[str, Any]]:
    """Evaluations of both sides after the same steps: `step`, and the `scores`."""
    clock, total, points = clock_for(torch.get_num_threads()), schedule.total_steps or 0, []
    seconds: dict[str, list[float]] = {side.name: [] for side in sides}
    for number in range(total + 1):
        if number % every == 0 or number == total:
            points.append({"step": number, **scores(sides, validation_batches, seconds)})
        if number == total:
            break
        (batch,) = train.microbatches(number)
        learning_rate = schedule.learning_rate(TrainingProgress(step=number))
        for side in sides if number % 2 else reversed(sides):
            side.model.train()
            seconds[side.name].append(seconds_of(partial(side.step, batch, learning_rate), clock))
    return points


def scores(
    sides: Sequence[Side], validation_batches: Sequence[PretrainBatch], seconds: dict[str, list[float]]
) -> dict[str, Any]:
    """Of each side `loss` and `seconds` of all its steps so far, and `ratio` of these with its `interval`."""
    found: dict[str, Any] = {
        side.name: {"loss": validation_loss(side, validation_batches), "seconds": sum(seconds[side.name])}
        for side in sides
    }
    if seconds["litebert"]:
        ratio = ratio_of(seconds["litebert"], seconds["transformers"], paired=True)
        found |= {"ratio": ratio.value, "ratio_interval": [ratio.low, ratio.high]}
    return found


def run_trainer(
    side: Side, settings: TrainSettings, *, train: PretrainBatches, validation_batches: Sequence[PretrainBatch]
) -> dict[str, float]:
    """`loss` on the validation batches after all steps of `transformers.Trainer`, and its `seconds`."""
    schedule = RunSchedule.of(settings, train)
    side.model.train()
    seconds = trainer_seconds(
        side.model,
        their_optimizer(side.model, settings),
        [train.microbatches(number)[0] for number in range(schedule.total_steps or 0)],
        learning_rate=lambda step: schedule.learning_rate(TrainingProgress(step=step)),
        max_grad_norm=settings.max_grad_norm or float("inf"),
        bf16=settings.precision == "bf16",
    )
    return {"loss": validation_loss(side, validation_batches), "seconds": seconds}


def comparison(end: dict[str, Any], trainer: dict[str, float]) -> str:
    """Loss and seconds of the Trainer, one run, beside those of litebert after equal steps."""
    ours = end["litebert"]
    ratio = ours["seconds"] / trainer["seconds"]
    return (
        f"transformers.Trainer after {end['step']} steps: loss {trainer['loss']:.4f} in {trainer['seconds']:.1f} s; "
        f"litebert {ours['loss']:.4f} in {ours['seconds']:.1f} s, ratio {ratio:.2f} (one run)"
    )


@torch.no_grad()
def validation_loss(side: Side, validation_batches: Sequence[PretrainBatch]) -> float:
    """Mean MLM loss in fp32 over the masked tokens of the validation batches."""
    side.model.eval()
    total = sum(
        cross_entropy(side.mlm_logits(batch), batch.labels, reduction="sum").item() for batch in validation_batches
    )
    return total / sum(len(batch.labels) for batch in validation_batches)


def table(points: Sequence[dict[str, Any]]) -> str:
    """Markdown: losses and seconds of both sides after equal steps, and the ratio of the seconds with its interval."""
    lines = ["| steps | litebert | transformers | litebert (s) | transformers (s) | ratio |", "| --- " * 6 + "|"]
    for point in points[1:]:
        ours, theirs, (low, high) = point["litebert"], point["transformers"], point["ratio_interval"]
        ratio = f"{point['ratio']:.2f} ({low:.2f} to {high:.2f})"
        seconds = f"{ours['seconds']:.1f} | {theirs['seconds']:.1f} | {ratio}"
        lines.append(f"| {point['step']} | {ours['loss']:.4f} | {theirs['loss']:.4f} | {seconds} |")
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", type=Path, help="directory of a model without dropout (default: random weights)")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--every", type=int, default=50, help="steps between evaluations")
    parser.add_argument("--eval-batches", type=int, default=4)
    parser.add_argument("--learning-rate", type=float, default=0.0015)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--seed", type=int, default=0, help="of the data")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--trainer", action="store_true", help="also run transformers.Trainer")
    return parser.parse_args()


if __name__ == "__main__":
    main()
