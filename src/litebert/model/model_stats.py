"""What an architecture costs: parameters, operations and memory, by formula. Before: a config. After: `litebert info`.

Torch-free and instant for any size. Tests hold every formula against a real model.
"""

from dataclasses import dataclass
from typing import Final, Literal

from litebert.model.config import ModelConfig
from litebert.model.io.model_spec import ModelName
from litebert.model.layers.lora_settings import LoRASettings
from litebert.model.sharing_schedule import sharing_schedule, stored_blocks

Precision = Literal["fp32", "bf16"]
"""`bf16` is mixed precision: weights, optimizer and residual stream in 32 bits, matrix products in 16."""


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
    """Beside the blocks; folded into their weights there are none."""

    @property
    def encoder(self) -> int:
        """Without pooler and heads."""
        return self.embeddings + self.projection + self.attention + self.feed_forward + self.adapters

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
    V, E, H, inner = config.vocab_size, config.embedding_size, config.hidden_size, config.intermediate_size
    attentions, feed_forwards = stored_blocks(config)
    return ParameterCounts(
        embeddings=(V + config.max_position_embeddings + config.type_vocab_size) * E + _norm(E),
        projection=_linear(E, H) if config.has_projection else 0,
        attention=attentions * (4 * _linear(H, H) + _norm(H)),
        feed_forward=feed_forwards * (_linear(H, inner) + _linear(inner, H) + _norm(H)),
        pooler=_linear(H, H),
        mlm=_linear(H, E) + _norm(E) + V,
        sentence_pair=_linear(H, 2),
        adapters=_adapter_parameters(config, adapters) if adapters else 0,
    )


def _adapter_parameters(config: ModelConfig, adapters: LoRASettings) -> int:
    """Two matrices beside each adapted dense layer, of every stored block or of every block that runs."""
    blocks = len(sharing_schedule(config))
    attentions, feed_forwards = (blocks, blocks) if adapters.per_layer else stored_blocks(config)
    beside_attention = attentions * 2 * config.hidden_size
    beside_feed_forward = feed_forwards * (config.hidden_size + config.intermediate_size)
    widths = [beside_feed_forward if name in ("up", "down") else beside_attention for name in adapters.projections]
    return adapters.rank * sum(widths)


def model_parameters(
    config: ModelConfig, model: ModelName, *, num_labels: int = 2, adapters: LoRASettings | None = None
) -> int:
    """Parameters of a whole model; only models that read the pooler have one."""
    H, counts = config.hidden_size, parameter_counts(config, adapters)
    totals: dict[ModelName, int] = {
        "ForPretraining": counts.pretraining,
        "ForMaskedLM": counts.encoder + counts.mlm,
        "ForSequenceClassification": counts.encoder_and_pooler + _linear(H, num_labels),
        "ForMultipleChoice": counts.encoder_and_pooler + _linear(H, 1),
        "ForTokenClassification": counts.encoder + _linear(H, num_labels),
        "ForQuestionAnswering": counts.encoder + _linear(H, 2),
        "ForQuestionAnsweringWithNoAnswer": counts.encoder + 2 * _linear(H, 1) + 2 * _linear(2 * H, H) + _norm(H) + H,
        "SentenceEmbedder": counts.encoder,
    }
    return totals[model]


@dataclass(frozen=True)
class Flops:
    """Floating-point operations (a multiplication and its addition are two) of the matrix products, per token."""

    forward: int
    training: int
    """Forward and backward; activation checkpointing adds one more forward."""


def flops_per_token(config: ModelConfig, *, length: int, predicted: float = 0.0) -> Flops:
    """Operations for a token of a sequence of `length`, `predicted` of whose tokens pass the MLM head.

    Sharing saves parameters, not operations: every block that runs is counted. Pretraining finishes its last block only
    at the predicted tokens and the first one; with `predicted` 0 all tokens go to the end.
    """
    V, E, H, inner = config.vocab_size, config.embedding_size, config.hidden_size, config.intermediate_size
    mixing, finishing = 6 * H * H + 4 * length * H, 2 * H * H + 4 * H * inner
    blocks = len(sharing_schedule(config)) * (mixing + finishing) - _left_out(length, predicted) * finishing
    projection = 2 * E * H if config.has_projection else 0
    pooler = 2 * H * H / length
    forward = round(blocks + projection + pooler + predicted * 2 * E * (H + V))
    return Flops(forward=forward, training=3 * forward)


def _left_out(length: int, predicted: float) -> float:
    """Share of the tokens whose last block pretraining does not finish."""
    return 1 - predicted - 1 / length if predicted else 0.0


@dataclass(frozen=True)
class Memory:
    """Bytes that a training step needs at its peak; temporary buffers of the kernels come on top."""

    weights: int
    gradients: int
    optimizer: int
    activations: int

    @property
    def training(self) -> int:
        """All of it."""
        return self.weights + self.gradients + self.optimizer + self.activations


def memory(
    config: ModelConfig,
    *,
    batch_size: int,
    length: int,
    predicted: float = 0.15,
    precision: Precision = "fp32",
    activation_checkpoint_interval: int | None = None,
) -> Memory:
    """Estimate for pretraining with two moments a parameter; `predicted` is the share of tokens under the MLM head.

    Activations are what the backward pass reads, with fused attention; sharing does not shrink them.
    """
    weights = 4 * parameter_counts(config).pretraining
    tokens, blocks = batch_size * length, len(sharing_schedule(config))
    if activation_checkpoint_interval is None:
        kept = blocks * _block_bytes(config, precision)
    else:
        kept = (
            blocks / activation_checkpoint_interval * 4 * config.hidden_size
            + activation_checkpoint_interval * _block_bytes(config, precision)
        )
    kept -= _left_out(length, predicted) * _finishing_bytes(config, precision)
    ends = _end_bytes(config, precision, predicted)
    return Memory(weights, weights, 2 * weights, activations=round(tokens * (kept + ends)))


_BYTES: Final[dict[Precision, int]] = {"fp32": 4, "bf16": 2}


def _block_bytes(config: ModelConfig, precision: Precision) -> int:
    """Bytes a token that one block keeps for its backward pass."""
    mixing = _BYTES[precision] * 5 * config.hidden_size  # what q, k and v read; q, k, v; the context
    softmax = 4 * config.num_attention_heads
    return mixing + softmax + _finishing_bytes(config, precision)


def _finishing_bytes(config: ModelConfig, precision: Precision) -> int:
    """Of these, bytes a token after the attention."""
    H, inner, width = config.hidden_size, config.intermediate_size, _BYTES[precision]
    activation = inner if config.hidden_act == "relu" else 2 * inner  # ReLU needs only its result
    norms = 4 * 2 * (H + 2)  # what they read, its mean and its deviation
    dropout_masks = 2 * width * H if config.hidden_dropout_prob else 0
    return width * (H + activation) + norms + dropout_masks


def _end_bytes(config: ModelConfig, precision: Precision, predicted: float) -> float:
    """Bytes a token that embeddings, projection and the MLM head keep."""
    V, E, H, width = config.vocab_size, config.embedding_size, config.hidden_size, _BYTES[precision]
    embeddings = 4 * E + (width * E if config.has_projection else 0) + (4 * E if config.hidden_dropout_prob else 0)
    head = width * (H + 2 * E + V) + 4 * E
    return embeddings + predicted * head


def _linear(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


def _norm(width: int) -> int:
    return 2 * width
