"""Duplicate-token heads fitted to the training examples, before fine-tuning."""

import logging
import math
from collections.abc import Sequence
from copy import deepcopy

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from litebert.commands.finetune.data.run_data import RunData
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.finetune.start.token_pairs import pairs_of
from litebert.errors import ConfigError, DataError
from litebert.inference.pipeline import Pipeline
from litebert.model.encoder import Encoder, encoder_of
from litebert.model.initialization.fitted_heads import attention_to_equal_tokens, fit_duplicate_token_heads_
from litebert.model.io.model_directory import spec_of
from litebert.randomness import rng_for
from litebert.tasks.encoded import Feature, pad
from litebert.training.distributed.context import DistributedContext

logger = logging.getLogger(__name__)
MAX_EXAMPLES, MAX_TOKENS = 2048, 65_536
MIN_TOKENS_PER_COLUMN = 2
"""Tokens for each column of the hidden states: their covariance has as many rows."""
MIN_LENGTH = 128
"""Tokens of a pair that heads are fitted to, at least: with 62, the longest of STS-B, they found fewer equal tokens."""
MIN_ATTENTION = 0.2
"""Attention to equal tokens of the rows, in the first layer, below which fitted heads are refused; those that helped
had 0.5 and more."""
MEASURED = 128
"""Rows whose attention is measured."""


def fit_heads(run: FinetuneRun, data: RunData, pipeline: Pipeline, world: DistributedContext) -> None:
    """Set query and key of the duplicate-token heads of every stored attention of the model of `pipeline`, in place.

    Computed on one process: on different processors the values may differ in the last bits. Raises DataError for rows
    of single texts or with few tokens, ConfigError for a model that has no such heads, or whose heads do not find equal
    tokens in the first layer; with `if_pairs` the model then stays as it is, and the log has the reason.
    """
    encoder = encoder_of(pipeline.model)
    before = deepcopy(encoder.attentions.state_dict())

    def fitted() -> dict[str, Tensor] | None:
        features = _features(run, data, pipeline)
        if run.fit_duplicate_token_heads is not True and not _are_pairs(features):
            return None
        try:
            _fit(run, encoder, features, pipeline)
        except (ConfigError, DataError) as error:
            if run.fit_duplicate_token_heads is True:
                raise
            logger.info("no duplicate-token heads are fitted: %s", error)
            return None
        return encoder.attentions.state_dict()

    attentions = world.on_rank_zero(fitted)
    encoder.attentions.load_state_dict(before if attentions is None else attentions)
    if attentions is not None:
        logger.info("duplicate-token heads: query and key are fitted to %d training rows", _count(data))


def _fit(run: FinetuneRun, encoder: Encoder, features: Sequence[Feature], pipeline: Pipeline) -> None:
    """Fit the heads, and measure what those of the first layer attend to."""
    if not _are_pairs(features):
        raise DataError(
            "fit_duplicate_token_heads: the training rows have one text each, so there is nothing to compare; "
            "set fit_duplicate_token_heads=false or if_pairs"
        )
    text = _text(features, pipeline)
    longest = max(MIN_LENGTH, *(len(feature.input_ids) for feature in features))
    length = min(longest, encoder.config.max_position_embeddings)
    pairs = pairs_of(text, length, pipeline.tokenizer, seed=run.seed)
    logger.info("duplicate-token heads: query and key are being fitted, which may take a minute")
    count = fit_duplicate_token_heads_(encoder, pairs, seed=run.seed, logit=run.duplicate_token_logit)
    rows = pad(features[:MEASURED], pad_id=pipeline.tokenizer.pad_id).to_tensors()
    special = (pipeline.tokenizer.cls_id, pipeline.tokenizer.sep_id)
    found = attention_to_equal_tokens(encoder, rows, ignored=special)
    if math.isnan(found):
        raise DataError(
            f"fit_duplicate_token_heads: none of the first {len(rows.input_ids)} training rows has a token in both "
            "texts, or the weights of the model are not finite; set fit_duplicate_token_heads=false"
        )
    if found < MIN_ATTENTION:
        raise ConfigError(
            f"fit_duplicate_token_heads: the fitted heads give equal tokens {found:.0%} of their attention in the "
            f"first layer, in {len(rows.input_ids)} training rows, expected at least {MIN_ATTENTION:.0%}: the "
            "states of this model do not tell tokens apart well enough; set fit_duplicate_token_heads=false"
        )
    logger.info("fitted heads of %d of %d stored attentions", count, len(encoder.attentions))
    logger.info("in the first layer equal tokens of the other text get %.0f %% of their attention", 100 * found)


def _count(data: RunData) -> int:
    return min(MAX_EXAMPLES, len(data.train.examples))


def _features(run: FinetuneRun, data: RunData, pipeline: Pipeline) -> list[Feature]:
    """Some training rows as the model reads them."""
    examples = data.train.examples
    drawn = rng_for(run.seed, "rows for duplicate-token heads").permutation(len(examples))[: _count(data)]
    encoded = pipeline.encode([examples[index] for index in np.sort(drawn)])
    return [each[0] if isinstance(each, tuple) else each for each in encoded.features]


def _are_pairs(features: Sequence[Feature]) -> bool:
    return any((feature.token_type_ids == 1).any() for feature in features)


def _text(features: Sequence[Feature], pipeline: Pipeline) -> Int[Tensor, " N"]:
    """The tokens of all rows, one after the other; raises DataError if there are few."""
    ids = torch.from_numpy(np.concatenate([feature.input_ids for feature in features]).astype(np.int64))
    special = torch.tensor([pipeline.tokenizer.cls_id, pipeline.tokenizer.sep_id])
    text = ids[~torch.isin(ids, special)][:MAX_TOKENS]
    if len(text) < (least := MIN_TOKENS_PER_COLUMN * spec_of(pipeline.model).config.hidden_size):
        raise DataError(
            f"fit_duplicate_token_heads: the training rows have {len(text)} tokens, expected at least {least}; "
            "set fit_duplicate_token_heads=false"
        )
    return text
