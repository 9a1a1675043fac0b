"""A tokenizer called as those of transformers are."""

import numpy as np
import pytest

from litebert.errors import ConfigError, DataError

TEXTS = ["The film was good, in 1999.", "This story felt dull", ""]
PAIRS = ["a long movie", "the old actor was awful, the music too", "her first play"]


@pytest.fixture(scope="module")
def reference(tiny_tokenizer, tmp_path_factory):
    transformers = pytest.importorskip("transformers")
    directory = tmp_path_factory.mktemp("reference")
    tiny_tokenizer.save(directory)
    return transformers.AutoTokenizer.from_pretrained(directory)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"padding": True},
        {"padding": "max_length", "max_length": 40},
        {"truncation": True, "max_length": 8},
        {"padding": True, "truncation": True, "max_length": 8},
    ],
    ids=str,
)
@pytest.mark.parametrize("pairs", [None, PAIRS], ids=["single", "pairs"])
def test_call_returns_what_transformers_returns(tiny_tokenizer, reference, pairs, options):
    if pairs and options.get("truncation"):
        pytest.skip("pairs are truncated as by google-research/albert: on a tie, the second text is cut first")
    found, expected = tiny_tokenizer(TEXTS, pairs, **options), reference(TEXTS, pairs, **options)
    assert dict(found) == dict(expected)


def test_batch_encoding_of_one_text_has_flat_lists_and_a_tensor_of_one_row(tiny_tokenizer, reference):
    assert dict(tiny_tokenizer(TEXTS[0])) == dict(reference(TEXTS[0]))
    tensors = tiny_tokenizer(TEXTS[0], PAIRS[0], return_tensors="pt")
    assert tensors.input_ids.tolist() == reference(TEXTS[0], PAIRS[0], return_tensors="pt")["input_ids"].tolist()
    assert tensors.to("cpu").attention_mask.shape == tensors.input_ids.shape


def test_truncated_pairs_are_those_of_encode_pair_with_their_offsets(tiny_tokenizer):
    encoding = tiny_tokenizer(TEXTS[0], PAIRS[1], truncation=True, max_length=9, return_offsets_mapping=True)
    expected = tiny_tokenizer.encode_pair(TEXTS[0], PAIRS[1], max_length=9)
    assert (encoding.input_ids, encoding.token_type_ids) == (expected.input_ids, expected.token_type_ids)
    assert len(encoding.offset_mapping) == 9
    separator = encoding.input_ids.index(tiny_tokenizer.sep_id)
    assert [encoding.offset_mapping[index] for index in (0, separator, 8)] == [(0, 0)] * 3
    start, end = encoding.offset_mapping[separator + 1]
    assert PAIRS[1][start:end] == "th"


def test_arrays_hold_int64(tiny_tokenizer):
    arrays = tiny_tokenizer(TEXTS, padding=True, return_tensors="np", return_offsets_mapping=True)
    assert {array.dtype for array in arrays.values()} == {np.dtype("int64")}
    assert arrays.offset_mapping.shape == (*arrays.input_ids.shape, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"return_tensors": "pt"}, "different lengths; add padding=True"),
        ({"return_tensors": "tf", "padding": True}, "expected 'pt' or 'np'"),
        ({"padding": "max_length"}, "needs max_length"),
        ({"padding": "maxlength"}, "padding: found 'maxlength'; expected True, False, 'longest' or 'max_length'"),
    ],
)
def test_tokenizer_call_refuses_options_that_cannot_work(tiny_tokenizer, options, message):
    with pytest.raises(ConfigError, match=message):
        tiny_tokenizer(TEXTS, **options)


def test_tokenizer_call_takes_a_list_of_pairs_as_a_batch(tiny_tokenizer):
    pairs = [("the film", "was good"), ("a play", "it was bad")]
    firsts, seconds = zip(*pairs, strict=True)
    assert tiny_tokenizer(pairs) == tiny_tokenizer(list(firsts), list(seconds))


def test_tokenizer_call_names_a_value_that_is_no_text(tiny_tokenizer):
    with pytest.raises(DataError, match="tokenizer: found None among the texts"):
        tiny_tokenizer(["the film", None])


def test_as_many_second_texts_as_first_are_needed(tiny_tokenizer):
    with pytest.raises(DataError, match="2 texts for 3 first texts"):
        tiny_tokenizer(TEXTS, PAIRS[:2])


def test_batch_encoding_error_names_its_fields(tiny_tokenizer):
    with pytest.raises(AttributeError, match="has input_ids, token_type_ids, attention_mask, but no 'labels'"):
        _ = tiny_tokenizer(TEXTS[0]).labels


def test_truncation_without_max_length_is_that_of_released_models(tiny_tokenizer):
    assert len(tiny_tokenizer("film " * 2000, truncation=True)["input_ids"]) == 512


def test_tokenizer_pads_one_text_to_a_length_without_a_batch_dimension(tiny_tokenizer):
    padded = tiny_tokenizer(TEXTS[0], padding="max_length", max_length=40)
    plain = tiny_tokenizer(TEXTS[0])
    length = len(plain["input_ids"])
    assert padded["input_ids"] == [*plain["input_ids"], *[tiny_tokenizer.pad_id] * (40 - length)]
    assert padded["attention_mask"] == [1] * length + [0] * (40 - length)
