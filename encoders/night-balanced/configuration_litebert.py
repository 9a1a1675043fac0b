"""Configuration of litebert models for transformers. Written by litebert beside the weights."""

from typing import Any

from transformers import PreTrainedConfig


class LitebertConfig(PreTrainedConfig):
    """An ALBERT encoder with any parameter sharing, and options of its block; the fields are those of litebert."""

    model_type = "litebert"

    vocab_size: int = 30_000
    embedding_size: int = 128
    embedding_projection: str = "if_needed"
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    sharing: str = "all"
    num_hidden_groups: int = 1
    inner_group_num: int = 1
    hidden_act: str = "gelu_new"
    hidden_dropout_prob: float = 0.0
    attention_probs_dropout_prob: float = 0.0
    classifier_dropout_prob: float = 0.1
    classifier_pooling: str = "cls"
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    position_embedding: str = "absolute"
    rope_theta: float = 10_000.0
    norm_first: bool = False
    gated_feed_forward: bool = False
    use_bias: bool = True
    recursion_lora_rank: int = 0
    adapters: dict[str, Any] | None = None
    pad_token_id: int | None = 0
    bos_token_id: int | None = 2
    eos_token_id: int | None = 3
    tie_word_embeddings: bool = True
