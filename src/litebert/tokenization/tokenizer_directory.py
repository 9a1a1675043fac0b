"""Tokenizer directories: `spiece.model` (or `vocab.txt`), `tokenizer.json`, `tokenizer_config.json`, `SHA256SUMS`.

Those of transformers 5 have no vocabulary file: then `tokenizer.json` is read.
"""

import json
import re
from pathlib import Path
from typing import Final

from litebert.errors import ConfigError, DataError
from litebert.files import json_bytes, path_of
from litebert.manifest import MANIFEST, verify_manifest
from litebert.tokenization.sentencepiece_model import SentencePieceModel
from litebert.tokenization.text_settings import TextSettings
from litebert.tokenization.tokenizer_json import read_tokenizer_json
from litebert.tokenization.transformers_files import CONFIG_FILE, TOKENIZER_FILE, text_settings, tokenizer_config
from litebert.tokenization.wordpiece_model import WordPieceModel

SubwordModel = SentencePieceModel | WordPieceModel
"""A vocabulary and its segmentation."""
_HUB_NAME: Final = re.compile(r"[\w.-]+/[\w.-]+")
_HUB_FILES: Final = ["*.model", "vocab.txt", TOKENIZER_FILE, CONFIG_FILE, MANIFEST]


def read_model(source: Path | str) -> SubwordModel:
    """The vocabulary and settings of a directory or of the hub, or a vocabulary file with the default settings."""
    path = _local(source)
    if path.is_file():
        return _build(path, TextSettings())
    vocabulary = _vocabulary_file(path)
    if (path / MANIFEST).is_file():
        files = (vocabulary.name, SentencePieceModel.file_name, WordPieceModel.file_name, CONFIG_FILE, TOKENIZER_FILE)
        verify_manifest(path, only=files, error=DataError)
    config = path / CONFIG_FILE
    return _build(vocabulary, _settings(config) if config.is_file() else TextSettings())


def _local(source: Path | str) -> Path:
    """The file or directory; of a run that of its model. Only a string can be a name on the hub."""
    path = path_of(source)
    if isinstance(source, str) and not path.exists() and _HUB_NAME.fullmatch(source):
        from litebert.hub_download import HubOptions, download

        return download(source, HubOptions(), _HUB_FILES)
    is_run = (path / "model" / "config.json").exists() and not (path / "config.json").exists()
    return path / "model" if is_run else path


def tokenizer_files(model: SubwordModel, *, max_length: int) -> dict[str, bytes]:
    """Name → content of the files of a tokenizer directory; `max_length` is the longest input of the model."""
    return {
        TOKENIZER_FILE: json_bytes(model.transformers_tokenizer()),
        CONFIG_FILE: json_bytes(tokenizer_config(model.settings, model.specials, max_length=max_length)),
        model.file_name: model.content,
    }


def _vocabulary_file(directory: Path) -> Path:
    """The vocabulary of a directory; releases of google-research/albert name it `30k-clean.model`."""
    if not directory.is_dir():
        raise DataError(f"{directory}: no such file or directory; give a tokenizer directory or a vocabulary file")
    models = sorted(directory.glob("*.model"))
    named = [directory / kind.file_name for kind in (SentencePieceModel, WordPieceModel)]
    for candidate in [*named, *(models if len(models) == 1 else []), directory / TOKENIZER_FILE]:
        if candidate.is_file():
            return candidate
    expected = ", ".join(path.name for path in named)
    raise DataError(f"{directory}: no tokenizer here: expected {expected} or {TOKENIZER_FILE}; give another directory")


def _build(path: Path, settings: TextSettings) -> SubwordModel:
    if path.suffix == ".json":
        return read_tokenizer_json(_content(path), settings, where=str(path))
    kind = WordPieceModel if path.suffix == ".txt" else SentencePieceModel
    return kind(_content(path), settings, where=str(path))


def _settings(path: Path) -> TextSettings:
    """The settings in a `tokenizer_config.json`."""
    content = _content(path)
    try:
        config = json.loads(content)
        if isinstance(config, dict):
            return text_settings(config, where=str(path))
    except ConfigError as error:
        raise DataError(str(error)) from None
    except ValueError:
        raise DataError(f"{path}: not a JSON file; take a fresh copy") from None
    raise DataError(f"{path}: expected a JSON object, found {type(config).__name__}; take a fresh copy")


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from None
