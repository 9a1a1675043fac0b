"""Batches of similar length: each feature once, memory bounded, answers as one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from litebert.inference.batching import classifier_logits, length_sorted
from litebert.model.directory import load_model
from litebert.tasks.features import Feature


def features_of(lengths):
    return [Feature(np.arange(5, 5 + length, dtype=np.int32), np.zeros(length, np.int8)) for length in lengths]


@given(st.lists(st.integers(1, 30), max_size=40), st.integers(1, 100))
def test_every_feature_is_in_one_batch_within_the_budget(lengths, budget):
    seen = []
    for positions, inputs in length_sorted(features_of(lengths), pad_id=0, tokens_per_batch=budget):
        seen += positions.tolist()
        assert inputs.input_ids.numel() <= budget or len(positions) == 1
        assert inputs.attention_mask.sum(1).tolist() == [lengths[position] for position in positions]
    assert sorted(seen) == list(range(len(lengths)))


def test_answers_do_not_depend_on_the_batches_and_keep_the_order(saved):
    model = load_model(saved["classifier"]).train()
    features = features_of([3, 9, 1, 30, 9, 2])
    together = classifier_logits(model, features, pad_id=0)
    alone = np.concatenate([classifier_logits(model, [feature], pad_id=0) for feature in features])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert model.training, "the mode is given back"
