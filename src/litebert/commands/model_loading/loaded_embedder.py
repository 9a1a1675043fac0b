"""The encoder of a command that embeds: that of a model directory in torch, or of an export in onnxruntime."""

from pathlib import Path

from litebert.commands.model_arguments import ModelArguments
from litebert.commands.model_loading.loaded_pipeline import device_of
from litebert.inference.embeddings.embedding_settings import EmbeddingSettings
from litebert.inference.embeddings.text_embedder import TextEmbedder
from litebert.inference.prediction_methods import EmbeddingOptions
from litebert.inference.predictor import Predictor
from litebert.runtime.export_metadata import is_export
from litebert.runtime.onnx_predictor import Predictor as ExportedPredictor


def load_embedder(model: Path, settings: EmbeddingSettings, run: ModelArguments) -> TextEmbedder:
    """The encoder in a directory, with the precision, device and threads of a command.

    Raises CheckpointError for an export without the graph of that precision, ConfigError for more dimensions or tokens
    than the encoder has.
    """
    if not is_export(model):
        predictor = Predictor.load(model, precision=run.precision, device=run.device, threads=run.threads)
        return predictor.embedder(settings)
    device_of(model, run)
    precision = None if run.precision == "auto" else run.precision
    exported = ExportedPredictor.load(model, precision=precision, threads=run.threads)
    return exported.embedder(EmbeddingOptions(**settings.model_dump()))
