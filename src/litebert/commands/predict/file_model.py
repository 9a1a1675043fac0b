"""What predicts the rows of a file: a model directory in torch, or an export directory in onnxruntime."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from litebert.commands.model_loading.exported_pipeline import ExportedFillMask, ExportedPipeline, load_exported
from litebert.commands.predict.predict_settings import PredictRun
from litebert.inference.backend import Backend
from litebert.inference.predictor import Predictor
from litebert.inference.task_pipeline import validate_no_threshold
from litebert.runtime.export_metadata import is_export
from litebert.settings import InferencePrecision
from litebert.tasks.types.extractive_qa.question_settings import NoAnswerThreshold


@dataclass(frozen=True)
class FileModel:
    """A loaded model."""

    backend: Backend | ExportedPipeline | ExportedFillMask
    """What predicts in torch or in onnxruntime; in torch also a model without a head for predictions."""
    threshold: NoAnswerThreshold | None = None
    """When a question has no answer; None for models that always answer."""

    @classmethod
    def load(cls, run: PredictRun) -> Self:
        """The model of `run`, with its no-answer threshold."""
        model = Path(run.model)
        if not is_export(model):
            options = {"precision": run.precision, "device": run.device, "threads": run.threads}
            predictor = Predictor.load(model, threshold=run.threshold, **options)
            return cls(predictor.backend, predictor.threshold)
        exported = load_exported(model, precision=run.precision, threads=run.threads)
        if isinstance(exported, ExportedPipeline):
            return cls(*exported.with_threshold(run.threshold))
        validate_no_threshold(exported.task, run.threshold)
        return cls(exported)

    @property
    def task(self) -> str:
        """Name of the task type, or `fill_mask` or `embedding`."""
        return self.backend.task

    @property
    def precision(self) -> InferencePrecision:
        """The arithmetic of the model; never `auto`."""
        return self.backend.precision
