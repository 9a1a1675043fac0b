"""Copies of a model that are prepacked for inference on a CPU."""

import copy
from collections.abc import Iterable
from functools import partial
from typing import Final, TypeVar, cast

import torch
from torch import nn

from litebert.machine import has_bf16_instructions
from litebert.model.encoder import Encoder, encoder_of
from litebert.model.layers.block import NO_UPDATES, Attention, FeedForward
from litebert.model.prepacked.few_rows import BlockRunner
from litebert.model.prepacked.int8_linear import Int8Linear
from litebert.model.prepacked.prepacked_layers import Dense, PrepackedAttention, PrepackedFeedForward
from litebert.model.prepacked.prepacked_linear import PrepackedLinear
from litebert.settings import InferencePrecision

M = TypeVar("M", bound=nn.Module)
DENSE: Final[dict[InferencePrecision, Dense]] = {
    "fp32": partial(PrepackedLinear, dtype=torch.float32),
    "bf16": partial(PrepackedLinear, dtype=torch.bfloat16),
    "fp16": partial(PrepackedLinear, dtype=torch.float16),
    "int8": Int8Linear,
}


def has_operators(precision: InferencePrecision) -> bool:
    """Whether torch can prepack weights for a precision on this processor."""
    checks = {"bf16": torch.ops.mkldnn._is_mkldnn_bf16_supported, "fp16": torch.ops.mkldnn._is_mkldnn_fp16_supported}
    return torch.backends.mkldnn.is_available() and (precision not in checks or checks[precision]())


def modules_and_parameters(model: nn.Module) -> tuple[list[nn.Module], list[nn.Parameter]]:
    """All modules and parameters; `model.modules()` and `parameters()` take half of a millisecond for a small model."""
    modules, parameters = dict[int, nn.Module](), dict[int, nn.Parameter]()
    waiting = [model]
    while waiting:
        module = waiting.pop()
        if id(module) in modules:  # shared
            continue
        modules[id(module)] = module
        parameters |= {id(each): each for each in module._parameters.values() if each is not None}
        waiting += [each for each in module._modules.values() if each is not None]
    return list(modules.values()), list(parameters.values())


def can_prepack(
    model: nn.Module, precision: InferencePrecision, parameters: Iterable[nn.Parameter] | None = None
) -> bool:
    """Whether `prepacked` applies: an `Encoder` with whole fp32 weights on a CPU, and no attention kernel chosen.

    `parameters` are those of `model`, where they are known.
    """
    encoder = getattr(model, "encoder", None)
    if not isinstance(encoder, Encoder) or encoder.attention_kernel is not None or not has_operators(precision):
        return False
    if parameters is None:
        _, parameters = modules_and_parameters(model)
    whole = (type(each) is nn.Parameter and each.is_cpu and each.dtype == torch.float32 for each in parameters)
    return all(whole)


@torch.no_grad()
@torch.autocast("cpu", enabled=False)  # that of the caller would round the weights
def prepacked(model: nn.Module, precision: InferencePrecision) -> nn.Module:
    """A copy of `model` for inference: it shares embeddings and heads, and has block weights of its own.

    LoRA adapters and the updates of recursion LoRA are added to these weights. Later changes of the blocks of `model`
    do not reach the copy.
    """
    encoder = encoder_of(model)
    dense, activation = DENSE[precision], encoder.config.hidden_act
    attentions = [(block, NO_UPDATES) for block in encoder.attentions]
    feed_forwards = [(block, NO_UPDATES) for block in encoder.feed_forwards]
    in_int8 = precision == "int8"
    # Products of scores have no int8 operator.
    project = partial(Int8Linear, dtype=torch.bfloat16) if in_int8 and has_bf16_instructions() else dense
    schedule = encoder.schedule
    if encoder.recursion_lora:
        updates = [lora() for lora in encoder.recursion_lora]
        attentions = [(encoder.attentions[index], own) for (index, _), own in zip(schedule, updates, strict=False)]
        feed_forwards = [
            (encoder.feed_forwards[index], own) for (_, index), own in zip(schedule, updates, strict=False)
        ]
        schedule = tuple((layer, layer) for layer in range(len(schedule)))
    fast = _with_children(
        encoder,
        attentions=nn.ModuleList(
            PrepackedAttention(cast(Attention, block), dense, own, project=project, chunked=in_int8)
            for block, own in attentions
        ),
        feed_forwards=nn.ModuleList(
            PrepackedFeedForward(cast(FeedForward, block), dense, activation, own, chunked=in_int8)
            for block, own in feed_forwards
        ),
        recursion_lora=nn.ModuleList(),
    )
    fast.schedule, fast.attention_kernel, fast.run_block = schedule, "length_sorted", BlockRunner(activation)
    return _with_children(model, encoder=fast)


def _with_children(module: M, **children: nn.Module) -> M:
    """A shallow copy of a module, in evaluation mode, with some children replaced."""
    copied = copy.copy(module)
    copied._modules = {**module._modules, **children}
    copied.training = False
    return copied
