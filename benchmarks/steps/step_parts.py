"""The parts of a training step: seconds, products and kept bytes of each, forward and backward, and their table."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

import torch
from libraries import speed_contestants as who
from measurement import step_times as timing
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from litebert.corpus.sampling.pretrain_batches import PretrainBatch
from litebert.device import autocast
from litebert.model.config import ModelConfig
from litebert.model.kernels.layout import LAYOUTS
from litebert.model.kernels.native.library import native_kernels
from litebert.model.layers.block import FusedQKV
from litebert.model.losses import classification_loss
from litebert.model.matmul_speed import measure_matmul_speed
from litebert.model.models import ForPretraining
from litebert.training.optim.lamb import Lamb
from steps.product_times import product_flops, product_seconds

CPU: Final = torch.device("cpu")
MeasuredPrecision = Literal["fp32", "bf16"]
Precision = Literal["auto"] | MeasuredPrecision
DTYPES: Final[dict[MeasuredPrecision, torch.dtype]] = {"fp32": torch.float32, "bf16": torch.bfloat16}
COPIED_BYTES: Final = 2**28
TURNS: Final = 5


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


def measured(precision: Precision, config: ModelConfig) -> MeasuredPrecision:
    """A precision; for `auto`, the one that it is for products of this model."""
    if precision != "auto":
        return precision
    return "bf16" if measure_matmul_speed(config, "training").fastest == "bf16" else "fp32"


def model_parts(
    model: ForPretraining, batch: PretrainBatch, *, precision: MeasuredPrecision, seconds: float
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
        inputs = encoder._block_inputs(layout, encoder.schedule)[0]._replace(fused_qkv=fused)

    def embed(unused: Tensor) -> Tensor:
        return encoder.projection(encoder.embeddings(ids, types, layout.positions))

    def head(states: Tensor) -> Tensor:
        return model.mlm.loss(states[0], encoder.embeddings.word.weight, batch.labels).loss

    def order(states: Tensor) -> Tensor:
        return classification_loss(model.sentence_pair(encoder.pool(states[0])), batch.sentence_pair_labels)

    predicted, rows = len(batch.masked_positions), len(batch.sentence_pair_labels)
    parts = [
        ("embeddings and projection", 1, embed, few),
        ("attention", blocks - 1, lambda x: attention(x, inputs), tokens),
        ("attention of the last block", 1, lambda x: attention(x, inputs._replace(positions=read)), tokens),
        ("feed-forward", blocks - 1, feed_forward, tokens),
        ("feed-forward of the last block", 1, feed_forward, few),
        ("masked tokens: head and loss", 1, head, tokens[:, :predicted]),
        ("sentence order: pooler, head and loss", 1, order, tokens[:, :rows]),
    ]
    return [
        measured_part(function, leaf, name=name, times=times, precision=precision, seconds=seconds)
        for name, times, function, leaf in parts
    ]


def measured_part(
    function: Callable[[Tensor], Tensor],
    inputs: Tensor,
    *,
    name: str,
    times: int,
    precision: MeasuredPrecision,
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


def kept_bytes(function: Callable[[Tensor], Tensor], inputs: Tensor, precision: MeasuredPrecision) -> int:
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


def forward_and_backward(model: ForPretraining, batch: PretrainBatch, precision: MeasuredPrecision) -> None:
    """A step without the optimizer."""
    with autocast(precision, CPU):
        loss = who.our_loss(model, batch)
    loss.backward()
    model.zero_grad(set_to_none=True)


def rate_and_step(
    model: ForPretraining, batch: PretrainBatch, *, precision: MeasuredPrecision, seconds: float
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
