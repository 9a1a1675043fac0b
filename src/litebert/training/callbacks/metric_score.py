"""Which of two values of a metric is better."""

import math

from litebert.training.protocols import Number

_LOWER_IS_BETTER = ("loss", "perplexity")


def score(metric: str, value: Number) -> float:
    """The value, or its negative for a loss or perplexity: greater is better. NaN is worse than any number."""
    if math.isnan(value):
        return -math.inf
    return -float(value) if metric.endswith(_LOWER_IS_BETTER) else float(value)
