"""Parameters, floating-point operations and memory of an architecture, by formula. Torch-free.

The tests compare every formula with a real model.
"""

import math
from dataclasses import dataclass
from typing import Final

from litebert.model.config import ModelConfig, Shapes, attention_shapes, feed_forward_shapes
from litebert.model.layers.lora_settings import LoRASettings
from litebert.model.sharing_schedule import sharing_schedule, stored_blocks
from litebert.settings import TrainingPrecision


@dataclass(frozen=True)
class ParameterCounts:
    """Stored parameters of `ForPretraining` by part; a shared block counts once. Source: ALBERT, table 1."""

    embeddings: int
    projection: int
    attention: int
    feed_forward: int
    pooler: int
    mlm: int
    sentence_pair: int
    adapters: int = 0
    """LoRA parameters that are not merged."""
    recursion_lora: int = 0
    """Low-rank updates of the shared layers."""
    final_norm: int = 0

    @property
    def encoder(self) -> int:
        """Without pooler and heads."""
        blocks = self.attention + self.feed_forward + self.adapters + self.recursion_lora + self.final_norm
        return self.embeddings + self.projection + blocks

    @property
    def encoder_and_pooler(self) -> int:
        """Without heads."""
        return self.encoder + self.pooler

    @property
    def pretraining(self) -> int:
        """With pooler and both pretraining heads."""
        return self.encoder_and_pooler + self.mlm + self.sentence_pair


def parameter_counts(config: ModelConfig, adapters: LoRASettings | None = None) -> ParameterCounts:
    """Parameters of each part."""
    V, E, H = config.vocab_size, config.embedding_size, config.hidden_size
    attentions, feed_forwards = stored_blocks(config)
    positions = config.max_position_embeddings if config.position_embedding == "absolute" else 0
    return ParameterCounts(
        embeddings=(V + positions + config.type_vocab_size) * E + _norm(E),
        projection=_linear(E, H) if config.has_projection else 0,
        attention=attentions * (_dense(attention_shapes(config), bias=config.use_bias) + _norm(H)),
        feed_forward=feed_forwards * (_dense(feed_forward_shapes(config), bias=config.use_bias) + _norm(H)),
        pooler=_linear(H, H),
        mlm=_linear(H, E) + _norm(E) + V,
        sentence_pair=_linear(H, 2),
        adapters=_adapter_parameters(config, adapters) if adapters else 0,
        recursion_lora=len(sharing_schedule(config)) * config.recursion_lora_rank * _widths(config),
        final_norm=_norm(H) if config.norm_first else 0,
    )


def _dense(shapes: Shapes, *, bias: bool) -> int:
    return sum(inputs * outputs + bias * outputs for inputs, outputs in shapes.values())


def _widths(config: ModelConfig) -> int:
    """Sum of inputs and outputs over the dense layers of a block: the parameters of updates of rank 1."""
    return sum(map(sum, (*attention_shapes(config).values(), *feed_forward_shapes(config).values())))


def _adapter_parameters(config: ModelConfig, adapters: LoRASettings) -> int:
    """Two matrices for each adapted dense layer, of every stored block or of every block that runs."""
    blocks = len(sharing_schedule(config))
    attentions, feed_forwards = (blocks, blocks) if adapters.per_layer else stored_blocks(config)
    H, inner = config.hidden_size, ("up", "gate", "down")
    attention, feed_forward = attentions * 2 * H, feed_forwards * (H + config.intermediate_size)
    widths = [feed_forward if name in inner else attention for name in adapters.projections]
    return adapters.rank * sum(widths)


@dataclass(frozen=True)
class Flops:
    """Floating-point operations of the matrix products, per token; a multiply-add is two."""

    forward: int
    training: int
    """Forward and backward; activation checkpointing adds another forward."""


def flops_per_token(config: ModelConfig, *, length: int, predicted: float = 0.0) -> Flops:
    """FLOPs per token of a sequence of `length` tokens, a share `predicted` of which pass the MLM head.

    Sharing saves parameters, not operations: every block that runs is counted. In pretraining the last block computes
    only the masked positions and the first one after its attention; with `predicted` 0 it computes all positions.
    The products B A of `recursion_lora_rank` are left out: their cost does not depend on the tokens.
    """
    V, E, H = config.vocab_size, config.embedding_size, config.hidden_size
    attention = 6 * H * H + 4 * length * H
    feed_forward = 2 * H * H + 2 * _dense(feed_forward_shapes(config), bias=False)
    blocks = (
        len(sharing_schedule(config)) * (attention + feed_forward) - _skipped_share(length, predicted) * feed_forward
    )
    projection = 2 * E * H if config.has_projection else 0
    pooler = 2 * H * H / length
    forward = round(blocks + projection + pooler + predicted * 2 * E * (H + V))
    return Flops(forward=forward, training=3 * forward)


def _skipped_share(length: int, predicted: float) -> float:
    """Share of the positions that the last block skips after its attention, in pretraining."""
    return 1 - predicted - 1 / length if predicted else 0.0


@dataclass(frozen=True)
class Memory:
    """Peak memory of a training step in bytes, without temporary buffers of the kernels."""

    weights: int
    gradients: int
    optimizer: int
    activations: int

    @property
    def training(self) -> int:
        """The sum."""
        return self.weights + self.gradients + self.optimizer + self.activations


def memory(
    config: ModelConfig,
    *,
    batch_size: int,
    length: int,
    predicted: float = 0.15,
    precision: TrainingPrecision = "fp32",
    activation_checkpoint_interval: int | None = None,
) -> Memory:
    """Estimate for pretraining with two optimizer moments per parameter; `predicted`: share of tokens that are masked.

    Activations are the tensors saved for the backward pass by the kernels of torch, with fused attention; sharing does
    not reduce them. The compiled kernels of a CPU save less: of a gated feed-forward layer three quarters.
    """
    weights = 4 * parameter_counts(config).pretraining
    tokens, blocks = batch_size * length, len(sharing_schedule(config))
    if activation_checkpoint_interval is None:
        kept = blocks * _block_bytes(config, precision)
    else:
        interval = min(activation_checkpoint_interval, blocks)
        chunk_inputs = math.ceil(blocks / interval) * 4 * config.hidden_size
        kept = chunk_inputs + interval * _block_bytes(config, precision)
    kept -= _skipped_share(length, predicted) * _output_bytes(config, precision)
    ends = _end_bytes(config, precision, predicted)
    updated = blocks * _updated_weight_bytes(config, precision) if config.recursion_lora_rank else 0
    return Memory(weights, weights, 2 * weights, activations=round(tokens * (kept + ends)) + updated)


_BYTES: Final[dict[TrainingPrecision, int]] = {"auto": 4, "fp32": 4, "bf16": 2, "fp16": 2}
"""`auto` is counted as fp32, which needs the most."""


def _block_bytes(config: ModelConfig, precision: TrainingPrecision) -> int:
    """Bytes per token that one block saves for the backward pass."""
    # Input of q, k and v; q, k, v; the context. With rotation also q and k before it: v is a part of their tensor.
    vectors = 7 if config.position_embedding == "rotary" else 5
    attention = _BYTES[precision] * vectors * config.hidden_size
    softmax = 4 * config.num_attention_heads
    return attention + softmax + _output_bytes(config, precision)


def _output_bytes(config: ModelConfig, precision: TrainingPrecision) -> int:
    """Those of `_block_bytes` that are saved after the attention."""
    H, inner, width = config.hidden_size, config.intermediate_size, _BYTES[precision]
    activation = inner if config.hidden_act == "relu" else 2 * inner  # ReLU saves only its output
    activation += 2 * inner if config.gated_feed_forward else 0  # the factors of the gate
    norms = 4 * 2 * (H + 2)  # input, mean and standard deviation
    dropout_masks = 2 * width * H if config.hidden_dropout_prob else 0
    return width * (H + activation) + norms + dropout_masks


def _updated_weight_bytes(config: ModelConfig, precision: TrainingPrecision) -> int:
    """Bytes of the dense weights of one block after low-rank updates."""
    return _BYTES[precision] * _dense({**attention_shapes(config), **feed_forward_shapes(config)}, bias=False)


def _end_bytes(config: ModelConfig, precision: TrainingPrecision, predicted: float) -> float:
    """Bytes per token that embeddings, projection and the MLM head save."""
    V, E, H, width = config.vocab_size, config.embedding_size, config.hidden_size, _BYTES[precision]
    embeddings = 4 * E + (width * E if config.has_projection else 0) + (4 * E if config.hidden_dropout_prob else 0)
    head = width * (H + 2 * E + V) + 4 * E
    return embeddings + predicted * head


def _linear(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


def _norm(width: int) -> int:
    return 2 * width
