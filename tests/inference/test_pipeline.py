"""Batches of similar length: each sequence once, memory bounded, answers as one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.inference.batching import length_sorted, outputs_of
from litebert.model.io.model_directory import load_model
from litebert.tasks.encoded import Sequences
from litebert.tasks.encoded import Feature
from litebert.tasks.types.predictions import sequence_logits


def sequences_of(lengths):
    features = [Feature(np.arange(5, 5 + length, dtype=np.int32), np.zeros(length, np.int8)) for length in lengths]
    return Sequences(features, [None] * len(lengths), pad_id=0)


@given(st.lists(st.integers(1, 30), max_size=40), st.integers(1, 100))
def test_every_sequence_is_in_one_batch_within_the_budget(lengths, budget):
    batches = [places.tolist() for places in length_sorted(np.array(lengths, int), tokens_per_batch=budget)]
    for places in batches:
        assert len(places) * max(lengths[place] for place in places) <= budget or len(places) == 1
    assert sorted(place for places in batches for place in places) == list(range(len(lengths)))


def test_answers_do_not_depend_on_the_batches_and_keep_the_order(saved):
    model = load_model(saved["classifier"]).train()
    lengths = [3, 9, 1, 30, 9, 2]
    together = outputs_of(model, sequences_of(lengths), sequence_logits)
    alone = [outputs_of(model, sequences_of([length]), sequence_logits)[0] for length in lengths]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert model.training, "the mode is given back"


@pytest.mark.parametrize("world_size", [2, 7])
def test_processes_share_the_sequences_out(saved, world_size):
    model, sequences = load_model(saved["classifier"]), sequences_of([3, 9, 1, 30, 9])
    whole = outputs_of(model, sequences, sequence_logits)
    for rank in range(world_size):
        part = outputs_of(model, sequences, sequence_logits, rank=rank, world_size=world_size)
        np.testing.assert_allclose(part, whole[rank::world_size], atol=1e-5)
