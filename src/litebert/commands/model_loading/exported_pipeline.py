"""Export directories as pipelines for the commands; `litebert.runtime.Predictor`, which runs them, needs no torch."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

from litebert.errors import ConfigError
from litebert.files import TASK
from litebert.inference.task_pipeline import TaskPipeline
from litebert.manifest import MANIFEST, verify_manifest
from litebert.runtime.export_metadata import GRAPH_FILES, ExportMetadata, graph_precisions
from litebert.runtime.onnx_predictor import Predictor
from litebert.settings import InferencePrecision
from litebert.tasks.encoded import Encoded, Feature
from litebert.tasks.masked_text import DEFAULT_TOP_K, masked_feature
from litebert.tasks.readers.columns import SavedTask
from litebert.tasks.results import FilledMasks
from litebert.tasks.types.built_in_inference import BUILT_IN_INFERENCE
from litebert.tasks.types.registry import get_task_type
from litebert.tasks.types.task_type import TaskType

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ExportedPipeline(TaskPipeline):
    """A fine-tuned model that was exported, in onnxruntime."""

    predictor: Predictor
    directory: Path
    threads: int | None = None

    @classmethod
    def of(cls, predictor: Predictor, directory: Path, *, threads: int | None) -> Self:
        """The model of a predictor that was loaded from a directory."""
        metadata = predictor.metadata
        task_type = get_task_type(metadata.task)
        return cls(
            predictor=predictor,
            directory=directory,
            threads=threads,
            tokenizer=predictor.tokenizer,
            task_type=task_type,
            labels=metadata.labels,
            settings=task_type.settings.parse(metadata.settings, where=f"{directory}: metadata"),
            precision=cast(InferencePrecision, metadata.precision),
            place=str(directory),
            saved_task=SavedTask.stored(directory),
        )

    def in_fp32(self) -> Self | None:
        """The graph in fp32; None if the directory has none."""
        if self.precision == "fp32":
            return self
        if "fp32" not in graph_precisions(self.directory):
            return None
        predictor = Predictor.load(self.directory, precision="fp32", threads=self.threads)
        return self.of(predictor, self.directory, threads=self.threads)

    def _outputs(self, encoded: Encoded, *, rank: int, world_size: int) -> list[Any]:
        return self.predictor.outputs(encoded, self.task_type.inference.graph)[rank::world_size]


@dataclass(frozen=True)
class ExportedFillMask:
    """A masked language model that was exported, in onnxruntime."""

    predictor: Predictor

    @property
    def task(self) -> str:
        """`fill_mask`."""
        return self.predictor.task

    @property
    def precision(self) -> InferencePrecision:
        """That of the graph."""
        return cast(InferencePrecision, self.predictor.metadata.precision)

    def encode(self, text: str) -> Feature:
        """The sequence of a text; DataError for one without a mask or too long."""
        return masked_feature(text, self.predictor.tokenizer, max_length=self.predictor.metadata.max_length)

    def results(self, texts: Sequence[str], *, top_k: int = DEFAULT_TOP_K) -> list[FilledMasks]:
        """The `top_k` best candidates for each `[MASK]` of each text; DataError for a text without one or too long."""
        return self.predictor.fill_masks(texts, top_k=top_k)


def load_exported(
    directory: Path, *, precision: InferencePrecision = "auto", threads: int | None = None
) -> ExportedPipeline | ExportedFillMask:
    """The graph of a precision in an export directory; `auto` is fp32 if the directory has it.

    Raises CheckpointError without that graph, ConfigError for a model without a head for predictions.
    """
    predictor = Predictor.load(directory, precision=None if precision == "auto" else precision, threads=threads)
    if predictor.task == "fill_mask":
        return ExportedFillMask(predictor)
    _validate_fine_tuned(directory, predictor.task)
    if (directory / TASK).is_file() and (directory / MANIFEST).is_file():
        verify_manifest(directory, only=[TASK])
    pipeline = ExportedPipeline.of(predictor, directory, threads=threads)
    may_read_pairs = pipeline.task_type.reader.reads_pairs and not predictor.metadata.reads_single_texts
    if may_read_pairs and pipeline.saved_task is None:
        logger.warning(
            "%s: does not say which columns the model was trained on; if it reads pairs of texts, name the second one "
            "(--text-pair), or export the model again",
            directory,
        )
    return pipeline


def exported_task(directory: Path) -> tuple[TaskType, tuple[str, ...]]:
    """Task type and labels of a fine-tuned export, of which no graph is built; ConfigError for another one."""
    metadata = ExportMetadata.read(directory / GRAPH_FILES[graph_precisions(directory)[0]])
    _validate_fine_tuned(directory, metadata.task)
    return get_task_type(metadata.task), metadata.labels


def _validate_fine_tuned(directory: Path, task: str) -> None:
    if task == "fill_mask":
        raise ConfigError(f"{directory}: has no fine-tuned head; export a model directory from `finetune`")
    if task == "embedding":
        raise ConfigError(f"model: {directory} has no head for predictions; `litebert embed` has its embeddings")
    if task not in BUILT_IN_INFERENCE:
        raise ConfigError(f"model: {directory}: {task} is a task type of your own; give the model directory")
