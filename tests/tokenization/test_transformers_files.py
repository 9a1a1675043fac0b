import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from litebert.tasks.masked_text import masked_feature
from litebert.tokenization.normalize import without_surrogates
from litebert.tokenization.sentencepiece_model import SentencePieceModel
from litebert.tokenization.sentencepiece_proto import ModelFile, parse_model
from litebert.tokenization.text_settings import TextSettings
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.transformers_files import pipeline, text_settings, tokenizer_config, unigram_tokenizer
from support.data.tokenizer_material import lines_of_books, odd_texts


@pytest.fixture(scope="module")
def theirs_for(tmp_path_factory):
    """The `AutoTokenizer` of a saved tokenizer."""
    transformers = pytest.importorskip("transformers")

    def load(ours: Tokenizer):
        directory = tmp_path_factory.mktemp("theirs")
        ours.save(directory)
        (directory / "config.json").write_text(json.dumps({"model_type": "albert"}))
        return transformers.AutoTokenizer.from_pretrained(directory)

    return load


@pytest.fixture(scope="module")
def theirs(rebuilt, theirs_for):
    """A tokenizer with given settings, and its `AutoTokenizer`."""

    def load(**values: bool):
        ours = rebuilt(**{"digit_comma": False, **values})
        return ours, theirs_for(ours)

    return load


@pytest.fixture(scope="module")
def lowercased(theirs):
    return theirs()


@pytest.fixture(scope="module")
def with_rule(theirs):
    return theirs(digit_comma=True)


@pytest.fixture(scope="module")
def cased(theirs):
    return theirs(lowercase=False)


def assert_same_ids(pair, text: str) -> None:
    ours, their = pair
    assert their(text, add_special_tokens=False)["input_ids"] == ours.encode(text)


def without_special_tokens(text: str) -> str:
    """transformers encodes a special token in a text as that token; litebert never does."""
    return without_surrogates(text).replace("[", "").replace("<", "")


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(text=odd_texts().map(without_special_tokens))
def test_auto_tokenizer_gives_the_same_ids(lowercased, cased, text):
    assert_same_ids(lowercased, text)
    assert_same_ids(cased, text)


@pytest.mark.parametrize("text", ["The café (in 1999)...", '"A - B", £5 – 6€.', "x\u00a0\x1cy", "É", "", "ΟΔΟΣ ΣΑΣ."])
@pytest.mark.parametrize("values", [{"keep_accents": True}, {"keep_accents": True, "lowercase": False}])
def test_auto_tokenizer_gives_the_same_ids_with_accents(theirs, values, text):
    assert_same_ids(theirs(**values), text)


def test_auto_tokenizer_gives_segment_ids_for_pairs(lowercased):
    ours, their = lowercased
    encoding = ours.encode_pair("the street", "the garden")
    assert their("the street", "the garden")["input_ids"] == encoding.input_ids
    assert their("the street", "the garden")["token_type_ids"] == encoding.token_type_ids


def test_auto_tokenizer_knows_the_special_tokens(lowercased):
    ours, their = lowercased
    assert (their.pad_token_id, their.unk_token_id, their.cls_token_id) == (ours.pad_id, ours.unk_id, ours.cls_id)
    assert (their.sep_token_id, their.mask_token_id) == (ours.sep_id, ours.mask_id)
    assert their("the [MASK].", add_special_tokens=False)["input_ids"].count(ours.mask_id) == 1
    assert len(their) == ours.vocab_size


@pytest.mark.parametrize(
    "text",
    ["The sky is [MASK].", "[MASK], he said", "the [MASK] sky", "[MASK] [MASK]!", "([MASK])", "x[MASK] y", " [MASK] "],
)
def test_auto_tokenizer_reads_masks_as_fill_mask_does(lowercased, text):
    ours, their = lowercased
    assert their(text)["input_ids"] == masked_feature(text, ours, max_length=64).input_ids.tolist()


@given(numbers=st.lists(st.sampled_from(("1999,", "2010,", "12,", "9,", "in", "street,", "7")), max_size=6))
def test_auto_tokenizer_follows_the_digit_comma_rule_at_the_end_of_a_number(with_rule, numbers):
    assert_same_ids(with_rule, " ".join(numbers))


def test_auto_tokenizer_lacks_the_word_start_inside_a_word(with_rule):
    ours, their = with_rule
    assert ours.pieces("x2,") == ["▁", "x", "▁", "2", ","]
    assert their.tokenize("x2,") == ["▁", "x", "2", ","]


@pytest.mark.parametrize("digit_comma", [False, True])
def test_auto_tokenizer_gives_the_same_ids_for_lines_of_books(released, theirs_for, digit_comma):
    """Measured: 9,999 lines, with the rule and without; the last is a tie (over-ruling: ru ling, rul ing)."""
    ours = Tokenizer(
        SentencePieceModel(released.model.content, TextSettings(digit_comma=digit_comma), where="released")
    )
    lines = lines_of_books(10_000)
    ids = theirs_for(ours)(lines, add_special_tokens=False)["input_ids"]
    same = sum(a == b for a, b in zip(ours.encode_batch(lines), ids, strict=True))
    assert same >= 0.999 * len(lines)


def test_tokenizer_config_keeps_the_settings(rebuilt):
    for values in ({}, {"lowercase": False}, {"keep_accents": True}, {"digit_comma": False}):
        model = rebuilt(**values).model
        assert (
            text_settings(tokenizer_config(model.settings, model.specials, max_length=512), where="config")
            == model.settings
        )


def test_unigram_tokenizer_without_a_charsmap_has_no_precompiled_step(numbers):
    bare = ModelFile(parse_model(numbers.model.content).pieces, b"")
    written = unigram_tokenizer(bare, numbers.settings, numbers.model.specials, never=())
    steps = written["normalizer"]["normalizers"]
    assert "Precompiled" not in [step["type"] for step in steps]


def test_added_tokens_are_sorted_by_id():
    specials = {"pad": "p", "cls": "c", "sep": "s"}
    tokens = pipeline({"s": 0, "c": 1, "p": 2}, specials)["added_tokens"]
    assert [token["content"] for token in tokens] == ["s", "c", "p"]
