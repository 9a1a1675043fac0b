import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError, DataError
from litebert.tokenization.normalize import normalize
from litebert.tokenization.tokenizer import Encoding, truncated_lengths
from support.data.tokenizer_material import number_like_texts


def popped_lengths(first: int, second: int, budget: int) -> tuple[int, int]:
    """The loop of google-research/albert: pop the last token of the longer segment, on a tie of the second."""
    while first + second > budget:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 40))
def test_truncation_equals_google_research_albert(first, second, budget):
    assert truncated_lengths(first, second, budget=budget) == popped_lengths(first, second, budget)


def test_special_ids_equal_google_research_albert(numbers):
    ids = (numbers.pad_id, numbers.unk_id, numbers.cls_id, numbers.sep_id, numbers.mask_id)
    assert ids == (0, 1, 2, 3, 4)
    assert [numbers.id_to_piece(index) for index in ids] == ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]


def test_encode_pair_puts_one_text_between_cls_and_sep(numbers):
    ids = numbers.encode("the street")
    assert numbers.encode_pair("the street") == Encoding([2, *ids, 3], [0] * (len(ids) + 2))


def test_encode_pair_gives_two_segments(numbers):
    first, second = numbers.encode_batch(["the street", "1999"])
    encoding = numbers.encode_pair("the street", "1999")
    assert encoding.input_ids == [2, *first, 3, *second, 3]
    assert encoding.token_type_ids == [0] * (len(first) + 2) + [1] * (len(second) + 1)


@given(first=number_like_texts(), second=st.none() | number_like_texts(), max_length=st.integers(3, 20))
def test_encode_pair_never_exceeds_max_length(numbers, first, second, max_length):
    encoding = numbers.encode_pair(first, second, max_length=max_length)
    assert len(encoding.input_ids) == len(encoding.token_type_ids) <= max_length
    assert encoding.input_ids.count(numbers.sep_id) == (1 if second is None else 2)
    assert encoding.input_ids[-1] == numbers.sep_id


@pytest.mark.parametrize(("second", "max_length"), [(None, 1), ("b", 2)])
def test_build_inputs_refuses_max_length_below_the_special_tokens(numbers, second, max_length):
    with pytest.raises(ConfigError, match="max_length"):
        numbers.encode_pair("a", second, max_length=max_length)


@given(texts=st.lists(number_like_texts(), max_size=4))
def test_encode_batch_equals_encode(numbers, texts):
    assert numbers.encode_batch(texts) == [numbers.encode(text) for text in texts]


@given(text=st.text("aeh 129.", max_size=20).map(lambda text: " ".join(text.split())))
def test_decode_undoes_encode(rebuilt, text):
    plain = rebuilt(digit_comma=False)
    assert plain.decode(plain.encode(text)) == normalize(text, lowercase=True, keep_accents=False)


def test_decode_skips_special_tokens(numbers):
    assert numbers.decode(numbers.encode_pair("the street", "was").input_ids) == "the street was"


@pytest.mark.parametrize("index", [-1, 80])
def test_decode_refuses_ids_outside_the_vocabulary(numbers, index):
    with pytest.raises(DataError, match="outside the vocabulary"):
        numbers.id_to_piece(index)
    with pytest.raises(DataError, match="outside the vocabulary"):
        numbers.decode([index])


def test_fingerprint_depends_on_vocabulary_and_every_setting(numbers, rebuilt):
    changed = [{"lowercase": False}, {"keep_accents": True}, {"digit_comma": False}]
    prints = {rebuilt(**settings).fingerprint for settings in changed} | {numbers.fingerprint}
    assert len(prints) == 4
    assert rebuilt().fingerprint == numbers.fingerprint


def test_text_settings_all_change_the_ids(numbers, rebuilt):
    text = "The CAFÉ, 12, É."
    for settings in ({"lowercase": False}, {"keep_accents": True}, {"digit_comma": False}):
        assert rebuilt(**settings).encode(text) != numbers.encode(text)


def test_tokenizer_can_be_sent_to_other_processes(numbers):
    assert pickle.loads(pickle.dumps(numbers)).encode("in 1999, the café") == numbers.encode("in 1999, the café")


def test_encode_accepts_lone_surrogates(numbers):
    text = "the \ud800street"
    assert numbers.encode(text) == numbers.encode("the \ufffdstreet")
    assert len(numbers.encode_with_offsets(text)[0]) == len(numbers.pieces(text))


def test_tokenization_imports_no_torch():
    modules = "litebert.tokenization.vocabulary_training, litebert.tokenization.vocabulary_report"
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_encode_pair_of_the_special_tokens_alone_is_allowed(numbers):
    assert numbers.encode_pair("the street", max_length=2).input_ids == [2, 3]
    assert numbers.encode_pair("the street", "1999", max_length=3).input_ids == [2, 3, 3]
