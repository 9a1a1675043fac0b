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
    "train_tokenizer": "litebert.api.training_runs",
    "build_corpus": "litebert.api.training_runs",
    "pretrain": "litebert.api.training_runs",
    "adapt": "litebert.api.training_runs",
    "finetune": "litebert.api.training_runs",
    "evaluate": "litebert.api.model_use",
    "predict": "litebert.api.model_use",
    "embed": "litebert.api.model_use",
    "TextClassifier": "litebert.api.estimators",
    "TextRegressor": "litebert.api.estimators",
    "push_to_hub": "litebert.model.io.push",
    "PretrainDataset": "litebert.api.pretrain_dataset",
    "TrainedModel": "litebert.api.api_results",
    "EvaluationResult": "litebert.api.api_results",
    "Predictions": "litebert.api.api_results",
    "Callback": "litebert.training.callbacks.callback",
    "EarlyStopping": "litebert.training.callbacks.early_stopping",
    "progress_display": "litebert.training.callbacks.progress_display",
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
