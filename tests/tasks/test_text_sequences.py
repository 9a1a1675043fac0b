"""Texts as sequences: truncated, or in windows."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import DataError
from litebert.tasks.input_settings import TextInputSettings
from litebert.tasks.labelled_data import Example
from litebert.tasks.text_sequences import encode_sequences, spread_windows
from support.models.tolerances import tolerance

LONG = "the film was good " * 10
IN_WINDOWS = TextInputSettings(max_length=12, long_texts="windows")


def test_example_of_just_max_length_is_not_truncated(tiny_tokenizer):
    length = len(tiny_tokenizer.encode(LONG)) + 2
    for max_length, expected in ((length, 0), (length - 1, 1)):
        settings = TextInputSettings(max_length=max_length)
        assert encode_sequences([Example(text=LONG)], tiny_tokenizer, settings).num_truncated == expected


def test_encode_sequences_equals_the_tokenizer(tiny_tokenizer):
    examples = [Example(text="the film", target=1), Example(text="the film was good", text_pair="a movie", target=0)]
    encoded = encode_sequences(examples, tiny_tokenizer, TextInputSettings(max_length=32))
    for example, feature in zip(examples, encoded.features, strict=True):
        expected = tiny_tokenizer.encode_pair(example.text, example.text_pair, max_length=32)
        assert feature.input_ids.tolist() == expected.input_ids
    assert (len(encoded), encoded.num_examples) == (2, 2)
    assert encoded.lengths.tolist() == [len(feature.input_ids) for feature in encoded.features]
    assert encoded.batch(np.array([1, 0])).labels.tolist() == [0, 1]


def test_encode_sequences_needs_no_targets(tiny_tokenizer):
    encoded = encode_sequences([Example(text="the film")], tiny_tokenizer, TextInputSettings(max_length=32))
    assert encoded.inputs(np.array([0])).attention_mask.all()


@given(st.integers(0, 500), st.integers(1, 60))
def test_windows_cover_a_text_and_none_of_several_is_short(length, budget):
    windows = spread_windows(length, budget=budget)
    assert len(windows) == max(1, -(-length // budget)), "no more windows than needed"
    assert (windows[0][0], windows[-1][1]) == (0, length)
    assert all(end - start == min(length, budget) for start, end in windows)
    assert all(start < following <= end for (start, end), (following, _) in itertools.pairwise(windows))


def test_windows_of_a_text_have_all_its_tokens_and_its_target(tiny_tokenizer):
    ids = tiny_tokenizer.encode(LONG)
    encoded = encode_sequences(
        [Example(text="the film", target=1), Example(text=LONG, target=0)], tiny_tokenizer, IN_WINDOWS
    )
    spans = spread_windows(len(ids), budget=10)
    assert [each.input_ids.tolist() for each in encoded.features[1:]] == [
        [tiny_tokenizer.cls_id, *ids[start:end], tiny_tokenizer.sep_id] for start, end in spans
    ]
    assert encoded.targets == [1] + [0] * len(spans)
    assert encoded.example_lengths.tolist() == [len(tiny_tokenizer.encode("the film")) + 2, len(ids) + 2]
    assert (encoded.num_examples, encoded.num_truncated, encoded.num_empty) == (2, 0, 0)


def test_output_of_a_text_is_the_mean_of_its_windows(tiny_tokenizer):
    texts = [Example(text=LONG), Example(text=""), Example(text="the film was good " * 7)]
    encoded = encode_sequences(texts, tiny_tokenizer, IN_WINDOWS)
    outputs = list(np.random.default_rng(0).normal(size=(len(encoded), 3)).astype(np.float32))
    counts = [len(spread_windows(len(tiny_tokenizer.encode(each.text)), budget=10)) for each in texts]
    assert sum(counts) == len(encoded)
    assert counts[1] == 1
    starts = np.cumsum([0, *counts])
    expected = [np.mean(outputs[start:end], axis=0) for start, end in itertools.pairwise(starts)]
    for found, mean in zip(encoded.by_example(outputs), expected, strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, mean, rtol=tolerance(depth="operation"))


def test_pair_has_no_windows(tiny_tokenizer):
    with pytest.raises(DataError, match="text 2: has a second text, but long_texts=windows reads single texts"):
        encode_sequences([Example(text="a"), Example(text="a", text_pair="b")], tiny_tokenizer, IN_WINDOWS)
