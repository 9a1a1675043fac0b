"""Fine-tuning batches: a pure function of seed and step, every example once an epoch, any number of processes."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError
from litebert.tasks.encoded import Encoded, Feature
from litebert.tasks.labelled_batches import LabelledBatches, epoch_order

SIZES = {"batch_size": 4, "microbatch_size": 4, "seed": 1}


def batches_of(num_examples, *, target=None, **changes):
    """Example i holds 1 + i % 7 times the id i + 5 and has the label i."""
    features = [
        Feature(np.full(1 + index % 7, index + 5, np.int32), np.zeros(1 + index % 7, np.int8))
        for index in range(num_examples)
    ]
    targets = list(range(num_examples)) if target is None else [target] * num_examples
    return LabelledBatches(Encoded(features, targets, pad_id=0), **(SIZES | changes))


@given(total=st.integers(1, 60), batch_size=st.integers(1, 9), epochs=st.integers(1, 3), seed=st.integers(0, 99))
def test_labelled_batches_have_every_example_once_an_epoch(total, batch_size, epochs, seed):
    batches = batches_of(total, batch_size=batch_size, seed=seed)
    steps = -(-epochs * total // batch_size)
    seen = np.concatenate([batches.indices(step) for step in range(steps)])
    for epoch in range(epochs):
        assert sorted(seen[epoch * total : (epoch + 1) * total]) == list(range(total))


@given(step=st.integers(0, 500), seed=st.integers(0, 9))
def test_labelled_batch_is_a_function_of_the_step(step, seed):
    fresh, used = (batches_of(23, seed=seed) for _ in range(2))
    for earlier in range(max(0, step - 3), step):
        used.indices(earlier)
    assert fresh.indices(step).tolist() == used.indices(step).tolist()


def test_labelled_batches_depend_on_epoch_and_seed():
    lengths = np.arange(40)
    orders = {
        tuple(epoch_order(lengths, 4, epoch=epoch, seed=seed).tolist()) for epoch, seed in [(0, 0), (1, 0), (0, 1)]
    }
    assert len(orders) == 3


@pytest.mark.parametrize("epoch", [0, 1, 2])
def test_labelled_batches_have_similar_lengths(epoch):
    lengths = np.repeat(np.arange(10), 4)[:39]
    order = epoch_order(lengths, 4, epoch=epoch, seed=0)
    head = -epoch * 39 % 4
    whole = lengths[order[head : head + (39 - head) // 4 * 4]].reshape(-1, 4)
    assert np.ptp(whole, axis=1).max() <= 2


@pytest.mark.parametrize("world_size", [1, 2, 4])
@pytest.mark.parametrize("microbatch_size", [1, 3, 8])
def test_labelled_batches_are_split_over_ranks_and_microbatches(world_size, microbatch_size):
    whole = batches_of(30, batch_size=8).indices(5)
    parts = [
        batch
        for rank in range(world_size)
        for batch in batches_of(
            30, batch_size=8, rank=rank, world_size=world_size, microbatch_size=microbatch_size
        ).microbatches(5)
    ]
    assert sorted(torch.cat([part.labels for part in parts]).tolist()) == sorted(whole.tolist())
    assert all(part.num_examples <= microbatch_size for part in parts)


def test_labelled_microbatch_has_tokens_and_labels():
    (batch,) = batches_of(12).microbatches(0)
    for ids, mask, label in zip(batch.inputs.input_ids, batch.inputs.attention_mask, batch.labels, strict=True):
        assert ids[mask].tolist() == [label + 5] * (1 + label % 7)
    assert batch.num_tokens == int(batch.inputs.attention_mask.sum())


def test_labelled_batches_fingerprint_ignores_the_processes():
    base = batches_of(12).fingerprint
    assert batches_of(12, world_size=2, rank=1, microbatch_size=1).fingerprint == base
    others = [batches_of(13), batches_of(12, seed=2), batches_of(12, batch_size=6), batches_of(12, target=0)]
    assert base not in {other.fingerprint for other in others}


def test_labelled_batches_reject_an_indivisible_batch_size():
    with pytest.raises(ConfigError, match="batch_size 4 is not divisible by 3 processes"):
        batches_of(12, world_size=3)
