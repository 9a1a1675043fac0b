"""litebert: ALBERT, complete, from raw text to a served model.

The walk: tokenization → corpus → training ← model → checkpoints → tasks → inference, interop → analysis.
Importing this package imports no torch; the public names below are loaded when first used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "ModelConfig": "litebert.model.config",
    "preset": "litebert.model.presets",
    "ForPretraining": "litebert.model.models",
    "ForMaskedLM": "litebert.model.models",
    "ForSequenceClassification": "litebert.model.models",
    "ForMultipleChoice": "litebert.model.models",
    "ForTokenClassification": "litebert.model.models",
    "ForQuestionAnswering": "litebert.model.models",
    "ForQuestionAnsweringWithNoAnswer": "litebert.model.models",
    "SentenceEmbedder": "litebert.model.models",
    "load_model": "litebert.model.io.model_directory",
    "save_model": "litebert.model.io.model_directory",
    "Tokenizer": "litebert.tokenization.tokenizer",
    "Predictor": "litebert.inference.predictor",
    "LitebertError": "litebert.errors",
    "ConfigError": "litebert.errors",
    "DataError": "litebert.errors",
    "CheckpointError": "litebert.errors",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'litebert' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
