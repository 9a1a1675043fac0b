"""Exported models, one for each task."""

import pytest

from support.models.saved_models import save_models


@pytest.fixture(scope="session")
def saved(tiny_tokenizer, small_config, tmp_path_factory):
    """The directory of a model by its name."""
    config = small_config.replace(num_hidden_layers=2, max_position_embeddings=48)
    return save_models(tmp_path_factory.mktemp("models"), tiny_tokenizer, config)


@pytest.fixture(scope="session")
def exported(saved, tmp_path_factory):
    """A directory with the export of each model by its name; that of the classifier in both precisions."""
    from litebert.export.export_model import export_model

    root = tmp_path_factory.mktemp("exports")
    for name, directory in saved.items():
        export_model(directory, root / name, precisions=("fp32", "int8") if name == "classifier" else ("fp32",))
    return root
