"""Uploads model directories to the Hugging Face hub."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from huggingface_hub import HfApi
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id

from litebert.errors import CheckpointError, ConfigError
from litebert.manifest import MANIFEST, verify_manifest
from litebert.model.io.hub import local_model_directory
from litebert.model.io.model_spec import CONFIG, read_model_spec

_EARLIER_WEIGHTS: Final = [
    *("*.safetensors", "*.safetensors.index.json", "pytorch_model*.bin", "pytorch_model.bin.index.json"),
    *("*_litebert.py", MANIFEST),
]
"""Files of an earlier upload that would be read instead of those of this one; what is uploaded is not deleted."""


@dataclass(frozen=True)
class PushResult:
    """A model on the hub."""

    url: str
    """Of the commit."""
    files: int

    def to_text(self) -> str:
        """One line."""
        return f"{self.url}: {self.files} files uploaded"


def push_to_hub(
    model: Path | str,
    name: str,
    *,
    token: str | None = None,
    private: bool | None = None,
    revision: str | None = None,
) -> PushResult:
    """Upload the model directory of a model or run as one commit; the repository is created if there is none.

    Args:
        model: a model or run directory.
        name: OWNER/NAME on the hub.
        token: access token with write permission; None: that of `hf auth login`.
        private: whether a new repository is private; None: as the owner has set.
        revision: branch, which is created if there is none; None: the default branch.

    Raises:
        ConfigError: `name` cannot be a name on the hub.
        CheckpointError: there is no complete model, or the hub refuses the upload.
    """
    try:
        validate_repo_id(name)
    except HFValidationError:
        raise ConfigError(f"{name[:96]!r}: not a name on the hub; give it as OWNER/NAME") from None
    from litebert.model.io.weight_files import has_weights  # imports torch

    directory = local_model_directory(model)
    if not (directory / CONFIG).is_file():
        raise CheckpointError(f"{directory}: no {CONFIG} here; give a model or run directory")
    read_model_spec(directory)
    if not has_weights(directory):
        raise CheckpointError(f"{directory}: no weights here; give a complete model directory")
    if (directory / MANIFEST).is_file():
        verify_manifest(directory)
    api = HfApi(token=token)
    try:
        api.create_repo(name, private=private, exist_ok=True)
        if revision is not None:
            api.create_branch(name, branch=revision, exist_ok=True)
        commit = api.upload_folder(
            repo_id=name,
            folder_path=directory,
            revision=revision,
            commit_message="Upload a litebert model",
            delete_patterns=_EARLIER_WEIGHTS,
        )
    except Exception as error:
        # The client passes on the errors of its HTTP library, which is another one in each of its major versions.
        reason = str(error).strip().split("\n")[0].partition("] ")
        raise CheckpointError(
            f"{name}: not uploaded ({reason[2] or reason[0]}); check the name, the token and the network"
        ) from error
    return PushResult(str(commit.commit_url), sum(path.is_file() for path in directory.rglob("*")))
