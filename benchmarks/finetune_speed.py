"""Fine-tuning speed of litebert and of transformers' run_glue.py, on the same examples with the same weights.

    python benchmarks/finetune_speed.py TOKENIZER GLUE --tasks sst-2 mrpc --precisions fp32 bf16

Both go through the very same rows in batches of table 14's size, cut to its 512 tokens: transformers as its GLUE script
does (random batches, padded to the longest row, attention mask, fused AdamW), litebert as `litebert finetune` does (its
own engine: batches of similar length, no padding). First the logits of the same weights are compared; a difference
beyond rounding ends the benchmark. Steps are taken in turn, and timed by the processor's time on one thread.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from measurement.clocks import clock_for, seconds_of
from measurement.ratios import Ratio, ratio_of

from litebert.commands.finetune.data.task_objective import TaskObjective
from litebert.commands.finetune.finetune_settings import load_finetune_config
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.models import ForSequenceClassification
from litebert.model.presets import preset
from litebert.randomness import rng_for
from litebert.tasks.benchmarks.benchmark_files import read_benchmark
from litebert.tasks.encoded import Encoded
from litebert.tasks.input_settings import TextInputSettings
from litebert.tasks.labelled_batches import LabelledBatches
from litebert.tasks.text_sequences import encode_sequences
from litebert.tasks.types.classification.classification import CLASSIFICATION
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.step import TrainStep, autocast, gradient_scaler
from litebert.training.optim.optimizers import build_optimizer

TOLERANCE = 1e-4
"""Largest difference of the logits in fp32, relative to their norm."""
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Figures:
    """One task in one precision."""

    task: str
    precision: str
    rows: int
    batch_size: int
    mean_length: float
    their_padded_length: float
    """Mean over the batches of the length that transformers' rows are padded to."""
    logit_difference: float
    our_seconds: float
    their_seconds: float
    ratio: Ratio
    """How many times litebert is faster, with the interval over the steps."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON: `ratio` as a number, with its interval beside it."""
        ratio = {"ratio": self.ratio.value, "ratio_interval": [self.ratio.low, self.ratio.high]}
        return {**asdict(self), **ratio}


def main() -> None:
    """Measure, print a table and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("glue", type=Path)
    parser.add_argument("--tasks", nargs="+", default=["sst-2", "mrpc"])
    parser.add_argument("--precisions", nargs="+", default=["fp32", "bf16"])
    parser.add_argument("--preset", default="albert-base-v2")
    parser.add_argument("--layers", type=int, help="only so many, to be quick; litebert's cheap last one flatters then")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    tokenizer = Tokenizer.load(arguments.tokenizer)
    config = preset(arguments.preset).replace(vocab_size=tokenizer.vocab_size)
    if arguments.layers:
        config = config.replace(num_hidden_layers=arguments.layers)
    with TemporaryDirectory() as directory:
        model = Path(directory) / "model"
        save_model(ForSequenceClassification(config, num_labels=2), model)
        figures = [
            measured(task, precision, model=model, tokenizer=tokenizer, glue=arguments.glue, steps=arguments.steps)
            for task in arguments.tasks
            for precision in arguments.precisions
        ]
    if arguments.out:
        content = {
            "threads": arguments.threads,
            "layers": config.num_hidden_layers,
            "preset": arguments.preset,
            "torch": torch.__version__,
            "figures": [each.to_dict() for each in figures],
        }
        arguments.out.write_text(json.dumps(content, indent=2) + "\n")


def measured(task: str, precision: str, *, model: Path, tokenizer: Tokenizer, glue: Path, steps: int) -> Figures:
    """Both contestants on the same `steps` batches of rows, in turn."""
    run = load_finetune_config(
        task,
        [f"train.precision={precision}", "train.device=cpu"],
        given={"model": str(model), "data": {"task": task, "directory": str(glue)}},
    )
    examples = read_benchmark(task, glue, "train").examples
    chosen = rng_for(0, "rows of the benchmark", task).permutation(len(examples))[: steps * run.batch_size]
    if len(chosen) < steps * run.batch_size:
        raise SystemExit(f"{task}: --steps: at most {len(examples) // run.batch_size}, found {steps}")
    settings = TextInputSettings(max_length=run.max_length)
    rows = encode_sequences([examples[index] for index in chosen], tokenizer, settings)
    difference = logit_difference(model, rows, batch_size=run.batch_size)
    if not difference <= TOLERANCE:
        raise SystemExit(f"{task}: the logits differ by {difference:.1e}; nothing is timed")
    ours, theirs = our_steps(run, model, rows), their_steps(run, model, rows)
    next(ours), next(theirs)
    clock = clock_for(torch.get_num_threads())
    seconds = [[seconds_of(partial(next, side), clock) for side in (ours, theirs)] for _ in range(steps)]
    our_seconds, their_seconds = zip(*seconds, strict=True)
    figures = Figures(
        task=task,
        precision=precision,
        rows=len(rows),
        batch_size=run.batch_size,
        mean_length=float(rows.lengths.mean()),
        their_padded_length=float(rows.lengths.reshape(steps, -1).max(1).mean()),
        logit_difference=difference,
        our_seconds=sum(our_seconds),
        their_seconds=sum(their_seconds),
        ratio=ratio_of(their_seconds, our_seconds, paired=True),
    )
    print(
        f"{task} {precision}: {figures.ratio} times as fast ({figures.our_seconds:.1f} s, transformers "
        f"{figures.their_seconds:.1f} s; {figures.rows} rows of {figures.mean_length:.0f} tokens, padded there "
        f"to {figures.their_padded_length:.0f}; logits differ by {difference:.0e})",
        flush=True,
    )
    return figures


def our_steps(run: Any, model: Path, rows: Encoded) -> Iterator[None]:
    """The steps of litebert's engine; the first `next` warms up on a batch that is not counted."""
    network, world = load_model(model), DistributedContext.current("cpu")
    objective = TaskObjective(CLASSIFICATION.loss)
    batches = LabelledBatches(rows, batch_size=run.batch_size, microbatch_size=run.microbatch_size, seed=run.seed)
    optimizer = build_optimizer(network, run.train)
    scaler = gradient_scaler(run.train.precision, CPU)
    updater = TrainStep(network, objective, optimizer, scaler, run.train, world)
    for step in (0, *range(len(rows) // run.batch_size)):
        microbatches = batches.microbatches(step)
        updater.update(microbatches, {"label": run.batch_size}, learning_rate=run.train.learning_rate, seed=step)
        yield


def their_steps(run: Any, model: Path, rows: Encoded) -> Iterator[None]:
    """The steps of transformers' run_glue.py, in the order of the rows."""
    network = their_model(model).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=run.train.learning_rate, fused=True)
    for step in (0, *range(len(rows) // run.batch_size)):
        inputs = their_inputs(rows, step, batch_size=run.batch_size)
        with autocast(run.train.precision, CPU):
            loss = network(**inputs).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        yield


def their_model(model: Path) -> Any:
    """AlbertForSequenceClassification with its usual attention."""
    from transformers import AlbertForSequenceClassification
    from transformers.utils import logging

    logging.disable_progress_bar()
    return AlbertForSequenceClassification.from_pretrained(model)


def their_inputs(rows: Encoded, step: int, *, batch_size: int) -> dict[str, Any]:
    """One batch as DataCollatorWithPadding makes it; the rows themselves are in random order."""
    batch = rows.batch(np.arange(step * batch_size, (step + 1) * batch_size))
    inputs = batch.inputs
    return {
        "input_ids": inputs.input_ids,
        "attention_mask": inputs.attention_mask.long(),
        "token_type_ids": inputs.token_type_ids,
        "labels": batch.labels,
    }


@torch.no_grad()
def logit_difference(model: Path, rows: Encoded, *, batch_size: int) -> float:
    """‖litebert − transformers‖ ÷ ‖transformers‖ on the first batch, in fp32, without dropout."""
    inputs = their_inputs(rows, 0, batch_size=batch_size)
    theirs = their_model(model).eval()(**inputs).logits
    network: Callable[..., Any] = load_model(model)
    ours = network(inputs["input_ids"], inputs["attention_mask"].bool(), inputs["token_type_ids"]).logits
    return ((ours - theirs).norm() / theirs.norm()).item()


if __name__ == "__main__":
    main()
