"""Model directories by the path of a model or of a run, or by a name on the hub."""

from pathlib import Path

from litebert.errors import CheckpointError
from litebert.model.io.hub import HubOptions, fetch
from litebert.model.io.model_spec import CONFIG

RUN_SETTINGS = "settings.yaml"
TRAINER_STATE = "trainer_state.json"


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
    if (directory / TRAINER_STATE).exists():
        raise CheckpointError(
            f"{directory}: a checkpoint to resume from, without vocabulary and labels; give the run, or one of its "
            "milestones (train.milestones keeps models of chosen steps)"
        )
    return directory


def existing_or_from_hub(path: Path) -> Path:
    """`path` if it exists, or else the model of the hub with this name, downloaded or from the cache."""
    return path if path.exists() else fetch(path.as_posix(), HubOptions())


def local_model_directory(source: Path | str, *, hub: HubOptions) -> Path:
    """The model directory at a path, or that of a model of the hub, downloaded or from the cache.

    Only a string can be a name on the hub. Raises CheckpointError if there is no such model.
    """
    is_name = isinstance(source, str) and not Path(source).exists()
    return fetch(source, hub) if is_name else resolve_model_directory(source)
