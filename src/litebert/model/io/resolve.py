"""Model directories by the path of a model or of a run."""

from pathlib import Path

from litebert.errors import CheckpointError
from litebert.model.io.model_spec import CONFIG

RUN_SETTINGS = "settings.yaml"


def resolve_model_directory(path: Path | str) -> Path:
    """The model directory at `path`, or that of the run at `path`; CheckpointError if the run has no model yet."""
    directory = Path(path)
    if (directory / CONFIG).exists():
        return directory
    if (directory / "model" / CONFIG).exists():
        return directory / "model"
    if (directory / RUN_SETTINGS).exists():
        if (directory / "runs").is_dir():
            raise CheckpointError(
                f"{directory}: a sweep; give the runs of its trials, {directory}/runs/* (`ensemble` takes several, the "
                "other commands take one)"
            )
        raise CheckpointError(f"{directory}: the run has no model yet; finish the run first")
    return directory
