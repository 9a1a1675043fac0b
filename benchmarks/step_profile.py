"""Time of each part of a training step, compared with the peak throughput of the machine.

python benchmarks/step_profile.py [--model PRESET] [SETTING=VALUE …] [--rows full-128] [--batch-size 8] [--threads N]
    [--corpus DIR] [--torch-kernels] [--precision auto]
python benchmarks/step_profile.py --recipe NAME --corpus DIR [SETTING=VALUE …] [--threads N] [--compare-kernels]

The settings change the preset: `--model modern-tiny num_hidden_layers=4 hidden_size=128 intermediate_size=336`.

Each part is run forward and backward by itself, on the shapes that it has in the step; the whole step is timed too, so
that what no part accounts for shows. The precision is that of `train.precision: auto`, measured, if none is named. The
floor of a part is its products at the rate of a square product, plus what it keeps for the backward pass, written once
and read once at the bandwidth of a copy; weights and their copies in 16 bits are not counted as kept. "Products alone"
are the same products one by one, in the shapes that they have in the part: the share of the peak that they reach is the
largest that a step of these products could have. In fp32 they include the softmax, which torch computes in one operator
with the products of attention. With
a corpus the step is also run by the trainer, on real text, and what is not forward and backward is told. `--recipe`
runs steps of a pretraining recipe instead, with its own batches, objectives and optimizer, and tells the share of the
peak that they reach; with `--compare-kernels` how long they take with the kernels of torch and with those that are
compiled for the processor, in turn.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import torch
from libraries import speed_contestants as who
from libraries import speed_timing as timing
from libraries.kernel_turns import STEPS as STEPS_IN_TURN
from libraries.kernel_turns import compare_kernels
from libraries.product_times import product_flops, product_seconds
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from litebert.analysis.curves import read_curves
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_settings import PretrainRun, load_pretrain_config
from litebert.commands.pretrain.pretraining_objective import PretrainingObjective
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pretrain_batches import PretrainBatch, PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.loss_sums import LossSums
from litebert.model.config import ModelConfig
from litebert.model.kernels.layout import LAYOUTS
from litebert.model.kernels.native.library import native_kernels, use_native_kernels
from litebert.model.layers.block import FusedQKV
from litebert.model.losses import classification_loss
from litebert.model.matmul_speed import measure_matmul_speed
from litebert.model.models import ForPretraining
from litebert.model.presets import preset
from litebert.precision import autocast
from litebert.settings import TrainingPrecision, with_overrides
from litebert.training.callbacks.callback import Callback, RunState, StepRecord
from litebert.training.loop.freed_memory import freed_memory_kept
from litebert.training.optim.lamb import Lamb
from litebert.training.train_settings import TrainSettings
from litebert.training.trainer import RunInfo, Trainer

CPU = torch.device("cpu")
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
COPIED_BYTES = 2**28
TURNS = 5
RECIPE_STEPS = 60
"""Of which the first quarter, in which oneDNN compiles the matrix products, is not counted."""


@dataclass(frozen=True)
class Part:
    """A part of the step and what it takes, all its repetitions together."""

    name: str
    seconds: float
    flops: float = 0.0
    kept_bytes: float = 0.0
    """Tensors that the forward pass leaves for the backward pass, weights left out."""
    product_seconds: float = 0.0
    """Its matrix products by themselves."""


def main() -> None:
    arguments = _arguments()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    use_native_kernels(enabled=not arguments.torch_kernels)
    if arguments.recipe:
        print(compared(arguments) if arguments.compare_kernels else recipe_share(arguments))
        return
    kind, length = arguments.rows.split("-")
    config = ModelConfig.parse(with_overrides(preset(arguments.model).to_dict(), arguments.settings), where="settings")
    model = ForPretraining(config, seed=0).train()
    lengths = who.ROWS[kind](batch_size=arguments.batch_size, length=int(length))
    batch = who.random_batch(config, lengths)
    precision = precision_of(arguments, config)
    bandwidth = copy_bandwidth(arguments.seconds)
    parts = model_parts(model, batch, precision, seconds=arguments.seconds)
    parts.append(Part("optimizer (norm, clipping, LAMB)", optimizer_seconds(model, arguments.seconds)))
    rate, whole = rate_and_step(model, batch, precision, seconds=arguments.seconds)
    print(
        f"{' '.join([arguments.model, *arguments.settings])}, {len(lengths)} rows, {batch.num_tokens} tokens, "
        f"{torch.get_num_threads()} threads: products in {precision} at {rate / 1e9:.0f} GFLOP/s, "
        f"copies at {bandwidth / 1e9:.1f} GB/s\n"
    )
    print(table(parts, whole=whole + parts[-1].seconds, rate=rate, bandwidth=bandwidth))
    if arguments.corpus:
        print("\n" + outside(arguments.corpus, config, precision, arguments.batch_size, int(length)))


def compared(arguments: argparse.Namespace) -> str:
    """Steps of a recipe with the compiled kernels and with those of torch."""

    def load(*more: str) -> PretrainRun:
        return load_pretrain_config(arguments.recipe, [*settings, *more], corpus=arguments.corpus)

    settings = [*arguments.settings, "max_eval_examples=0", f"train.duration={STEPS_IN_TURN} steps"]
    settings.append(f"train.precision={precision_of(arguments, load().model)}")
    return compare_kernels(load, name=arguments.recipe)


def recipe_share(arguments: argparse.Namespace) -> str:
    """Products of the steps of a recipe over the peak, with everything that a step of the trainer does."""
    with tempfile.TemporaryDirectory() as scratch:
        kernels = f"compute.native_kernels={str(not arguments.torch_kernels).lower()}"
        fixed = [f"train.duration={RECIPE_STEPS} steps", "train.log_every=1", "train.evaluate_every=null", kernels]
        config = load_pretrain_config(arguments.recipe, arguments.settings, corpus=arguments.corpus).model
        settings = [*arguments.settings, *fixed, f"train.precision={precision_of(arguments, config)}"]
        run = load_pretrain_config(arguments.recipe, settings, corpus=arguments.corpus)
        pretrain(run, Path(scratch) / "run")
        curves = read_curves(Path(scratch) / "run" / "metrics.jsonl")
    precision = run.train.precision
    rate = timing.matmul_rate(CPU, size=1024, seconds=arguments.seconds, dtype=DTYPES[precision])
    names = "train/examples_per_second", "train/flops_per_second", "train/tokens_per_second"
    examples, flops, tokens = (np.array(curves[name].values[RECIPE_STEPS // 4 :]) for name in names)
    reached, read = (np.average(each, weights=1 / examples) for each in (flops, tokens))  # by the time of each step
    return (
        f"{' '.join([arguments.recipe, *arguments.settings])}, {torch.get_num_threads()} threads: "
        f"{reached / 1e9:.0f} GFLOP/s, {read:,.0f} tokens/s; products in {precision} at {rate / 1e9:.0f} GFLOP/s: "
        f"{reached / rate:.0%} of the peak"
    )


def precision_of(arguments: argparse.Namespace, config: ModelConfig) -> TrainingPrecision:
    """The one that was named, otherwise what `auto` is for products of this model."""
    if arguments.precision != "auto":
        return arguments.precision
    return measure_matmul_speed(config, "training").fastest


def model_parts(
    model: ForPretraining, batch: PretrainBatch, precision: TrainingPrecision, *, seconds: float
) -> list[Part]:
    """Every part that autograd runs through, forward and backward."""
    encoder, config = model.encoder, model.config
    layout = LAYOUTS["unpadded"](batch.attention_mask)
    ids, types = layout.pack(batch.input_ids), layout.pack(batch.token_type_ids)
    attention, feed_forward = encoder.attentions[0], encoder.feed_forwards[0]
    tokens = torch.randn(1, layout.positions.shape[1], config.hidden_size)
    read = torch.cat([batch.masked_positions, torch.arange(len(batch.input_ids)) * batch.input_ids.shape[1]])
    few, blocks = tokens[:, : len(read)], len(encoder.schedule)

    with autocast(precision, CPU):
        weight, bias = attention.fused_qkv()
    fused = FusedQKV(weight.detach().requires_grad_(), None if bias is None else bias.detach().requires_grad_())
    with torch.no_grad():
        inputs = encoder._block_inputs(layout)[0]._replace(fused_qkv=fused)

    def embed(unused: Tensor) -> Tensor:
        return encoder.projection(encoder.embeddings(ids, types, layout.positions))

    def head(states: Tensor) -> Tensor:
        return model.mlm.loss(states[0], encoder.embeddings.word.weight, batch.labels).loss

    def order(states: Tensor) -> Tensor:
        return classification_loss(model.sentence_pair(encoder.pool(states[0])), batch.sentence_pair_labels)

    predicted, rows = len(batch.masked_positions), len(batch.sentence_pair_labels)
    measured = [
        ("embeddings and projection", 1, embed, few),
        ("attention", blocks - 1, lambda x: attention(x, inputs), tokens),
        ("attention of the last block", 1, lambda x: attention(x, inputs._replace(positions=read)), tokens),
        ("feed-forward", blocks - 1, feed_forward, tokens),
        ("feed-forward of the last block", 1, feed_forward, few),
        ("masked tokens: head and loss", 1, head, tokens[:, :predicted]),
        ("sentence order: pooler, head and loss", 1, order, tokens[:, :rows]),
    ]
    return [measured_part(*part, precision, seconds=seconds) for part in measured]


def measured_part(
    name: str,
    times: int,
    function: Callable[[Tensor], Tensor],
    inputs: Tensor,
    precision: TrainingPrecision,
    *,
    seconds: float,
) -> Part:
    """One part, `times` over."""
    leaf = inputs.clone().requires_grad_()

    def run() -> None:
        with autocast(precision, CPU):
            output = function(leaf)
        output.backward(torch.ones_like(output))

    kept = kept_bytes(function, leaf, precision)
    with native_kernels(enabled=False):  # whose products are neither counted nor timed one by one
        flops = product_flops(run)
        alone = product_seconds(run, seconds=seconds)
    taken = timing.median_seconds(run, CPU, seconds=seconds)
    return Part(name, times * taken, times * flops, times * kept, times * alone)


def kept_bytes(function: Callable[[Tensor], Tensor], inputs: Tensor, precision: TrainingPrecision) -> int:
    """Bytes that one forward pass keeps for the backward pass, its input among them.

    Two passes keep the same weights, and the same copies of them in 16 bits, but each its own input and results.
    """
    passes: list[dict[int, int]] = []

    def keep(tensor: Tensor) -> Tensor:
        passes[-1][tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    outputs = []  # so that the second pass does not get the memory of the first
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), autocast(precision, CPU):
        for _ in range(2):
            passes.append({})
            outputs.append(function(inputs.clone()))
    first, second = passes
    return sum(size for place, size in second.items() if place not in first)


def forward_and_backward(model: ForPretraining, batch: PretrainBatch, precision: TrainingPrecision) -> None:
    """A step without the optimizer."""
    with autocast(precision, CPU):
        loss = who.our_loss(model, batch)
    loss.backward()
    model.zero_grad(set_to_none=True)


def rate_and_step(
    model: ForPretraining, batch: PretrainBatch, precision: TrainingPrecision, *, seconds: float
) -> tuple[float, float]:
    """FLOP/s of a square product and seconds of a step, medians of turns: the speed of a machine varies with time."""
    rates, steps = [], []
    for _ in range(TURNS):
        rates.append(timing.matmul_rate(CPU, size=1024, seconds=seconds / TURNS, dtype=DTYPES[precision]))
        step = timing.median_seconds(
            lambda: forward_and_backward(model, batch, precision), CPU, seconds=seconds / TURNS
        )
        steps.append(step)
    return median(rates), median(steps)


def optimizer_seconds(model: ForPretraining, seconds: float) -> float:
    """Norm, clipping and update of all parameters."""
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 1e-3)
    lamb = Lamb(model.parameters(), lr=1e-6)

    def step() -> None:
        norm = get_total_norm([parameter.grad for parameter in model.parameters() if parameter.grad is not None])
        clip_grads_with_norm_(model.parameters(), 1.0, norm)
        lamb.step()

    taken = timing.median_seconds(step, CPU, seconds=seconds)
    model.zero_grad(set_to_none=True)
    return taken


def copy_bandwidth(seconds: float) -> float:
    """Bytes read and written a second by a copy that fits into no cache."""
    source, target = torch.ones(COPIED_BYTES // 4), torch.empty(COPIED_BYTES // 4)
    return 2 * COPIED_BYTES / timing.median_seconds(lambda: target.copy_(source), CPU, seconds=seconds)


def table(parts: list[Part], *, whole: float, rate: float, bandwidth: float) -> str:
    """For a person, in Markdown; milliseconds."""
    lines = [
        "| part | ms | share | matmul at peak, ms | saved for backward, MiB | traffic at peak, ms | of peak matmul "
        "| products alone, ms | of peak matmul |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    sums = [sum(each) for each in zip(*((part.flops, part.kept_bytes, part.product_seconds) for part in parts))]
    total = Part("whole step", whole, *sums)
    rest = Part("not accounted for", whole - sum(part.seconds for part in parts))
    for part in (*parts, rest, total):
        products, traffic, alone = part.flops / rate, 2 * part.kept_bytes / bandwidth, part.product_seconds
        lines.append(
            f"| {part.name} | {1e3 * part.seconds:.1f} | {part.seconds / whole:.1%} | {1e3 * products:.1f} | "
            f"{part.kept_bytes / 2**20:.0f} | {1e3 * traffic:.1f} | {products / part.seconds:.0%} | "
            + (f"{1e3 * alone:.1f} | {products / alone:.0%} |" if alone else "| |")
        )
    return "\n".join(lines)


class TimedObjective:
    """The pretraining objective, with the time of forward and backward."""

    def __init__(self, model: ForPretraining) -> None:
        self._objective = PretrainingObjective()
        self._began = self._ended = 0.0
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(self._mark)

    def counts(self, batch: PretrainBatch) -> dict[str, int]:
        """Those of the objective."""
        return self._objective.counts(batch)

    def __call__(self, model: torch.nn.Module, batch: PretrainBatch) -> LossSums:
        """Those of the objective; a forward begins."""
        self._began = time.perf_counter()
        return self._objective(model, batch)

    def _mark(self, parameter: Tensor) -> None:
        self._ended = time.perf_counter()

    def last_seconds(self) -> float:
        """From the beginning of the last forward to the last gradient of its backward."""
        return self._ended - self._began


def outside(
    directory: Path, config: ModelConfig, precision: TrainingPrecision, batch_size: int, length: int, *, steps: int = 8
) -> str:
    """Share of a trained step that is neither forward nor backward: data, optimizer, records."""
    corpus, spans = Corpus.open(directory, "train"), []
    model = ForPretraining(config.replace(vocab_size=corpus.vocabulary.size), seed=0)
    watched, began = TimedObjective(model), time.perf_counter()

    class StepTimer(Callback):
        def on_step(self, run: RunState, record: StepRecord) -> None:
            nonlocal began
            now = time.perf_counter()
            spans.append((now - began, watched.last_seconds()))
            began = now

    values = {"duration": f"{steps} steps", "learning_rate": 1e-4, "precision": precision, "device": "cpu"}
    batches = PretrainBatches(
        corpus, SamplingSettings(max_length=length), batch_size=batch_size, microbatch_size=batch_size, seed=0
    )
    with tempfile.TemporaryDirectory() as scratch:
        settings = TrainSettings.parse(values, where="benchmark")
        Trainer(
            model,
            objective=watched,
            batches=batches,
            settings=settings,
            run=RunInfo(directory=Path(scratch)),
            callbacks=[StepTimer()],
        ).fit()
    whole, inside = (sum(part) for part in zip(*spans[1:], strict=True))
    return (
        f"{len(spans) - 1} steps of the trainer on real text: {1e3 * whole / (len(spans) - 1):.0f} ms a step, "
        f"{1 - inside / whole:.1%} of it outside forward and backward"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", metavar="SETTING=VALUE", help="of the model, other than its preset's")
    parser.add_argument("--recipe", help="a pretraining recipe, whose own steps are run")
    parser.add_argument("--torch-kernels", action="store_true", help="without those that are compiled")
    parser.add_argument("--compare-kernels", action="store_true", help="steps of the recipe with and without them")
    parser.add_argument(
        "--precision", choices=("auto", *DTYPES), default="auto", help="auto: measured, as by `train.precision: auto`"
    )
    parser.add_argument("--model", help="a preset (albert-base-v2)")
    parser.add_argument("--rows", help="full or mixed, and the longest: full-512, mixed-512 (full-128)")
    parser.add_argument("--batch-size", type=int, help="rows of a step (8)")
    parser.add_argument("--threads", type=int, help="of the CPU; all unless said otherwise")
    parser.add_argument("--seconds", type=float, default=3.0, help="to spend on each figure")
    parser.add_argument("--corpus", type=Path, help="corpus directory, for the share of time outside the model")
    arguments = parser.parse_args()
    if arguments.recipe and not arguments.corpus:
        parser.error("--recipe needs --corpus")
    for name, default in {"model": "albert-base-v2", "rows": "full-128", "batch_size": 8}.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, default)
        elif arguments.recipe:
            parser.error(f"--{name.replace('_', '-')} has no effect with --recipe, whose own steps are run")
    if arguments.torch_kernels and arguments.compare_kernels:
        parser.error("give --torch-kernels or --compare-kernels, which runs both")
    if any(setting.startswith("train.precision=") for setting in arguments.settings):
        parser.error("give --precision instead of train.precision")
    if arguments.compare_kernels and not arguments.recipe:
        parser.error("--compare-kernels needs --recipe")
    return arguments


if __name__ == "__main__":
    with freed_memory_kept():  # as the trainer does
        main()
