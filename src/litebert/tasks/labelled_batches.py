"""The batches of fine-tuning: a `BatchSource` of `training`.

The batch of a step is a pure function of (seed, step), so resuming needs no state and all ranks agree.
"""

import hashlib

import numpy as np

from litebert.errors import ConfigError
from litebert.randomness import rng_for
from litebert.tasks.encoded import Encoded, LabelledBatch

BATCHES_SORTED_TOGETHER = 50
"""Examples are sorted by length within this many batches: little padding, still random."""


class LabelledBatches:
    """Batches of `batch_size` examples; every epoch has every example once, in another order.

    A batch may have the last examples of an epoch and the first of the next.
    """

    def __init__(
        self,
        examples: Encoded,
        *,
        batch_size: int,
        microbatch_size: int,
        seed: int,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        if batch_size % world_size:
            raise ConfigError(f"batch_size {batch_size} is not divisible by {world_size} processes; use a multiple")
        self.batch_size = batch_size
        self._examples = examples
        self._microbatch_size = microbatch_size
        self._seed = seed
        self._rank = rank
        self._world_size = world_size
        self._orders: dict[int, np.ndarray] = {}

    @property
    def examples_per_epoch(self) -> int:
        """Examples of the training file; a long one may be several sequences."""
        return self._examples.num_examples

    @property
    def fingerprint(self) -> str:
        """Digest of everything the batches depend on, except the number of processes and the microbatch size."""
        key = f"{self.batch_size} {self._seed} {self._examples.fingerprint}"
        return hashlib.sha256(key.encode()).hexdigest()

    def microbatches(self, step: int) -> list[LabelledBatch]:
        """This process's part of the batch of `step`, from 0."""
        share = self.indices(step)[self._rank :: self._world_size]
        cuts = range(0, len(share), self._microbatch_size)
        return [self._examples.batch(share[cut : cut + self._microbatch_size]) for cut in cuts]

    def indices(self, step: int) -> np.ndarray:
        """Positions among the encoded sequences of the whole batch of `step`."""
        start, end, total = step * self.batch_size, (step + 1) * self.batch_size, len(self._examples)
        first, last = start // total, (end - 1) // total
        examples = np.concatenate([self._order(epoch) for epoch in range(first, last + 1)])
        return examples[start - first * total : end - first * total]

    def _order(self, epoch: int) -> np.ndarray:
        """The order of an epoch, cached during the epoch."""
        if epoch not in self._orders:
            self._orders = {known: order for known, order in self._orders.items() if known == epoch - 1}
            self._orders[epoch] = epoch_order(self._examples.lengths, self.batch_size, epoch=epoch, seed=self._seed)
        return self._orders[epoch]


def epoch_order(lengths: np.ndarray, batch_size: int, *, epoch: int, seed: int) -> np.ndarray:
    """A permutation of the examples in which every full batch has examples of similar length.

    The first `head` examples complete the last batch of the previous epoch.
    """
    rng = rng_for(seed, "fine-tuning order", epoch)
    order = rng.permutation(len(lengths))
    head = min(-epoch * len(lengths) % batch_size, len(lengths))
    whole = (len(lengths) - head) // batch_size
    body = order[head : head + whole * batch_size]
    pool = np.arange(len(body)) // (batch_size * BATCHES_SORTED_TOGETHER)
    body = body[np.lexsort((lengths[body], pool))].reshape(whole, batch_size)
    return np.concatenate([order[:head], rng.permutation(body).reshape(-1), order[head + whole * batch_size :]])
