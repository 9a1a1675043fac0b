"""Downloads model directories from the Hugging Face hub."""

from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

from litebert.errors import CheckpointError
from litebert.files import MANIFEST, read_manifest
from litebert.model.presets import PRESETS
from litebert.settings import Settings

_WANTED = ["*.json", "*.safetensors", "*.model", "vocab.txt", MANIFEST]


class HubOptions(Settings):
    """Options of a download from the hub; no effect for a local directory."""

    revision: str | None = None
    """Branch, tag or commit; only a full commit hash is immutable. None: the default branch."""
    token: str | None = None
    """Access token for private models. None: the token of `hf auth login`, if any."""
    local_files_only: bool = False
    """Use the local cache only, without network access."""
    cache: Path | None = None
    """Cache directory. None: the default cache of `huggingface_hub`."""


def fetch(name: str, options: HubOptions) -> Path:
    """Download a model of the hub, or find it in the cache; pickles only if there are no other weights.

    Raises CheckpointError if there is no such model, no permission or no network, or for the name of a preset.
    """
    if name in PRESETS:
        instead = f"albert/{name}, its weights on the hub" if is_released(name) else "a model directory"
        raise CheckpointError(f"{name}: no such directory; it is an architecture without weights; give {instead}")
    from litebert.model.io.weight_files import PICKLE, has_weights  # imports torch

    directory = _snapshot(name, options, _WANTED)
    if (directory / MANIFEST).is_file():
        return _snapshot(name, options, list(read_manifest(directory)))
    return directory if has_weights(directory) else _snapshot(name, options, [PICKLE])


def is_released(preset: str) -> bool:
    """Whether the hub has weights of this architecture, as albert/NAME."""
    return preset.startswith("albert-") and preset.endswith(("-v1", "-v2"))


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
            f"{name}: no such directory, and not in the cache of the hub; check the path, or allow network access"
        ) from None
    except HFValidationError:
        raise CheckpointError(f"{name}: no such directory, and not a valid name on the hub; check the path") from None
    except (HfHubHTTPError, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        raise CheckpointError(f"{name}: no such directory, and not on the hub ({reason}); check the name") from None
    return Path(found)
