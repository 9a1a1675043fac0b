"""Duplicate-token heads fitted to the training examples, before fine-tuning."""

import logging
from collections.abc import Iterator
from typing import cast

import numpy as np
import torch
from torch import Tensor

from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.finetune.setup import RunData
from litebert.errors import ConfigError, DataError
from litebert.inference.pipeline import Pipeline
from litebert.model.encoder import Encoder
from litebert.model.initialization.fitted_heads import attention_to_equal_tokens, fit_duplicate_token_heads_
from litebert.model.io.model_directory import spec_of
from litebert.model.model_inputs import ModelInputs
from litebert.randomness import rng_for
from litebert.training.distributed.context import DistributedContext

logger = logging.getLogger(__name__)
MAX_EXAMPLES, MAX_TOKENS, MAX_LENGTH, BATCH_SIZE = 2048, 65_536, 128, 32
MIN_TOKENS_PER_COLUMN = 2
"""Tokens for each column of the hidden states: their covariance has as many rows."""
MIN_ATTENTION = 0.2
"""Attention to equal tokens below which fitted heads are of no use; those that helped had 0.6 and more."""


def fit_heads(run: FinetuneRun, data: RunData, pipeline: Pipeline, world: DistributedContext) -> None:
    """Set query and key of the duplicate-token heads of the model of `pipeline`, in place.

    Computed on one process: on different processors the values may differ in the last bits. Raises DataError for rows
    of single texts or with few tokens, ConfigError for a model whose fitted heads do not find equal tokens.
    """
    encoder = cast(Encoder, pipeline.model.encoder)

    def fitted() -> dict[str, Tensor]:
        batches = list(_batches(run, data, pipeline))
        fit_duplicate_token_heads_(encoder, batches, seed=run.seed)
        if (found := attention_to_equal_tokens(encoder, batches[0])) < MIN_ATTENTION:
            raise ConfigError(
                f"fit_duplicate_token_heads: the fitted heads give equal tokens {found:.0%} of their attention, "
                f"expected at least {MIN_ATTENTION:.0%}: the states of this model do not tell tokens apart; "
                "set fit_duplicate_token_heads=false"
            )
        logger.info("fitted heads give equal tokens of the other text %.0f %% of their attention", 100 * found)
        return encoder.attentions.state_dict()

    encoder.attentions.load_state_dict(world.on_rank_zero(fitted))
    logger.info("duplicate-token heads: query and key are fitted to %d training rows", _count(data))


def _count(data: RunData) -> int:
    return min(MAX_EXAMPLES, len(data.train.examples))


def _batches(run: FinetuneRun, data: RunData, pipeline: Pipeline) -> Iterator[ModelInputs]:
    """The text of some training rows in two segments of equal length, and then with these exchanged.

    So that every token occurs in both segments and at many positions: in the rows themselves the first text is always
    at the first positions. The second segment always has the later positions, as in the rows.
    """
    examples = data.train.examples
    drawn = rng_for(run.seed, "rows for duplicate-token heads").permutation(len(examples))[: _count(data)]
    encoded = pipeline.encode([examples[index] for index in np.sort(drawn)])
    features = [each[0] if isinstance(each, tuple) else each for each in encoded.features]
    ids = torch.from_numpy(np.concatenate([feature.input_ids for feature in features]).astype(np.int64))
    if not any((feature.token_type_ids == 1).any() for feature in features):
        raise DataError(
            "fit_duplicate_token_heads: the training rows have one text each, so there is nothing to compare; "
            "set fit_duplicate_token_heads=false"
        )
    special = torch.tensor([pipeline.tokenizer.cls_id, pipeline.tokenizer.sep_id])
    text = ids[~torch.isin(ids, special)][:MAX_TOKENS]
    if len(text) < (least := MIN_TOKENS_PER_COLUMN * spec_of(pipeline.model).config.hidden_size):
        raise DataError(
            f"fit_duplicate_token_heads: the training rows have {len(text)} tokens, expected at least {least}; "
            "set fit_duplicate_token_heads=false"
        )
    half = min(MAX_LENGTH, spec_of(pipeline.model).config.max_position_embeddings, len(text)) // 2
    rows = text[: len(text) // (2 * half) * 2 * half].view(-1, 2 * half)
    segments = (torch.arange(2 * half) >= half).long()
    for part in torch.cat([rows, rows.roll(half, 1)]).split(BATCH_SIZE):
        yield ModelInputs(part, torch.ones_like(part, dtype=torch.bool), segments.expand_as(part))
