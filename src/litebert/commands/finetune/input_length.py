"""The longest input of a fine-tuning run, chosen from its training examples."""

import logging
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.inference.pipeline import Pipeline
from litebert.randomness import rng_for

logger = logging.getLogger(__name__)

QUANTILE: Final = 0.99
"""Share of the training examples that are not truncated."""
MULTIPLE: Final = 8
MAX_EXAMPLES: Final = 10_000
"""Training examples that are looked at: more are drawn at random."""
_UNBOUNDED: Final = 1_000_000


def choose_max_length(run: FinetuneRun, examples: Sequence[Any], pipeline: Pipeline, *, limit: int) -> int:
    """`run.max_length`, or the 99th percentile of the lengths in tokens, rounded up to 8, at most `limit`.

    Logs the choice with the share of longer examples. The settings of `pipeline` are not used.
    """
    lengths = _lengths(examples, pipeline)
    chosen = run.max_length or min(limit, _rounded_up(float(np.quantile(lengths, QUANTILE))))
    what = "are read in several parts" if pipeline.task_type.windows else "are truncated"
    logger.info(
        "max_length: %d tokens (%s); %.1f %% of the training rows are longer and %s; the longest has %d",
        *(chosen, "as set" if run.max_length else "99 % of the training rows have at most as many"),
        *(100 * float(np.mean(lengths > chosen)), what, lengths.max()),
    )
    return chosen


def _lengths(examples: Sequence[Any], pipeline: Pipeline) -> np.ndarray:
    if len(examples) > MAX_EXAMPLES:
        drawn = rng_for("lengths of inputs").permutation(len(examples))[:MAX_EXAMPLES]
        examples = [examples[index] for index in np.sort(drawn)]
    task_type = pipeline.task_type
    return task_type.encode(examples, pipeline.tokenizer, task_type.settings(max_length=_UNBOUNDED)).lengths


def _rounded_up(length: float) -> int:
    return MULTIPLE * -(-int(np.ceil(length)) // MULTIPLE)
