import sys

import pytest
from hypothesis import given

from litebert.errors import DataError, MissingExtraError
from litebert.tokenization.text_settings import TextSettings
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.wordpiece_model import WordPieceModel
from support.data.tokenizer_material import odd_texts

PIECES = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat ##s sat , . 我 爱 北 京 un ##able e The é".split()  # noqa: SIM905
CONTENT = ("\n".join(PIECES) + "\n").encode()


@pytest.fixture(scope="module")
def chinese() -> Tokenizer:
    pytest.importorskip("tokenizers")
    return Tokenizer(WordPieceModel(CONTENT, TextSettings(), where="vocab.txt"))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("The cats sat.", ["the", "cat", "##s", "sat", "."]),
        ("我爱北京", ["我", "爱", "北", "京"]),
        ("unable zebra", ["un", "##able", "zebra"]),
        ("É\t[MASK]", ["e", "[", "MASK", "]"]),
        ("the" * 70, ["the" * 70]),
        ("", []),
    ],
)
def test_wordpiece_pieces_equal_bert(chinese, text, pieces):
    assert chinese.pieces(text) == pieces


def test_wordpiece_special_tokens_have_their_own_ids(chinese):
    ids = (chinese.pad_id, chinese.unk_id, chinese.cls_id, chinese.sep_id, chinese.mask_id)
    assert ids == (0, 1, 2, 3, 4)
    assert not {0, 2, 3, 4} & set(chinese.encode("[PAD] [CLS] [SEP] [MASK]"))


@given(text=odd_texts())
def test_wordpiece_ids_pieces_and_offsets_have_equal_lengths(chinese, text):
    ids, offsets = chinese.encode_with_offsets(text)
    assert ids == chinese.encode(text)
    assert len(ids) == len(offsets) == len(chinese.pieces(text))
    assert all(0 <= start < end <= len(text) for start, end in offsets)


def test_wordpiece_offsets_refer_to_the_original_text(chinese):
    text = "The  cats, 我"
    assert [text[start:end] for start, end in chinese.encode_with_offsets(text)[1]] == ["The", "cat", "s", ",", "我"]


def test_wordpiece_decode_joins_pieces_and_skips_special_tokens(chinese):
    assert chinese.decode(chinese.encode_pair("the cats", "sat").input_ids) == "the cats sat"
    assert chinese.decode(chinese.encode("the zebra")) == "the [UNK]"


def test_wordpiece_word_starts_are_pieces_without_prefix(chinese):
    continuations = [piece for piece, starts in zip(PIECES, chinese.word_starts) if not starts]
    assert continuations == ["##s", "##able"]
    assert (chinese.word_starts == chinese.google_word_starts).all()


def test_wordpiece_settings_equal_bert():
    pytest.importorskip("tokenizers")
    cased = Tokenizer(WordPieceModel(CONTENT, TextSettings(lowercase=False), where="vocab.txt"))
    assert cased.pieces("The É") == ["The", "É"]
    accents = Tokenizer(WordPieceModel(CONTENT, TextSettings(keep_accents=True), where="vocab.txt"))
    assert accents.pieces("The É") == ["the", "é"]
    assert not accents.settings.digit_comma


def test_wordpiece_directory_is_loaded_as_it_was_saved(chinese, tmp_path):
    chinese.save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    assert loaded.fingerprint == chinese.fingerprint
    assert Tokenizer.load(tmp_path / "vocab.txt").encode("the cats") == chinese.encode("the cats")


def test_wordpiece_auto_tokenizer_gives_the_same_ids(chinese, tmp_path):
    transformers = pytest.importorskip("transformers")
    chinese.save(tmp_path)
    their = transformers.AutoTokenizer.from_pretrained(tmp_path)
    encoding = chinese.encode_pair("The cats, 我爱 É", "unable")
    assert their("The cats, 我爱 É", "unable")["input_ids"] == encoding.input_ids
    assert their("The cats, 我爱 É", "unable")["token_type_ids"] == encoding.token_type_ids


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"[PAD]\n\xff\n", "not UTF-8"),
        (b"[PAD]\nthe\n", r"has no piece '\[UNK\]'"),
        (CONTENT + b"cat\n", "holds the piece 'cat' twice"),
    ],
)
def test_wordpiece_vocabulary_refuses_other_files_by_name(content, problem):
    pytest.importorskip("tokenizers")
    with pytest.raises(DataError, match=rf"^my/vocab\.txt: .*{problem}"):
        WordPieceModel(content, TextSettings(), where="my/vocab.txt")


def test_wordpiece_vocabulary_may_have_the_line_ends_of_windows():
    pytest.importorskip("tokenizers")
    model = WordPieceModel(CONTENT.replace(b"\n", b"\r\n"), TextSettings(), where="vocab.txt")
    assert list(model.vocabulary) == PIECES


def test_wordpiece_without_the_tokenizers_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"litebert\[hf\]"):
        WordPieceModel(CONTENT, TextSettings(), where="vocab.txt")


def test_fingerprint_of_a_tokenizer_stays_that_of_stored_corpora(chinese):
    """Corpora and runs hold it: another value would refuse all that were made before."""
    assert chinese.fingerprint == "72a426133fad8ef129f449b953d1a32ae503a68322720f7f95d33129cc240d31"
