"""Duplicate-token heads of a trained encoder, fitted to its own hidden states.

Pretraining does not need heads that attend to the same token of another text, and fine-tuning on some thousand pairs
does not find them in a small encoder. Here query and key of two heads of every stored attention are set from
statistics of the hidden states that they read: by linear discriminant analysis (Fisher 1936), in the directions in
which tokens differ and their occurrences do not. The ALBERT paper has no such thing; docs/decisions/0005-structured-
initialization.md has the measurements.

Symbols: N tokens of some examples, H hidden size, D head size, n rows of a head that compare tokens.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from litebert.errors import ConfigError, DataError
from litebert.model.encoder import Encoder
from litebert.model.initialization.head_patterns import num_duplicate_token_heads
from litebert.model.initialization.query_key_patterns import SEGMENT_LOGIT, TOKEN_LOGIT, low_frequency_rows
from litebert.model.layers.block import Attention
from litebert.model.model_inputs import ModelInputs
from litebert.model.truncated_normal import fill_truncated_normal
from litebert.randomness import torch_seed_for

MIN_SHARE = 0.8
"""Variance between tokens, relative to the whole with `RIDGE`, of a direction that a head reads. Where it is smaller,
as where positions differ, a token is more like its neighbours than like an equal token far away."""
MIN_DIRECTIONS = 0.25
"""Directions that an attention after the first must read to be fitted, relative to the rows of its heads."""
RIDGE = 1e-3
"""Added to the variances, relative to the largest one: directions of much smaller variance are not read."""


class TokenStates(NamedTuple):
    """What an attention reads: N tokens."""

    states: Float[Tensor, "N H"]
    token_ids: Int[Tensor, " N"]
    segments: Int[Tensor, " N"]


class Directions(NamedTuple):
    """Directions of the hidden states, each to be read with the mean subtracted, or orthogonal to it."""

    tokens: Float[Tensor, "K H"]
    """Orthonormal in the whitened space: equal for equal tokens, as different as possible for others."""
    segment: Float[Tensor, " H"]
    """Differs by 1 between the two segments."""
    mean: Float[Tensor, " H"]
    count: int
    """How many directions `tokens` combines."""


@torch.no_grad()
def fit_duplicate_token_heads_(
    encoder: Encoder, batches: Iterable[ModelInputs], *, seed: int, logit: float = TOKEN_LOGIT
) -> int:
    """Set query and key of the duplicate-token heads, the last ones, of every stored attention.

    In place, from the first stored attention to the last, each for the first layer that runs it: if one is stored, for
    the first layer of the encoder. There they give an equal token of the other text a logit of `logit`, and the other
    text `SEGMENT_LOGIT`, the own one minus that, as structured initialization does before training. Each head reads
    other directions. An attention after the first one that reads too few (`MIN_DIRECTIONS`) in which tokens
    differ keeps its heads; `attention_to_equal_tokens` measures the first one. All other weights stay. Returns how many
    attentions were fitted.

    Args:
        encoder: a trained encoder without adapters.
        batches: some ten thousand tokens, of which about half are in the second segment. Tokens should occur in both
            segments and at many positions, which are otherwise taken for a difference of tokens or segments. For
            each stored attention they run through the layers before it.
        seed: of the random rotation that divides the directions among the heads.
        logit: in the mean over the tokens; a larger one makes the attention sharper.

    Raises:
        ConfigError: the model has too few or too narrow heads, or low-rank updates of query and key.
        DataError: no example has two texts, or the hidden states are not finite.
    """
    config = encoder.config
    heads = num_duplicate_token_heads(config.num_attention_heads)
    rows = torch.arange(config.head_size)
    if config.position_embedding == "rotary":
        rows = low_frequency_rows(config.head_size)
    if not heads or len(rows) < 2:
        raise ConfigError(
            f"fit_duplicate_token_heads: a model of {config.num_attention_heads} heads of width {config.head_size} has "
            "no room for duplicate-token heads; set fit_duplicate_token_heads=false"
        )
    if encoder.adapters is not None or config.recursion_lora_rank:
        updates = "adapters" if encoder.adapters is not None else f"recursion_lora_rank={config.recursion_lora_rank}"
        raise ConfigError(
            f"fit_duplicate_token_heads: the model has {updates}, which would add to the fitted query and key; "
            "set fit_duplicate_token_heads=false"
        )
    batches, count, fitted = list(batches), heads * (len(rows) - 1), 0
    for index, block in enumerate(encoder.attentions):
        read = attention_reads(encoder, index, batches)
        found = discriminant_directions(read, count, seed=seed, orthogonal_to_mean=not config.use_bias)
        if index == 0 or found.count >= MIN_DIRECTIONS * count:
            _write_heads(cast(Attention, block), found, rows, heads=heads, head_size=config.head_size, logit=logit)
            fitted += 1
    return fitted


@torch.no_grad()
def attention_to_equal_tokens(encoder: Encoder, batch: ModelInputs, *, ignored: Iterable[int] = ()) -> float:
    """Mean attention of the duplicate-token heads of the first layer to equal tokens in the other segment.

    Over the heads and the tokens that have equal ones there, except those in `ignored`; NaN if none has.
    """
    training = encoder.training
    heads = num_duplicate_token_heads(encoder.config.num_attention_heads)
    probabilities = encoder.eval().first_layer_attention(*batch)[:, -heads:]
    encoder.train(training)
    ids, segments = batch.input_ids, batch.token_type_ids
    equal = (ids[:, :, None] == ids[:, None]) & (segments[:, :, None] != segments[:, None])
    counted = batch.attention_mask & ~torch.isin(ids, torch.tensor(list(ignored), dtype=ids.dtype))
    equal &= counted[:, :, None] & counted[:, None]
    found = (probabilities * equal[:, None]).sum(-1).mean(1)
    return float(found[equal.any(-1)].mean())


def attention_reads(encoder: Encoder, index: int, batches: Iterable[ModelInputs]) -> TokenStates:
    """The hidden states that the stored attention `index` reads where it runs first, without padding."""
    training = encoder.training
    encoder.eval()
    block = cast(Attention, encoder.attentions[index])
    parts = []
    for ids, mask, segments in batches:
        states = encoder.first_input(index, ids, mask, segments)
        read = block.norm(states) if encoder.config.norm_first else states
        parts.append(TokenStates(read[mask], ids[mask], segments[mask]))
    encoder.train(training)
    return TokenStates(*map(torch.cat, zip(*parts, strict=True)))


def discriminant_directions(read: TokenStates, count: int, *, seed: int, orthogonal_to_mean: bool) -> Directions:
    """The `count` directions that tell tokens apart best, and the one that tells the segments apart.

    With the covariances B of the mean states of tokens and W of their occurrences around them, the states are whitened
    by (B + W)^(-1/2), and the directions are those in which B is largest then, rotated at random. Those below
    `MIN_SHARE` are left out, as where there are fewer different tokens than directions. Scaled so that the inner
    product of two occurrences of a token is `count` in the mean over the tokens; frequent ones, which are nearer to the
    mean, get less. `orthogonal_to_mean`: for query and key without biases, which cannot subtract the mean.
    """
    states, segments = read.states.double(), read.segments
    if not (segments == 1).any():
        raise DataError("fit_duplicate_token_heads: no example has two texts; set fit_duplicate_token_heads=false")
    if not states.isfinite().all():
        raise DataError(
            "fit_duplicate_token_heads: the hidden states of the model are not finite, so its weights are damaged or "
            "have diverged; take another checkpoint"
        )
    means = torch.stack([states[segments == segment].mean(0) for segment in (0, 1)])
    centred = states - means[segments]
    _, tokens, counts = read.token_ids.unique(return_inverse=True, return_counts=True)
    of_token = torch.zeros(len(counts), states.shape[1], dtype=states.dtype).index_add_(0, tokens, centred)
    of_token /= counts[:, None]
    around = centred - of_token[tokens]
    difference = means[1] - means[0]
    centre = means.mean(0) + of_token.mean(0)  # of the tokens, whatever their frequencies
    if orthogonal_to_mean:
        across = torch.eye(len(centre), dtype=centre.dtype) - torch.outer(centre, centre) / centre.square().sum()
        of_token, around, difference = of_token @ across, around @ across, difference @ across
    within, between = around.T @ around / len(around), torch.cov(of_token.T, correction=0)
    values, vectors = torch.linalg.eigh(between + within)
    variances = values.clamp(min=0) + RIDGE * values[-1]
    whitening = vectors @ torch.diag(variances.rsqrt()) @ vectors.T
    shares, axes = torch.linalg.eigh(whitening @ between @ whitening)
    axes, shares = axes[:, -count:], shares[-count:]
    axes, shares = axes[:, shares > MIN_SHARE], shares[shares > MIN_SHARE]
    normal = torch.empty(count, count)
    fill_truncated_normal(normal, scale=1.0, seed=torch_seed_for(seed, "duplicate-token heads"))
    rotation = torch.linalg.qr(normal.double())[0][:, : axes.shape[1]]
    directions = math.sqrt(count / max(float(shares.sum()), MIN_SHARE)) * rotation @ axes.T @ whitening
    segment = whitening @ whitening @ difference
    return Directions(directions.float(), (segment / (segment @ difference)).float(), centre.float(), axes.shape[1])


def _write_heads(
    block: Attention, found: Directions, rows: Int[Tensor, " R"], *, heads: int, head_size: int, logit: float
) -> None:
    """The rows of a head: all but the last compare tokens, the last one reads the segment with opposite signs."""
    count = len(rows) - 1
    token_gain = math.sqrt(logit * math.sqrt(head_size) / count)
    segment_gain = 2 * math.sqrt(SEGMENT_LOGIT * math.sqrt(head_size))
    first = (block.heads[0] - heads) * head_size
    for layer, sign in ((block.query, -1), (block.key, 1)):
        weight = torch.zeros(heads, head_size, layer.weight.shape[1])
        weight[:, rows[:-1]] = token_gain * found.tokens.unflatten(0, (heads, count))
        weight[:, rows[-1]] = sign * segment_gain * found.segment
        weight = weight.flatten(0, 1)
        layer.weight[first:] = weight.to(layer.weight)
        if layer.bias is not None:
            layer.bias[first:] = -(weight @ found.mean).to(layer.bias)
