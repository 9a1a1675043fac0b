"""Averages of predictions: laws that hold for every kind."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from litebert.errors import ConfigError
from litebert.tasks.encoded import Sequences
from litebert.tasks.ensembling.averaging import AVERAGING, in_order_of, mean
from litebert.tasks.labelled_data import TaggedExample
from litebert.tasks.types.predictions import softmax
from litebert.tasks.types.token_classification import encode_tokens

NOTHING = Sequences([], [], 0)
LOGITS = arrays(np.float32, (3, 4), elements=st.floats(-50, 50, width=32))
ONE_A_SEQUENCE = ("classification", "regression", "multi_label", "multiple_choice")


@given(st.lists(LOGITS, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_the_members_changes_no_bit(members, random):
    shuffled = random.sample(members, len(members))
    assert np.array_equal(mean(list(map(list, members))), mean(list(map(list, shuffled))))


@pytest.mark.parametrize("kind", ONE_A_SEQUENCE)
@given(logits=LOGITS, copies=st.integers(1, 5))
def test_the_average_of_equal_members_is_the_member(kind, logits, copies):
    member = AVERAGING[kind].predictions(list(logits), NOTHING)
    assert np.array_equal(AVERAGING[kind].average([member] * copies), member)


@pytest.mark.parametrize("kind", ONE_A_SEQUENCE)
@given(logits=LOGITS)
def test_an_ensemble_of_one_answers_as_its_member(kind, logits):
    row = AVERAGING[kind]
    outputs = np.stack(row.outputs(row.average([row.predictions(list(logits), NOTHING)]), NOTHING))
    if kind == "multi_label":
        is_clear = np.abs(logits) > 1e-9  # closer to 0 the probability is a half
        assert np.array_equal((outputs >= 0)[is_clear], (logits >= 0)[is_clear])
    elif kind == "regression":
        assert np.array_equal(outputs, logits)
    else:
        assert np.allclose(softmax(outputs), softmax(logits.astype(np.float64)), atol=1e-12)


def test_probabilities_are_averaged_not_logits():
    """One sure member outweighs two that hardly lean the other way; the paper averages predictions."""
    row = AVERAGING["classification"]
    sure, leaning = np.array([[4.0, -4.0]]), np.array([[-0.5, 0.5]])
    (found,) = row.average([row.predictions(each, NOTHING) for each in (sure, leaning, leaning)])
    assert found == pytest.approx((softmax(sure)[0] + 2 * softmax(leaning)[0]) / 3)


def test_words_of_a_long_sentence_come_back_to_their_sequences(tiny_tokenizer):
    examples = [TaggedExample(("the", "film", "was", "good"), (0, 1, 0, 1)), TaggedExample(("bad",), (1,))]
    encoded = encode_tokens(examples, tiny_tokenizer, max_length=5)
    assert len(encoded) > 2
    rng = np.random.default_rng(0)
    outputs = [rng.normal(size=(length, 2)).astype(np.float32) for length in encoded.lengths]
    row = AVERAGING["tokens"]
    predictions = row.average([row.predictions(outputs, encoded)] * 2)
    again = encoded.by_example(row.outputs(predictions, encoded))
    for found, expected in zip(again, encoded.by_example(outputs), strict=True):
        assert np.allclose(softmax(found), softmax(expected.astype(np.float64)))


def test_labels_in_another_order_are_put_right():
    given_ = [np.array([0.1, 0.2, 0.7]), np.array([[0.5, 0.25, 0.25]])]
    found = in_order_of(("c", "a", "b"), ("a", "b", "c"), given_)
    assert [each.tolist() for each in found] == [[0.7, 0.1, 0.2], [[0.25, 0.5, 0.25]]]
    assert in_order_of(("a",), ("a",), given_) is given_


@pytest.mark.parametrize(("members", "message"), [([], "found no member"), ([[1], [1, 2]], "found 1, 2")])
def test_members_that_answer_different_examples_are_refused(members, message):
    with pytest.raises(ConfigError, match=message):
        mean(members)
