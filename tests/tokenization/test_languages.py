"""Vocabularies of several languages: no unknown pieces, lossless decoding, the same ids in transformers."""

import itertools
import json
import unicodedata

import pytest

from litebert.tokenization.normalize import normalize
from litebert.tokenization.vocabulary_report import report_on
from litebert.tokenization.vocabulary_training import TokenizerSettings, VocabularyTooLargeError, train_tokenizer
from litebert.tokenization.word_starts import SPACE

PARTS = {
    "chinese": ("", "小猫|老师|我的朋友|那个学生", "在河边|在图书馆里|今天早上", "读书。|唱歌！|吃了三个苹果，"),
    "arabic": (" ", "الطالب|المعلّم|صديقي|القطة", "في المدرسة|قُرب النهر", "يقرأ كتابًا.|يغنّي.|يكتب رسالة،"),
    "finnish": (
        " ",
        "Koira|Ystäväni|Yö|Opettajamme",
        "kaupungissa|järvellä",
        "lukee kirjaa.|laulaa.|söi omenan, 1999,",
    ),
    "hindi": (" ", "लड़का|मेरी दोस्त|अध्यापक", "नदी के पास|स्कूल में", "किताब पढ़ता है।|गाता है।"),
    "korean": (" ", "학생이|선생님이|고양이가", "강가에서|도서관에서", "책을 읽는다.|노래한다."),
}
SETTINGS = {
    "lower-cased": {},
    "accents": {"keep_accents": True},
    "cased": {"lowercase": False, "keep_accents": True},
    "cased, no accents": {"lowercase": False},
}


def sentences(language: str) -> list[str]:
    space, *parts = PARTS[language]
    return [space.join(choice) for choice in itertools.product(*(part.split("|") for part in parts))]


@pytest.fixture(scope="module", params=itertools.product(PARTS, SETTINGS), ids=" ".join)
def trained(request, tmp_path_factory):
    """Sentences of a language, and a tokenizer trained on them."""
    language, way = request.param
    settings = TokenizerSettings(vocab_size=500, character_coverage=1.0, **SETTINGS[way])
    texts, directory = sentences(language), tmp_path_factory.mktemp("language")
    with pytest.raises(VocabularyTooLargeError) as refused:
        train_tokenizer(texts, settings, directory)
    return texts, train_tokenizer(texts, settings.replace(vocab_size=refused.value.largest), directory)


def test_decode_gives_the_normalized_text_in_every_language(trained):
    texts, tokenizer = trained
    assert report_on(tokenizer, texts).figures()["coverage"] == 1
    rules = {"lowercase": tokenizer.settings.lowercase, "keep_accents": tokenizer.settings.keep_accents}
    for text in texts:
        expected = unicodedata.normalize("NFKC", normalize(text, **rules))
        assert tokenizer.decode(tokenizer.encode(text)).replace(" ", "") == expected.replace(" ", "")


def test_offsets_slice_the_text_of_each_piece_in_every_language(trained):
    texts, tokenizer = trained
    for text in texts:
        for piece, (start, end) in zip(tokenizer.pieces(text), tokenizer.encode_with_offsets(text)[1], strict=True):
            spelt = "".join(tokenizer.pieces(text[start:end])).replace(SPACE, "")
            assert piece.replace(SPACE, "") in spelt


def test_exported_tokenizer_gives_the_same_ids(trained):
    tokenizers = pytest.importorskip("tokenizers")
    texts, tokenizer = trained
    theirs = tokenizers.Tokenizer.from_str(json.dumps(tokenizer.model.transformers_tokenizer()))
    encoded = theirs.encode_batch_fast(texts, add_special_tokens=False)
    assert [encoding.ids for encoding in encoded] == tokenizer.encode_batch(texts)
