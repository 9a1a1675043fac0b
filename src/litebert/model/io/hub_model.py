"""The base class of all models: a module that can be uploaded to the Hugging Face hub."""

from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from torch import nn

from litebert.model.io.model_spec import ProblemType

if TYPE_CHECKING:
    from litebert.model.io.push import PushResult


class HubModel(nn.Module):
    """A module with `push_to_hub`."""

    def push_to_hub(
        self,
        name: str,
        *,
        labels: Collection[str] = (),
        problem_type: ProblemType | None = None,
        extra_files: Mapping[str, bytes] | None = None,
        token: str | None = None,
        private: bool | None = None,
        revision: str | None = None,
    ) -> "PushResult":
        """Upload the model to the Hugging Face hub as `litebert.save_model` writes it.

        Args:
            name: OWNER/NAME on the hub; a repository that does not exist is created.
            labels: class names of a classifier, in the order of its logits.
            problem_type: of a classifier, for the loss that transformers computes.
            extra_files: name → content of further files; `tokenizer.files()` are those of a tokenizer.
            token: access token with write permission; None: that of `hf auth login`.
            private: whether a new repository is private; None: as the owner has set.
            revision: branch, which is created if there is none; None: the default branch.

        Raises:
            CheckpointError: the hub refuses the upload.
        """
        # The client of the hub is imported only when it is needed.
        from litebert.model.io.model_directory import save_model
        from litebert.model.io.push import push_to_hub

        with TemporaryDirectory() as directory:
            saved = save_model(
                self, Path(directory) / "model", labels=labels, problem_type=problem_type, extra_files=extra_files
            )
            return push_to_hub(saved, name, token=token, private=private, revision=revision)
