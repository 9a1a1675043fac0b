"""How much each model counts in an average. Torch-free, so that the command line checks it at once."""

import math
from collections.abc import Sequence, Sized

from litebert.errors import ConfigError


def shares_of(models: Sized, weights: Sequence[float]) -> tuple[float, ...]:
    """The weights divided by their sum; without weights all models count the same.

    Raises:
        ConfigError: there are fewer than two models, another number of weights, or one that is not a positive number.
    """
    count = len(models)
    if count < 2:
        raise ConfigError(f"models: found {count}, but an average needs at least two; name several")
    if len(weights) not in (0, count):
        raise ConfigError(f"weights: found {len(weights)} for {count} models; give each model one, or leave them out")
    for weight in weights:
        if not (math.isfinite(weight) and weight > 0):
            raise ConfigError(f"weights: found {weight:g}, expected a positive number; leave out models without weight")
    # Of the largest weight, so that their sum is finite.
    parts = [weight / max(weights) for weight in weights] or [1.0] * count
    return tuple(part / sum(parts) for part in parts)
