"""Which parameters a fine-tuning run trains, and how fast. Before: a model with its head. After: the trainer."""

import logging

from torch import nn

from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.model.layers.lora import attach
from litebert.model.param_groups import count_parameters, freeze, layer_depths

logger = logging.getLogger(__name__)


def set_trainable(model: nn.Module, run: FinetuneRun) -> dict[str, float]:
    """Attach adapters to `model` and freeze parts of it as `run` says; by name, factors of the learning rate."""
    if run.adapters:
        attach(model, run.adapters, seed=run.seed)
    freeze(model, run.freeze or ("encoder" if run.adapters else "nothing"))
    trained, all_of_them = count_parameters(model)
    logger.info(
        "training %s of %s parameters (%.2f %%)", f"{trained:,}", f"{all_of_them:,}", 100 * trained / all_of_them
    )
    distances = layer_depths(model)
    if run.layerwise_lr_decay < 1:
        steps = max(distances.values())
        logger.info(
            "learning rate times %g at each of %d steps from the head down: blocks, then embeddings",
            *(run.layerwise_lr_decay, steps),
        )
    return {name: run.layerwise_lr_decay**distance for name, distance in distances.items()}
