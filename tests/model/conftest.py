"""A tiny model, a batch for it, and a process that compiles."""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest
import torch

from litebert.model.config import ModelConfig
from support.models.model_builders import TokenBatch, padded_mask, random_batch


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


@pytest.fixture(scope="session")
def unchecked() -> Iterator[Callable[..., Any]]:
    """Calls functions of `unchecked.py` in a process without shape checks, which torch's compiler cannot trace."""
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        yield lambda function, *arguments: pool.submit(function, *arguments).result()
