"""Model directories from the Hugging Face hub. Before: a name, `albert/albert-base-v2`. After: `directory.py`."""

from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

from litebert.errors import CheckpointError
from litebert.files import MANIFEST, read_manifest
from litebert.model.io.weight_files import PICKLE, has_weights
from litebert.settings import Settings

_WANTED = ["*.json", "*.safetensors", "*.model", MANIFEST]


class HubOptions(Settings):
    """How to fetch from the hub; nothing of this matters for a directory on disk."""

    revision: str | None = None
    """Branch, tag or commit; a full commit hash is the only one that cannot change. None: the newest."""
    token: str | None = None
    """Access token for private models. None: the one that `hf auth login` stored, if any."""
    local_files_only: bool = False
    """Use what was fetched before, without any network."""
    cache: Path | None = None
    """Where fetched files are kept. None: the hub's own cache."""


def fetch(name: str, options: HubOptions) -> Path:
    """The directory of a model of the hub, fetched if need be; old pickles only if it has no other weights.

    Raises CheckpointError where there is no such model, no permission or no network.
    """
    directory = _snapshot(name, options, _WANTED)
    if (directory / MANIFEST).is_file():
        return _snapshot(name, options, list(read_manifest(directory)))
    return directory if has_weights(directory) else _snapshot(name, options, [PICKLE])


def _snapshot(name: str, options: HubOptions, patterns: list[str]) -> Path:
    try:
        found = snapshot_download(
            name,
            revision=options.revision,
            token=options.token,
            local_files_only=options.local_files_only,
            cache_dir=options.cache,
            allow_patterns=patterns,
        )
    except LocalEntryNotFoundError:
        raise CheckpointError(
            f"{name}: no such directory, and the model was never fetched here; "
            f"check the path, or allow the network for the first fetch"
        ) from None
    except HFValidationError:
        raise CheckpointError(f"{name}: no such directory, and no name on the hub; check the path") from None
    except (HfHubHTTPError, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        raise CheckpointError(f"{name}: no such directory, and not on the hub ({reason}); check the name") from None
    return Path(found)
