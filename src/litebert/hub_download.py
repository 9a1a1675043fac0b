"""Files of a model on the Hugging Face hub."""

from pathlib import Path
from typing import Final

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

from litebert.errors import CheckpointError
from litebert.settings import Settings

ENCODERS: Final = (
    "encoders/tiny",
    "encoders/night",
    "encoders/night-balanced",
    "encoders/night-large",
    "encoders/night-large-masked",
    "encoders/night-unshared",
)
"""Model directories in the repository of litebert. Elsewhere their relative paths look like names on the hub."""


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


def download(name: str, options: HubOptions, patterns: list[str]) -> Path:
    """The directory with the files of a repository that match `patterns`, downloaded or from the cache.

    Raises CheckpointError if there is no such repository, no permission or no network.
    """
    if Path(name).as_posix() in ENCODERS:
        raise CheckpointError(
            f"{name}: no such directory here; it is a directory of the repository of litebert, not a model of the hub; "
            f"give its path in a clone, such as /path/to/clone/{name}"
        )
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
