"""One application with a model for every task type."""

import pytest

from support.models.saved_models import save_models

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")
pytest.importorskip("httpx")


@pytest.fixture(scope="session")
def saved(tiny_tokenizer, small_config, tmp_path_factory):
    """The directory of a model by its name."""
    config = small_config.replace(num_hidden_layers=2, max_position_embeddings=96)
    return save_models(tmp_path_factory.mktemp("served"), tiny_tokenizer, config)


@pytest.fixture(scope="session")
def application(saved):
    from support.programs.serving import Application

    with Application(*saved.values(), max_batch_tokens=128) as running:
        yield running
