"""Which parameters a fine-tuning run trains, and how fast. Before: a model with its head. After: the trainer."""

import logging

from torch import nn

from litebert.model.adapters import attach
from litebert.model.parts import distances_from_head, freeze, trained_and_all
from litebert.runs.finetune_settings import FinetuneRun

logger = logging.getLogger(__name__)


def choose_parameters(model: nn.Module, run: FinetuneRun) -> dict[str, float]:
    """Attach adapters to `model` and freeze parts of it as `run` says; by name, factors of the learning rate."""
    if run.adapters:
        attach(model, run.adapters, seed=run.seed)
    freeze(model, run.freeze or ("encoder" if run.adapters else "nothing"))
    trained, all_of_them = trained_and_all(model)
    logger.info(
        "training %s of %s parameters (%.2f %%)", f"{trained:,}", f"{all_of_them:,}", 100 * trained / all_of_them
    )
    distances = distances_from_head(model)
    if run.layer_rate_decay < 1:
        steps = max(distances.values())
        logger.info(
            "learning rate times %g at each of %d steps from the head down: blocks, then embeddings",
            *(run.layer_rate_decay, steps),
        )
    return {name: run.layer_rate_decay**distance for name, distance in distances.items()}
