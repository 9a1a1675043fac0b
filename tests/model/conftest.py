"""A tiny member of the family and a batch for it."""

import pytest

from litebert.model.config import ModelConfig

from .builders import TokenBatch, padded_mask, random_batch


@pytest.fixture
def tiny_config() -> ModelConfig:
    return ModelConfig(
        hidden_size=32,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=48,
        embedding_size=16,
        vocab_size=60,
        max_position_embeddings=24,
        initializer_range=0.2,
    )


@pytest.fixture
def batch(tiny_config) -> TokenBatch:
    return random_batch(tiny_config, padded_mask([9, 5, 1]))
