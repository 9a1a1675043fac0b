"""The layers: embeddings, attention and feed-forward layer of a block, each with residual and LayerNorm, and a head.

Source of the low-rank updates of shared layers: Relaxed Recursive Transformers (Bae et al., 2024, arXiv 2410.20672),
section 3.2; here they are trained from the beginning.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from litebert.model.config import Activation, ModelConfig, attention_shapes, feed_forward_shapes
from litebert.model.kernels.attention_kernels import attention_probabilities
from litebert.model.kernels.cpu_gelu import gelu_tanh
from litebert.model.kernels.cross_entropy import VocabularyLoss, vocabulary_log_probabilities, vocabulary_loss
from litebert.model.kernels.layout import Layout
from litebert.model.kernels.native.activations import Form, native_gated_gelu, native_gelu
from litebert.model.kernels.native.library import native_library
from litebert.model.kernels.rotary import Rotation, rotate_heads, with_adjacent_pairs
from litebert.model.layers.layer_norm import LayerNorm, add_residual

WeightUpdates = Mapping[str, Float[Tensor, "outputs inputs"]]
"""Name of a dense layer of the block → matrix to add to its weight."""
NO_UPDATES: Final[WeightUpdates] = {}


class LowRankUpdate(nn.Module):
    """The update B A of one weight; B is initialized to zero, so that the layers begin equal."""

    def __init__(self, inputs: int, outputs: int, *, rank: int) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.zeros(rank, inputs))
        self.b = nn.Parameter(torch.zeros(outputs, rank))

    def forward(self) -> Float[Tensor, "outputs inputs"]:
        """B A, in the dtype of the parameters: added to the weight, it costs nothing per token."""
        with torch.autocast(self.a.device.type, enabled=False):
            return self.b @ self.a


class RecursionLoRA(nn.ModuleDict):
    """The updates of every dense layer of one block that runs."""

    def __init__(self, config: ModelConfig) -> None:
        shapes = {**attention_shapes(config), **feed_forward_shapes(config)}.items()
        super().__init__({name: LowRankUpdate(*shape, rank=config.recursion_lora_rank) for name, shape in shapes})

    def forward(self) -> WeightUpdates:
        """The matrices to add."""
        return {name: update() for name, update in self.items()}


class FusedQKV(NamedTuple):
    """Query, key and value as one dense layer."""

    weight: Float[Tensor, "H3 H"]
    bias: Float[Tensor, " H3"] | None


class BlockInputs(NamedTuple):
    """What a block reads besides the hidden states."""

    layout: Layout
    """Which tokens attend to which."""
    fused_qkv: FusedQKV | None = None
    """`Attention.fused_qkv()`, shared by layers; None: each computes its own."""
    positions: Int[Tensor, " P"] | None = None
    """Flat positions b·S + s to compute the output for; None: all."""
    rotation: Rotation | None = None
    """Rotation of queries and keys; None: absolute positions."""
    updates: WeightUpdates = NO_UPDATES
    """Low-rank updates of the dense layers; those of query, key and value are already in `fused_qkv`, if given."""


class Attention(nn.Module):
    """One stored attention block. Source: `attention_layer` and `attention_ffn_block` of google-research/albert.

    Query, key and value are three parameters, because LAMB gives each its own trust ratio.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        hidden, bias = config.hidden_size, config.use_bias
        self.query = nn.Linear(hidden, hidden, bias=bias)
        self.key = nn.Linear(hidden, hidden, bias=bias)
        self.value = nn.Linear(hidden, hidden, bias=bias)
        self.output = nn.Linear(hidden, hidden, bias=bias)
        self.norm = LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.attention_dropout = config.attention_probs_dropout_prob
        self.norm_first = config.norm_first
        self.heads = (config.num_attention_heads, config.head_size)
        self.rotary = config.position_embedding == "rotary"

    def fused_qkv(self, updates: WeightUpdates = NO_UPDATES) -> FusedQKV:
        """Query, key and value as one dense layer, in the dtype of the matrix products.

        One copy serves every layer without `updates`, forward and backward. For rotary positions the rows of queries
        and keys are in the order of `with_adjacent_pairs`.
        """
        layers = {name: getattr(self, name) for name in ("query", "key", "value")}
        weights = [layer.weight + updates[name] if updates else layer.weight for name, layer in layers.items()]
        biases = [layer.bias for layer in layers.values() if layer.bias is not None]
        bias = to_autocast_dtype(self._fused(biases)) if biases else None
        return FusedQKV(to_autocast_dtype(self._fused(weights)), bias)

    def _fused(self, parts: list[Float[Tensor, "H ..."]]) -> Float[Tensor, "H3 ..."]:
        """Weights or biases of query, key and value."""
        if not self.rotary:
            return torch.cat(parts)
        query, key, value = parts
        pairs = [with_adjacent_pairs(part, head_size=self.heads[1]) for part in (query, key)]
        return torch.cat([*pairs, value])

    def forward(self, x: Float[Tensor, "B S H"], inputs: BlockInputs) -> Float[Tensor, "B2 S2 H"]:
        """`LayerNorm(x + attention(x))`, or `x + attention(LayerNorm(x))` with `norm_first`.

        At `inputs.positions` only, as one row, where they are given.
        """
        projected = self._projected(self.norm.for_products(x) if self.norm_first else x, inputs)
        dropout = self.attention_dropout if self.training else 0.0
        context = inputs.layout.attend(projected, inputs.rotation, dropout=dropout).flatten(2)
        if inputs.positions is not None:
            x, context = inputs.layout.take(x, inputs.positions), inputs.layout.take(context, inputs.positions)
        x = add_residual(x, self.dropout(apply_dense(self.output, context, inputs.updates.get("output"))))
        return x if self.norm_first else self.norm(x)

    def probabilities(
        self, x: Float[Tensor, "B S H"], mask: Bool[Tensor, "B S"], inputs: BlockInputs
    ) -> Float[Tensor, "B A S S"]:
        """Attention probabilities of the padded batch `x`, without dropout."""
        projected = self._projected(self.norm(x) if self.norm_first else x, inputs)
        query, key, _ = rotate_heads(projected, inputs.rotation)
        return attention_probabilities(query, key, mask[:, None])

    def _projected(self, x: Float[Tensor, "B S H"], inputs: BlockInputs) -> Float[Tensor, "B S 3 A D"]:
        """Queries, keys and values of every head."""
        fused_qkv = inputs.fused_qkv or self.fused_qkv(inputs.updates)
        return F.linear(to_autocast_dtype(x), *fused_qkv).unflatten(-1, (3, *self.heads))


def gelu(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """GELU with the error function, by the fastest kernel for the device of `x`."""
    library = native_library(x)
    return native_gelu(library, "gelu", x) if library else F.gelu(x)


def gelu_new(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The tanh form of GELU, by the fastest kernel for the device of `x`."""
    if library := native_library(x):
        return native_gelu(library, "gelu_tanh", x)
    if x.is_cpu and not torch.compiler.is_compiling():
        return gelu_tanh(x)
    return F.gelu(x, approximate="tanh")


ACTIVATIONS: Final[dict[Activation, Callable[[Tensor], Tensor]]] = {
    "gelu": gelu,
    "gelu_new": gelu_new,
    "relu": F.relu,
    "silu": F.silu,
}
"""`gelu_new` is what `gelu` of google-research/albert computes."""
_NATIVE_FORMS: Final[dict[Callable[[Tensor], Tensor], Form]] = {gelu: "gelu", gelu_new: "gelu_tanh"}


def gated(
    activation: Callable[[Tensor], Tensor], gate: Float[Tensor, "*shape"], up: Float[Tensor, "*shape"]
) -> Float[Tensor, "*shape"]:
    """`activation(gate) * up`, by the fastest kernel for their device."""
    form = _NATIVE_FORMS.get(activation)
    if form and gate.shape == up.shape and gate.dtype == up.dtype and (library := native_library(gate, up)):
        return native_gated_gelu(library, form, gate, up)
    return activation(gate) * up


class FeedForward(nn.Module):
    """One stored feed-forward block. Source: `attention_ffn_block` of google-research/albert.

    The gated form is GEGLU of Shazeer 2020 (arXiv 2002.05202), equation 6.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        hidden, inner, bias = config.hidden_size, config.intermediate_size, config.use_bias
        self.up = nn.Linear(hidden, inner, bias=bias)
        self.gate = nn.Linear(hidden, inner, bias=bias) if config.gated_feed_forward else None
        self.down = nn.Linear(inner, hidden, bias=bias)
        self.norm = LayerNorm(hidden, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.activation = ACTIVATIONS[config.hidden_act]
        self.norm_first = config.norm_first

    def forward(self, x: Float[Tensor, "B S H"], updates: WeightUpdates = NO_UPDATES) -> Float[Tensor, "B S H"]:
        """`LayerNorm(x + f(x))`, or `x + f(LayerNorm(x))` with `norm_first`; f is the feed-forward layer."""
        if self.norm_first:
            return add_residual(x, self.dropout(self._feed_forward(self.norm.for_products(x), updates)))
        return self.norm(add_residual(x, self.dropout(self._feed_forward(x, updates))))

    def _feed_forward(self, x: Float[Tensor, "B S H"], updates: WeightUpdates) -> Float[Tensor, "B S H"]:
        read = to_autocast_dtype(x)
        up = apply_dense(self.up, read, updates.get("up"))
        if self.gate is None:
            inner = self.activation(up)
        else:
            inner = gated(self.activation, apply_dense(self.gate, read, updates.get("gate")), up)
        return apply_dense(self.down, inner, updates.get("down"))


class Embeddings(nn.Module):
    """Sum of word, token-type and absolute position embeddings, normalised. Source: `embedding_postprocessor`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.embedding_size)
        self.token_type = nn.Embedding(config.type_vocab_size, config.embedding_size)
        absolute = config.position_embedding == "absolute"
        self.position = nn.Embedding(config.max_position_embeddings, config.embedding_size) if absolute else None
        self.norm = LayerNorm(config.embedding_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self, input_ids: Int[Tensor, "B S"], token_type_ids: Int[Tensor, "B S"], positions: Int[Tensor, "#B S"]
    ) -> Float[Tensor, "B S E"]:
        """Embeddings of tokens at `positions` of their sequences; with rotary positions these have no embedding."""
        summed = self.word(input_ids) + self.token_type(token_type_ids)
        if self.position is not None:
            summed = summed + self.position(positions)
        return self.dropout(self.norm(summed))


def apply_dense(
    dense: Any, x: Float[Tensor, "*rows inputs"], update: Float[Tensor, "outputs inputs"] | None
) -> Float[Tensor, "*rows outputs"]:
    """Outputs of `nn.Linear` or of a dense layer with a LoRA adapter, after `update` is added to its weight."""
    return dense(x) if update is None else F.linear(x, dense.weight + update, dense.bias)


def to_autocast_dtype(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """`x`, cast once; autocast would cast it, and store the copy, for each product that reads it."""
    device = x.device.type
    return x.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else x


class MaskedLMHead(nn.Module):
    """Logits of the vocabulary; the output matrix is the word embeddings. Source: `get_masked_lm_output`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.embedding_size)
        self.norm = LayerNorm(config.embedding_size, eps=config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.activation = ACTIVATIONS[config.hidden_act]

    def forward(self, states: Float[Tensor, "*P H"], word_embeddings: Float[Tensor, "V E"]) -> Float[Tensor, "*P V"]:
        """Logits of the original tokens at the positions of `states`."""
        return F.linear(self._transformed(states), word_embeddings, self.bias)

    def loss(
        self, states: Float[Tensor, "P H"], word_embeddings: Float[Tensor, "V E"], labels: Int[Tensor, " P"]
    ) -> VocabularyLoss:
        """Summed loss of the logits, which are not stored."""
        transformed = to_autocast_dtype(self._transformed(states))
        return vocabulary_loss(transformed, to_autocast_dtype(word_embeddings), self.bias, labels)

    def log_probabilities(
        self,
        states: Float[Tensor, "P H"],
        word_embeddings: Float[Tensor, "V E"],
        labels: Int[Tensor, " P"],
        *,
        temperature: float = 1.0,
    ) -> Float[Tensor, " P"]:
        """The log probability of each label; the logits are divided by `temperature` and not stored. No gradients."""
        transformed = to_autocast_dtype(self._transformed(states) / temperature)
        bias = self.bias / temperature
        return vocabulary_log_probabilities(transformed, to_autocast_dtype(word_embeddings), bias, labels)

    def _transformed(self, states: Float[Tensor, "*P H"]) -> Float[Tensor, "*P E"]:
        return self.norm(self.activation(self.dense(states)))
