"""The prediction pipeline."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.inference.pipeline import model_outputs
from litebert.model.io.model_directory import load_model
from litebert.tasks.encoded import Encoded, Feature, batches_by_length
from litebert.tasks.types.task_type import sequence_logits
from support.models.tolerances import tolerance


def sequences_of(lengths):
    features = [Feature(np.arange(5, 5 + length, dtype=np.int32), np.zeros(length, np.int8)) for length in lengths]
    return Encoded(features, [None] * len(lengths), pad_id=0)


@given(st.lists(st.integers(1, 30), max_size=40), st.integers(1, 100))
def test_batches_by_length_partition_the_sequences_within_the_budget(lengths, budget):
    batches = [positions.tolist() for positions in batches_by_length(np.array(lengths, int), tokens_per_batch=budget)]
    for positions in batches:
        assert len(positions) * max(lengths[position] for position in positions) <= budget or len(positions) == 1
    assert sorted(position for positions in batches for position in positions) == list(range(len(lengths)))


def test_model_outputs_do_not_depend_on_the_batches(saved):
    model = load_model(saved["classifier"]).train()
    lengths = [3, 9, 1, 30, 9, 2]
    together = model_outputs(model, sequences_of(lengths), sequence_logits)
    alone = [model_outputs(model, sequences_of([length]), sequence_logits)[0] for length in lengths]
    np.testing.assert_allclose(together, alone, atol=tolerance())
    assert model.training, "the mode is restored"


@pytest.mark.parametrize("world_size", [2, 7])
def test_model_outputs_are_split_over_ranks(saved, world_size):
    model, sequences = load_model(saved["classifier"]), sequences_of([3, 9, 1, 30, 9])
    whole = model_outputs(model, sequences, sequence_logits)
    for rank in range(world_size):
        part = model_outputs(model, sequences, sequence_logits, rank=rank, world_size=world_size)
        np.testing.assert_allclose(part, whole[rank::world_size], atol=tolerance())
