"""Which examples a step of fine-tuning sees. Before: `features`. After: `training`, as its BatchSource.

The batch of a step is a pure function of (seed, step), so that resuming needs no state and every rank agrees.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import torch

from litebert.errors import ConfigError
from litebert.randomness import rng_for
from litebert.tasks.features import ClassificationBatch, Feature, pad

BATCHES_SORTED_TOGETHER = 50
"""Batches are cut from this many batches of examples sorted by length: little padding, still random."""


class ClassificationBatches:
    """Batches of `batch_size` examples; every epoch shows every example once, in its own order.

    Epochs follow each other without a gap: a batch may hold the end of one and the beginning of the next.
    """

    def __init__(
        self,
        features: Sequence[Feature],
        targets: np.ndarray,
        *,
        batch_size: int,
        microbatch_size: int,
        seed: int,
        pad_id: int,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        if batch_size % world_size:
            raise ConfigError(f"batch_size {batch_size} is not divisible by {world_size} processes; choose a multiple")
        self.batch_size = batch_size
        self._features = features
        self._targets = targets
        self._lengths = np.array([len(feature.input_ids) for feature in features])
        self._microbatch_size = microbatch_size
        self._seed = seed
        self._pad_id = pad_id
        self._rank = rank
        self._world_size = world_size
        self._orders: dict[int, np.ndarray] = {}

    @property
    def examples_per_epoch(self) -> int:
        """Examples of the training file."""
        return len(self._features)

    @property
    def fingerprint(self) -> str:
        """Digest of everything that decides the batches but the number of processes and the microbatches."""
        digest = hashlib.sha256(f"{self.batch_size} {self._seed} {self._pad_id}".encode())
        for feature, target in zip(self._features, self._targets, strict=True):
            digest.update(len(feature.input_ids).to_bytes(4, "little"))
            digest.update(feature.input_ids.tobytes() + feature.token_type_ids.tobytes() + target.tobytes())
        return digest.hexdigest()

    def microbatches(self, step: int) -> list[ClassificationBatch]:
        """This process's share of the batch of `step`, from 0."""
        share = self.indices(step)[self._rank :: self._world_size]
        cuts = range(0, len(share), self._microbatch_size)
        return [self._batch(share[cut : cut + self._microbatch_size]) for cut in cuts]

    def indices(self, step: int) -> np.ndarray:
        """Positions in the training file of the whole batch of `step`."""
        start, end, total = step * self.batch_size, (step + 1) * self.batch_size, self.examples_per_epoch
        first, last = start // total, (end - 1) // total
        examples = np.concatenate([self._order(epoch) for epoch in range(first, last + 1)])
        return examples[start - first * total : end - first * total]

    def _order(self, epoch: int) -> np.ndarray:
        """The order of an epoch, remembered while its steps last."""
        if epoch not in self._orders:
            self._orders = {known: order for known, order in self._orders.items() if known == epoch - 1}
            self._orders[epoch] = epoch_order(self._lengths, self.batch_size, epoch=epoch, seed=self._seed)
        return self._orders[epoch]

    def _batch(self, indices: np.ndarray) -> ClassificationBatch:
        return ClassificationBatch(
            inputs=pad([self._features[index] for index in indices], pad_id=self._pad_id),
            labels=torch.from_numpy(self._targets[indices]),
            num_tokens=int(self._lengths[indices].sum()),
        )


def epoch_order(lengths: np.ndarray, batch_size: int, *, epoch: int, seed: int) -> np.ndarray:
    """A permutation of the examples in which every full batch of the epoch holds examples of similar length.

    The batches begin where the epochs before end: the first `head` examples complete the batch of the epoch before.
    """
    rng = rng_for(seed, "fine-tuning order", epoch)
    order = rng.permutation(len(lengths))
    head = min(-epoch * len(lengths) % batch_size, len(lengths))
    whole = (len(lengths) - head) // batch_size
    body = order[head : head + whole * batch_size]
    pool = np.arange(len(body)) // (batch_size * BATCHES_SORTED_TOGETHER)
    body = body[np.lexsort((lengths[body], pool))].reshape(whole, batch_size)
    return np.concatenate([order[:head], rng.permutation(body).reshape(-1), order[head + whole * batch_size :]])
