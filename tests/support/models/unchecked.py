"""Compilation and export of models; run in a process without shape checks."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch._dynamo.utils import counters
from torch.export import Dim, export

from litebert.commands.pretrain.pretraining_objective import PretrainingObjective
from litebert.corpus.sampling.pretrain_batches import PretrainBatch
from litebert.model.config import ModelConfig
from litebert.model.kernels.layout import AttentionKernel
from litebert.model.models import (
    ForMaskedLM,
    ForMultipleChoice,
    ForPretraining,
    ForQuestionAnswering,
    ForQuestionAnsweringWithNoAnswer,
    ForSequenceClassification,
    ForTokenClassification,
    SentenceEmbedder,
)
from support.models.model_builders import fresh_encoder, packed_rows, padded_mask, random_batch


def graphs(config: ModelConfig, kernel: AttentionKernel) -> int:
    """Number of graphs compiled while training on batches of several shapes."""
    torch._dynamo.reset()
    counters.clear()
    model = fresh_encoder(config)
    model.attention_kernel = kernel
    model.compile_blocks(backend="eager")
    for rows, length in ((3, 17), (2, 9), (5, 23), (4, 11)):
        mask = padded_mask(list(range(length - rows, length)))
        model(*random_batch(config, mask).arguments).last_hidden_state.sum().backward()
    return counters["stats"]["unique_graphs"]


def compiled_difference(config: ModelConfig, kernel: AttentionKernel) -> float:
    """Largest difference between compiled and eager outputs."""
    torch._dynamo.reset()
    model = fresh_encoder(config)
    model.attention_kernel = kernel
    batch = random_batch(config, padded_mask([9, 5, 1]))
    expected = model(*batch.arguments).last_hidden_state
    model.compile_blocks(backend="eager")
    return (model(*batch.arguments).last_hidden_state - expected).abs().max().item()


def packed_difference(config: ModelConfig, kernel: AttentionKernel, lengths: list[int], rows: list[list[int]]) -> float:
    """Largest difference between examples alone, not compiled, and packed into rows, compiled."""
    torch._dynamo.reset()
    model = fresh_encoder(config)
    alone = random_batch(config, padded_mask(lengths))
    expected = model(*alone.arguments).pooled
    packed, starts = packed_rows(alone, rows)
    model.attention_kernel = kernel
    model.compile_blocks(backend="eager")
    return (model(*packed.arguments, starts).pooled - expected).abs().max().item()


def exported_difference(name: str, config: ModelConfig) -> float:
    """Largest difference between a model and its export, on another batch size and length than it was traced on."""
    build, arguments, dimensions = EXPORTS[name]
    model = build(config).eval()
    length = Dim("length", max=config.max_position_embeddings)
    names = {"B": Dim("batch", max=1024), "C": Dim("choices", max=64), "S": length, "P": Dim("predicted", max=4096)}
    shapes = tuple({axis: names[letter] for axis, letter in enumerate(letters)} for letters in dimensions)
    exported = export(model, arguments(config, [9, 5, 1]), dynamic_shapes=shapes).module()
    other = arguments(config, [20, 3, 20, 7])
    pairs = zip(tensors(exported(*other)), tensors(model(*other)), strict=True)
    return max((ours - expected).abs().max().item() for ours, expected in pairs)


def tensors(output: object) -> list[Tensor]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(output) if isinstance(leaf, Tensor)]


def tokens(config: ModelConfig, lengths: list[int]) -> tuple[Tensor, ...]:
    return random_batch(config, padded_mask(lengths)).arguments


def with_positions(config: ModelConfig, lengths: list[int]) -> tuple[Tensor, ...]:
    return (*tokens(config, lengths), torch.arange(len(lengths) + 1))


def choices(config: ModelConfig, lengths: list[int]) -> tuple[Tensor, ...]:
    return tuple(tensor[:, None].repeat(1, len(lengths), 1) for tensor in tokens(config, lengths))


def with_answers(config: ModelConfig, lengths: list[int]) -> tuple[Tensor, ...]:
    ids, mask, types = tokens(config, lengths)
    return ids, mask, types, mask, torch.zeros(len(lengths), dtype=torch.int64)


GRID = ("BS", "BS", "BS")
EXPORTS = {
    "ForPretraining": (ForPretraining, with_positions, (*GRID, "P")),
    "ForMaskedLM": (ForMaskedLM, with_positions, (*GRID, "P")),
    "ForSequenceClassification": (lambda config: ForSequenceClassification(config, num_labels=3), tokens, GRID),
    "ForMultipleChoice": (ForMultipleChoice, choices, ("BCS", "BCS", "BCS")),
    "ForTokenClassification": (lambda config: ForTokenClassification(config, num_labels=3), tokens, GRID),
    "ForQuestionAnswering": (ForQuestionAnswering, tokens, GRID),
    "ForQuestionAnsweringWithNoAnswer": (ForQuestionAnsweringWithNoAnswer, with_answers, (*GRID, "BS", "B")),
    "SentenceEmbedder": (SentenceEmbedder, tokens, GRID),
}


def pretraining_gradient(
    config: ModelConfig,
    batches: Sequence[PretrainBatch],
    kernel: AttentionKernel,
    interval: int | None,
    compiled: bool,
) -> Tensor:
    """Gradient of all parameters in the order of their names, accumulated over the parts of a batch."""
    model, objective = ForPretraining(config, seed=0), PretrainingObjective()
    model.encoder.attention_kernel, model.encoder.activation_checkpoint_interval = kernel, interval
    if compiled:
        torch._dynamo.reset()
        model.encoder.compile_blocks(backend="eager")
    counts = [objective.counts(batch) for batch in batches]
    for batch in batches:
        losses = objective(model, batch).losses
        torch.stack([loss / sum(count[name] for count in counts) for name, loss in losses.items()]).sum().backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
