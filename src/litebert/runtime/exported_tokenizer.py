"""The tokenizer of an export directory, without pydantic."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from litebert.errors import CheckpointError
from litebert.runtime.export_metadata import ExportMetadata
from litebert.tokenization.normalize import normalize
from litebert.tokenization.sentencepiece_model import SentencePieceModel
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.wordpiece_model import WordPieceModel

_VOCABULARIES: Final = {kind.file_name: kind for kind in (SentencePieceModel, WordPieceModel)}


@dataclass(frozen=True)
class PlainTextSettings:
    """`TextSettings` without pydantic."""

    lowercase: bool
    keep_accents: bool
    digit_comma: bool

    def normalize(self, text: str) -> str:
        """The text, normalized."""
        return normalize(text, lowercase=self.lowercase, keep_accents=self.keep_accents)

    def to_dict(self) -> dict[str, bool]:
        """Plain values."""
        return asdict(self)

    def replace(self, **changes: bool) -> Self:
        """A copy with some fields changed."""
        return replace(self, **changes)


def load_tokenizer(directory: Path, metadata: ExportMetadata) -> Tokenizer:
    """The tokenizer with which the model was exported; CheckpointError if the vocabulary file is another one."""
    path = directory / metadata.vocabulary
    if metadata.vocabulary not in _VOCABULARIES or not path.is_file():
        raise CheckpointError(f"{path}: missing; copy the vocabulary of the exported model there")
    try:
        settings: Any = PlainTextSettings(**metadata.text_settings)
    except TypeError:
        raise CheckpointError(f"{directory}: the metadata are damaged; export the model again") from None
    tokenizer = Tokenizer(_VOCABULARIES[metadata.vocabulary](path.read_bytes(), settings, where=str(path)))
    if tokenizer.fingerprint != metadata.tokenizer:
        raise CheckpointError(
            f"{path}: fingerprint {tokenizer.fingerprint[:12]}…, the model was exported with "
            f"{metadata.tokenizer[:12]}…; take the vocabulary of the export directory"
        )
    return tokenizer
