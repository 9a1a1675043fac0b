"""`convert`: writes a checkpoint, with its tokenizer, in another format."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from litebert.errors import ConfigError
from litebert.interop.convert_weights import ConversionReport
from litebert.interop.convert_weights import convert as convert_weights
from litebert.interop.sentence_transformers_files import write_sentence_transformers_files
from litebert.interop.tensor_bundle import index_file
from litebert.model.io.hub import HubOptions, fetch
from litebert.model.io.model_spec import ModelName, TargetFormat, validate_target
from litebert.model.io.resolve import resolve_model_directory
from litebert.tokenization.tokenizer import Tokenizer


def convert(
    source: str,
    target: Path,
    *,
    to: TargetFormat,
    as_model: ModelName | None = None,
    labels: Collection[str] = (),
    allow_missing: Collection[str] = (),
    changes: Mapping[str, Any] | None = None,
    tokenizer: Path | None = None,
) -> ConversionReport:
    """Convert weights as `interop.convert_weights.convert` does, and add the tokenizer files.

    Args:
        source: a model or run directory, a name on the hub, or a TensorFlow checkpoint.
        target: the directory to write.
        to: the format; "sentence-transformers" writes the encoder as a `SentenceEmbedder`.
        as_model: another model than the source's.
        labels: class names of a classifier.
        allow_missing: modules to initialize at random if the source lacks them.
        changes: fields of the config to change.
        tokenizer: tokenizer directory or vocabulary file; None: the source's, if it has one.
    """
    if Path(source).is_dir():
        source = str(resolve_model_directory(source))
    used_tokenizer = _tokenizer(source, tokenizer)
    embeds = to == "sentence-transformers"
    if embeds:
        validate_target(to, as_model)
        _validate_tokenizer(source, used_tokenizer)
    report = convert_weights(
        source,
        target,
        to="litebert" if to == "sentence-transformers" else to,
        as_model="SentenceEmbedder" if embeds else as_model,
        labels=labels,
        allow_missing=allow_missing,
        changes=changes,
        tokenizer=used_tokenizer,
    )
    if embeds:
        write_sentence_transformers_files(target)
    return report


def _validate_tokenizer(source: str, tokenizer: Tokenizer | None) -> None:
    if tokenizer is None:
        raise ConfigError(f"{source}: has no tokenizer, which sentence-transformers needs; give --tokenizer")


def _tokenizer(source: str, path: Path | None) -> Tokenizer | None:
    """The tokenizer at `path`, or of the source, if it has one."""
    if path is not None:
        return Tokenizer.load(path)
    directory = _directory(source)
    vocabulary = [*directory.glob("*.model"), *directory.glob("vocab.txt")]
    return Tokenizer.load(directory) if vocabulary else None


def _directory(source: str) -> Path:
    """The directory of the checkpoint's files."""
    path = Path(source)
    if path.is_dir():
        return path
    return path.parent if path.is_file() or index_file(path).is_file() else fetch(source, HubOptions())
