"""The fine-tuned model of a command: a model directory in torch, or an export directory in onnxruntime."""

from pathlib import Path
from typing import cast

from litebert.commands.model_arguments import ModelArguments
from litebert.commands.model_loading.exported_pipeline import ExportedPipeline, exported_task, load_exported
from litebert.device import resolve_device, usable_device
from litebert.errors import ConfigError
from litebert.inference.pipeline import Pipeline
from litebert.inference.task_pipeline import TaskPipeline
from litebert.runtime.export_metadata import is_export


def load_pipeline(model: Path, run: ModelArguments) -> TaskPipeline:
    """The model in a directory, with the precision, device and threads of a command.

    `threads` are those of an exported model; those of torch are set for the whole process.
    """
    if is_export(model):
        device_of(model, run)
        exported_task(model)
        return cast(ExportedPipeline, load_exported(model, precision=run.precision, threads=run.threads))
    return Pipeline.load(model, device=usable_device(run.device, run.precision), precision=run.precision)


def device_of(model: Path, run: ModelArguments) -> str:
    """The device of a command, resolved; ConfigError for an exported model on another one than the processor."""
    if not is_export(model):
        return resolve_device(run.device, run.precision)
    if run.device not in ("auto", "cpu"):
        raise ConfigError(f"device: {run.device!r}, but {model} is an exported model, which runs on the processor")
    return "cpu"
