"""Model directories by the path of a model or of a run, or by a name on the Hugging Face hub."""

from pathlib import Path
from typing import Final

from litebert.errors import CheckpointError
from litebert.files import README, RUN_SETTINGS, TRAINER_STATE, path_of
from litebert.hub_download import HubOptions, download
from litebert.manifest import MANIFEST, read_manifest
from litebert.model.io.model_spec import CONFIG
from litebert.model.presets import PRESETS

HUB: Final = HubOptions()
_WANTED = ["*.json", "*.safetensors", "*.model", "vocab.txt", MANIFEST]


def model_directory(source: Path | str, *, hub: HubOptions = HUB) -> Path:
    """The model directory at a path, that of the run at a path, or that of a model of the hub.

    Only a string can be a name on the hub. Raises CheckpointError if there is no such model.
    """
    path = path_of(source)
    if path.is_dir():
        return local_model_directory(path)
    if path.exists():
        raise CheckpointError(f"{source}: is a file; give the directory that holds it")
    if isinstance(source, Path):
        raise CheckpointError(f"{source}: no such directory; give the path of a model directory")
    return fetch(source, hub)


def fetch(name: str, options: HubOptions) -> Path:
    """Download a model of the hub, or find it in the cache; pickles only if there are no other weights.

    Raises CheckpointError if there is no such model, no permission or no network, or for the name of a preset.
    """
    if name in PRESETS:
        instead = f"albert/{name}, its weights on the hub" if is_released(name) else "a model directory"
        raise CheckpointError(f"{name}: no such directory; it is an architecture without weights; give {instead}")
    from litebert.model.io.weight_files import PICKLE, has_weights  # imports torch

    directory = download(name, options, _WANTED)
    if (directory / MANIFEST).is_file():
        return download(name, options, [*read_manifest(directory), README])
    return directory if has_weights(directory) else download(name, options, [PICKLE])


def fetch_config(name: str) -> Path:
    """The directory with `config.json` of a model of the hub; the weights are not downloaded."""
    return download(name, HUB, [CONFIG])


def is_released(preset: str) -> bool:
    """Whether the hub has weights of this architecture, as albert/NAME."""
    return preset.startswith("albert-") and preset.endswith(("-v1", "-v2"))


def local_model_directory(path: Path | str) -> Path:
    """The model directory at `path`, or that of the run at `path`, on this machine only.

    Raises CheckpointError if the run has no model yet.
    """
    directory = path_of(path)
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
            f"{directory}: a checkpoint without config.json, of a Trainer that was given no model_files; give a model "
            "directory"
        )
    return directory
