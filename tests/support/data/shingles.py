"""Word shingles, as plain sets."""

import numpy as np


def shingles(text: list[str]) -> set[tuple[str, ...]]:
    return {tuple(text[start : start + 5]) for start in range(len(text) - 4)}


def changed(text: list[str], share: float, rng: np.random.Generator) -> list[str]:
    """The words with about that share replaced by words that occur nowhere else."""
    return [f"new{rng.integers(1e12)}" if rng.random() < share else word for word in text]
