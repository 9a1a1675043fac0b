"""Model directories small enough to make in a moment."""

import pytest

from support.models.saved_models import save_models


@pytest.fixture(scope="session")
def config(small_config):
    return small_config.replace(num_hidden_layers=2, max_position_embeddings=48)


@pytest.fixture(scope="session")
def saved(tiny_tokenizer, config, tmp_path_factory):
    """The directory of a model by its name."""
    return save_models(tmp_path_factory.mktemp("models"), tiny_tokenizer, config)
