"""How the texts of a fine-tuning run become sequences: the longest one, and what is read of longer texts."""

import logging
from collections.abc import Sequence
from math import ceil
from typing import Any, Final

import numpy as np

from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.errors import ConfigError
from litebert.randomness import rng_for
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.types.task_type import TaskType
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

QUANTILE: Final = 0.99
"""Share of the training examples that are not truncated."""
MANY_TRUNCATED: Final = 0.05
"""A larger share of truncated rows is a warning."""
MULTIPLE: Final = 8
LEAST: Final = 128
"""Tokens that a model reads of texts that are longer than those of training."""
MAX_EXAMPLES: Final = 10_000
"""Training examples that are looked at: more are drawn at random."""
_UNBOUNDED: Final = 1_000_000


def choose_input_settings(
    run: FinetuneRun, examples: Sequence[Any], task_type: TaskType, tokenizer: Tokenizer, *, limit: int
) -> InputSettings:
    """The settings by which the model reads its task; ConfigError for `long_texts` where it does not apply.

    `max_length` is `run.max_length`, or the 99th percentile of the lengths in tokens, rounded up to 8: from 128 to
    `limit`. Short rows have no padding, so a limit above their lengths costs nothing, and later texts may be longer.
    Logs the choice with the share of longer examples.
    """
    validate_long_texts(run, task_type)
    lengths = _lengths(examples, task_type, tokenizer)
    wanted = MULTIPLE * ceil(np.quantile(lengths, QUANTILE) / MULTIPLE)
    chosen = run.max_length or min(limit, max(LEAST, wanted))
    if run.max_length:
        reason = "as set"
    elif wanted <= limit:
        reason = f"99 % of the training rows have at most {wanted}"
    else:
        reason = f"all that the model reads; 99 % of the training rows have at most {wanted}"
    is_split, longer = task_type.windows or run.long_texts == "windows", float(np.mean(lengths > chosen))
    is_warning = longer > MANY_TRUNCATED and not is_split
    has_choice = _has_choice(task_type) and examples[0].text_pair is None
    logger.log(
        logging.WARNING if is_warning else logging.INFO,
        "max_length: %d tokens (%s); %.1f %% of the training rows are longer and %s; the longest has %d%s",
        *(chosen, reason, 100 * longer, "are read in several parts" if is_split else "are truncated", lengths.max()),
        "; long_texts=windows reads them whole" if is_warning and has_choice else "",
    )
    return task_type.settings(max_length=chosen, **({"long_texts": run.long_texts} if _has_choice(task_type) else {}))


def validate_long_texts(run: FinetuneRun, task_type: TaskType) -> None:
    """Raise ConfigError for `long_texts` of a task type that has no choice."""
    if run.long_texts != "truncate" and not _has_choice(task_type):
        what = "reads long inputs in parts anyway" if task_type.windows else "truncates long inputs"
        raise ConfigError(f"long_texts: {task_type.name} {what}; leave the setting out")


def _has_choice(task_type: TaskType) -> bool:
    return "long_texts" in task_type.settings.model_fields


def _lengths(examples: Sequence[Any], task_type: TaskType, tokenizer: Tokenizer) -> np.ndarray:
    if len(examples) > MAX_EXAMPLES:
        drawn = rng_for("lengths of inputs").permutation(len(examples))[:MAX_EXAMPLES]
        examples = [examples[index] for index in np.sort(drawn)]
    return task_type.inference.encode(examples, tokenizer, task_type.settings(max_length=_UNBOUNDED)).sequence_lengths
