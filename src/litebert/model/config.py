"""`ModelConfig`: the settings of one architecture. Torch-free, so that the command line checks them at once."""

from typing import Final, Literal

from pydantic import Field, model_validator

from litebert.settings import Settings

Sharing = Literal["all", "attention", "feed_forward", "none"]
Activation = Literal["gelu", "gelu_new", "relu", "silu"]
Projection = Literal["if_needed", "always"]
PositionEmbedding = Literal["absolute", "rotary"]
Pooling = Literal["mean", "cls"]
MAX_LAYERS: Final = 1000
"""Many times the depth of any encoder: every layer is an object, so that more of them exhaust the memory."""
BLOCK_FIELDS: Final = ("position_embedding", "norm_first", "gated_feed_forward", "use_bias", "recursion_lora_rank")
"""Fields that make another block than ALBERT's."""


class ModelConfig(Settings):
    """One architecture: the fields of a released `config.json` that matter, and `sharing`."""

    hidden_size: int = Field(gt=0)
    """Width of the encoder, H."""
    num_hidden_layers: int = Field(gt=0, le=MAX_LAYERS)
    """Depth, L."""
    num_attention_heads: int = Field(gt=0)
    """Heads, A; must divide hidden_size."""
    intermediate_size: int = Field(gt=0)
    """Inner width of the feed-forward blocks, I; 4 H in all released models."""
    embedding_size: int = Field(default=128, gt=0)
    """Width of the embedding tables, E."""
    embedding_projection: Projection = "if_needed"
    """Dense layer from E to H: `if_needed`: where E differs from H, as google-research/albert;
    `always`: as transformers."""
    sharing: Sharing = "all"
    """What the layers of a group share. Source: ALBERT, table 4."""
    num_hidden_groups: int = Field(default=1, gt=0)
    """Groups of consecutive layers; layers share parameters only inside their group."""
    inner_group_num: int = Field(default=1, gt=0, le=MAX_LAYERS)
    """Blocks applied one after another in each layer: num_hidden_layers · inner_group_num blocks run in all."""
    hidden_act: Activation = "gelu_new"
    """Activation: `gelu` is the exact (erf) form, `gelu_new` the tanh form, which google-research/albert calls gelu."""
    hidden_dropout_prob: float = Field(default=0.0, ge=0, lt=1)
    """Dropout on the embeddings and on the output of every attention and feed-forward block."""
    attention_probs_dropout_prob: float = Field(default=0.0, ge=0, lt=1)
    """Dropout on the attention probabilities."""
    classifier_dropout_prob: float = Field(default=0.1, ge=0, lt=1)
    """Dropout before the classifiers of the fine-tuning heads."""
    classifier_pooling: Pooling = "cls"
    """What the classifiers of a sequence and of choices read: `cls`: the hidden state of the first token, as ALBERT;
    `mean`: the mean of the hidden states of all tokens."""
    vocab_size: int = Field(default=30_000, gt=0)
    """Number of tokens, V."""
    max_position_embeddings: int = Field(default=512, gt=0)
    """Longest sequence."""
    type_vocab_size: int = Field(default=2, ge=2)
    """Number of token types (segments)."""
    initializer_range: float = Field(default=0.02, gt=0)
    """Standard deviation of the truncated normal of the initial weights."""
    layer_norm_eps: float = Field(default=1e-12, gt=0)
    """Added to the variance in every LayerNorm."""
    position_embedding: PositionEmbedding = "absolute"
    """`absolute`: a learned table, as ALBERT; `rotary`: queries and keys are rotated by position (RoFormer)."""
    rope_theta: float = Field(default=10_000.0, gt=1)
    """Base of the rotary frequencies."""
    norm_first: bool = False
    """Pre-norm blocks, x + f(LayerNorm(x)), and a LayerNorm after the last one; false: post-norm, as ALBERT."""
    gated_feed_forward: bool = False
    """Feed-forward act(gate x) · up x of width I each (GEGLU if `hidden_act` is GELU); false: act(up x), as ALBERT."""
    use_bias: bool = True
    """Whether the dense layers of the blocks have biases."""
    recursion_lora_rank: int = Field(default=0, ge=0)
    """Rank of a low-rank update of the shared dense layers, with its own weights in each layer; 0: none."""

    @property
    def head_size(self) -> int:
        """Width of one attention head, D."""
        return self.hidden_size // self.num_attention_heads

    @property
    def has_projection(self) -> bool:
        """Whether a dense layer maps the embeddings from E to H."""
        return self.embedding_projection == "always" or self.embedding_size != self.hidden_size

    @property
    def non_albert_fields(self) -> tuple[str, ...]:
        """Fields by which the block differs from ALBERT's, so that other implementations of ALBERT cannot run it."""
        return tuple(name for name in BLOCK_FIELDS if getattr(self, name) != type(self).model_fields[name].default)

    @model_validator(mode="after")
    def _check(self) -> "ModelConfig":
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"hidden_size {self.hidden_size} is not divisible by num_attention_heads {self.num_attention_heads}; "
                f"choose a multiple"
            )
        if self.num_hidden_groups > self.num_hidden_layers:
            raise ValueError(
                f"num_hidden_groups {self.num_hidden_groups} exceeds num_hidden_layers {self.num_hidden_layers}, "
                f"so some groups would never run; use at most one group a layer"
            )
        if self.sharing == "none" and self.num_hidden_groups not in (1, self.num_hidden_layers):
            raise ValueError(
                f"sharing 'none' gives every layer its own parameters, which num_hidden_groups "
                f"{self.num_hidden_groups} contradicts; leave it 1 or use sharing 'all'"
            )
        if self.position_embedding == "rotary" and self.head_size % 2:
            raise ValueError(
                f"rotary position_embedding rotates pairs of dimensions, but heads have width {self.head_size}; "
                f"choose an even hidden_size / num_attention_heads"
            )
        if self.recursion_lora_rank and (self.sharing != "all" or self.num_hidden_groups == self.num_hidden_layers):
            raise ValueError(
                f"recursion_lora_rank {self.recursion_lora_rank} needs blocks that several layers share; "
                f"use sharing 'all' with fewer groups than layers, or rank 0"
            )
        return self


Shapes = dict[str, tuple[int, int]]
"""Name of a dense layer → (inputs, outputs)."""


def attention_shapes(config: ModelConfig) -> Shapes:
    """The dense layers of an attention block."""
    return dict.fromkeys(("query", "key", "value", "output"), (config.hidden_size, config.hidden_size))


def feed_forward_shapes(config: ModelConfig) -> Shapes:
    """The dense layers of a feed-forward block."""
    up = (config.hidden_size, config.intermediate_size)
    return {"up": up, **({"gate": up} if config.gated_feed_forward else {}), "down": up[::-1]}
