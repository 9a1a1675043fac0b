"""What a directory or checkpoint is that is converted or averaged, and which are refused."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from litebert.errors import ConfigError
from litebert.files import INPUT_SETTINGS, PRETRAINING_SETTINGS, QUESTION_SETTINGS, TASK
from litebert.interop.tensor_bundle import index_file
from litebert.model.io.model_directory import SavedModel
from litebert.model.io.model_spec import CONFIG, ModelSpec

OF_THE_HEAD: Final = (TASK, INPUT_SETTINGS, QUESTION_SETTINGS, PRETRAINING_SETTINGS)
"""What says how a model's head was trained, beside config, weights and tokenizer."""


def is_tf_checkpoint(path: Path) -> bool:
    """Whether a path is a TensorFlow checkpoint: its prefix, its index or its directory."""
    if path.is_dir():
        return not (path / CONFIG).exists() and any(path.glob("*.index"))
    return path.suffix == ".index" or index_file(path).is_file()


def vocabulary_directory(path: Path) -> Path | None:
    """The directory of a checkpoint at `path`, or of its files, if it has a vocabulary."""
    directory = path if path.is_dir() else path.parent
    patterns = ("*.model", "vocab.txt", "tokenizer.json")
    return directory if any(any(directory.glob(pattern)) for pattern in patterns) else None


def validate_sources_stay(target: Path, sources: Iterable[Path]) -> None:
    """Raise ConfigError if a source lies in `target`, which is replaced as a whole."""
    for source in sources:
        if target.resolve() in source.resolve().parents:
            raise ConfigError(f"{target}: {source} lies in it and would be deleted; choose another directory")


def validate_no_adapters(saved: SavedModel, *, action: str) -> None:
    """Raise ConfigError for a model with LoRA adapters of its own, which cannot be converted or averaged (`action`)."""
    if saved.spec.adapters is None:
        return
    if not saved.spec.adapters.per_layer:
        raise ConfigError(
            f"{saved.directory}: a checkpoint whose LoRA adapters are not merged into the weights cannot be {action}; "
            "give the model of its run (RUN/model)"
        )
    raise ConfigError(
        f"{saved.directory}: a model with per-layer adapters cannot be {action}; load the directory with transformers "
        "(trust_remote_code=True), or fine-tune with adapters.per_layer=false, whose adapters are merged"
    )


def longest_input(files: Mapping[str, bytes], spec: ModelSpec) -> int:
    """Tokens that the model reads: those of the settings of its task, if these are kept, or of a `SentenceEmbedder`."""
    settings = json.loads(files.get(INPUT_SETTINGS, files.get(QUESTION_SETTINGS, b"{}")))
    positions = spec.config.max_position_embeddings
    return min(settings.get("max_length", positions), spec.max_length or positions, positions)
