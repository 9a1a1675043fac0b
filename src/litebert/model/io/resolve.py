"""Model directories by the path of a model, of a run, or of the run's settings."""

from pathlib import Path

from litebert.errors import CheckpointError
from litebert.model.io.model_spec import CONFIG

RUN_SETTINGS = "settings.yaml"


def resolve_model_directory(path: Path | str) -> Path:
    """The model directory at `path`, which may be a run directory; CheckpointError if the run has no model yet."""
    directory = Path(path)
    if (directory / CONFIG).exists() or not (directory / RUN_SETTINGS).exists():
        return directory
    model = directory / "model"
    if not model.is_dir():
        raise CheckpointError(f"{directory}: the run has no model yet; finish the run first")
    return model
