"""What a model limits: settings that do not fit it are refused before torch is imported."""

from collections.abc import Sequence

from litebert.errors import ConfigError, LitebertError
from litebert.files import path_of
from litebert.model.config import ModelConfig
from litebert.model.io.hub import local_model_directory
from litebert.model.io.model_spec import read_model_spec
from litebert.model.sharing_schedule import first_layers


def validate_fits_saved_model(model: str, *, max_length: int | None, elastic_depth: Sequence[int]) -> None:
    """Raise ConfigError for settings that do not fit the model, if it is at a path."""
    if not path_of(model).is_dir():
        return
    try:
        config = read_model_spec(local_model_directory(model)).config
    except LitebertError:  # which the run itself reports
        return
    validate_fits_model(config, max_length=max_length, elastic_depth=elastic_depth)


def validate_fits_model(config: ModelConfig, *, max_length: int | None, elastic_depth: Sequence[int]) -> None:
    """Raise ConfigError for more tokens than the model has positions, or for numbers of layers that it cannot have."""
    if max_length is not None and max_length > config.max_position_embeddings:
        raise ConfigError(
            f"max_length: {max_length} tokens, but the model reads {config.max_position_embeddings}; reduce it"
        )
    for layers in elastic_depth:
        if layers == config.num_hidden_layers:
            raise ConfigError(
                f"elastic_depth: {layers} are all layers of the model, which are trained anyway; remove it"
            )
        try:
            first_layers(config, layers)
        except ConfigError as error:
            raise ConfigError(f"elastic_depth: {error}") from None
