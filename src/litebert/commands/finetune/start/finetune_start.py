"""Everything that a fine-tuning run has before its first step."""

import logging
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from litebert.commands.finetune.data.run_data import RunData, read_data
from litebert.commands.finetune.data.task_objective import loss_weights, score_scale
from litebert.commands.finetune.earlier_run import weights_fingerprint
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.finetune.start.fit_heads import fit_heads
from litebert.commands.finetune.start.input_length import choose_input_settings
from litebert.commands.finetune.start.start_model import load_start, set_trainable, warn_untrained_positions
from litebert.commands.runs.run_directory import RunDirectory
from litebert.commands.runs.run_precision import warn_slow_bf16, with_measured_precision
from litebert.inference.evaluation_set import EvaluationSet
from litebert.inference.pipeline import Pipeline
from litebert.model.io.model_directory import spec_of
from litebert.model.layers.standardized_head import standardize_head
from litebert.tasks.types.registry import get_task_type
from litebert.training.distributed.context import DistributedContext

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class FinetuneStart:
    """Settings, examples and the model that is trained on them."""

    run: FinetuneRun
    """With the precision that was measured."""
    data: RunData
    dev: EvaluationSet
    pipeline: Pipeline
    """The model, with the longest input that its examples need."""
    loss_weights: np.ndarray | None
    """Weights of the loss: of each label, or one that all scores are multiplied by; None: 1."""
    lr_multipliers: dict[str, float]
    """The factor of the learning rate of each parameter, by name."""
    model_fingerprint: str
    """Fingerprint of the model directory that the run starts from; empty where it resumes, which keeps the recorded."""

    @classmethod
    def of(cls, run: FinetuneRun, directory: RunDirectory, world: DistributedContext) -> Self:
        """Read and prepare everything; a run that resumes then loads its own weights."""
        data = read_data(run)
        run.validate_postprocessing(data.task.task_type, data.task.labels)
        if run.tune_thresholds:
            logger.info(
                "tune_thresholds: scores on the development rows are cross-fitted, with thresholds of other folds"
            )
        weights = loss_weights(run, data.train)
        resumes = directory.has_checkpoint
        model_fingerprint = world.on_rank_zero(lambda: "" if resumes else weights_fingerprint(run))
        pipeline = _pipeline(run, data)
        run = with_measured_precision(run, spec_of(pipeline.model).config, world)
        pipeline = replace(pipeline, precision=run.train.precision)
        world.on_rank_zero(lambda: warn_slow_bf16(run.train.precision, world.device))
        if scale := score_scale(run, data.train):
            standardize_head(pipeline.model, mean=scale.mean, std=scale.std, keep_outputs=run.keep_head)
        if run.fits_heads and not resumes:
            fit_heads(run, data, pipeline, world)
        return cls(
            run=run,
            data=data,
            lr_multipliers=set_trainable(pipeline.model, run),
            dev=EvaluationSet.prepare(data.dev, data.task, pipeline),
            pipeline=pipeline,
            loss_weights=weights,
            model_fingerprint=model_fingerprint,
        )


def _pipeline(run: FinetuneRun, data: RunData) -> Pipeline:
    """The model that is trained, with the longest input that its examples need."""
    tokenizer, model = load_start(run, data.task)
    task_type = get_task_type(data.task.task_type)
    pipeline = Pipeline(
        model=model,
        tokenizer=tokenizer,
        task_type=task_type,
        labels=data.task.labels or (),
        settings=task_type.settings(),
        precision=run.train.precision,
    )
    config = spec_of(model).config
    limit = config.max_position_embeddings
    settings = choose_input_settings(run, data.train.examples, task_type, tokenizer, limit=limit)
    warn_untrained_positions(run, config, max_length=settings.max_length)
    return replace(pipeline, settings=settings)
