"""Random generators keyed by position, such as (seed, purpose, epoch, example), instead of global random state.

The same key gives the same numbers on any machine, in any worker, after any resume; different keys give independent
streams.
"""

import hashlib

import numpy as np

Key = int | str


def rng_for(*key: Key) -> np.random.Generator:
    """Generator for one position, such as `rng_for(seed, "masking", epoch, example_index)`."""
    return np.random.Generator(np.random.Philox(key=np.frombuffer(_digest(key), dtype=np.uint64)))


def torch_seed_for(*key: Key) -> int:
    """Seed in [0, 2**63) for `torch.manual_seed`, keyed like `rng_for`."""
    return int.from_bytes(_digest(key)[:8], "little") >> 1


def _digest(key: tuple[Key, ...]) -> bytes:
    """16 bytes; keys that differ in value, type or grouping have different digests."""
    if not key:
        raise ValueError("rng_for: an empty key would give every caller the same numbers")
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in key)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
