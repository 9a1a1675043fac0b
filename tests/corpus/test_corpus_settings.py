import pytest

from litebert.corpus.corpus_settings import CorpusSettings
from litebert.errors import ConfigError


def test_corpus_settings_survive_a_round_trip():
    assert CorpusSettings.parse(CorpusSettings().to_dict(), where="test") == CorpusSettings()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("validation_fraction", 1.0),
        ("shard_bytes", 0),
        ("max_sentence_chars", 0),
        ("sentences", "words"),
        ("dedup_minhash_threshold", 0.4),
    ],
)
def test_corpus_settings_out_of_range_are_refused_by_name(field, value):
    with pytest.raises(ConfigError, match=field):
        CorpusSettings.parse({field: value}, where="test")


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "cp1252", "iso8859_15", "gbk", "shift_jis", "koi8-r"])
def test_encodings_that_extend_ascii_are_accepted(encoding):
    assert CorpusSettings(encoding=encoding).encoding == encoding


@pytest.mark.parametrize("name", ["latin-1", "latin1", "ISO-8859-1", "l1"])
def test_latin_1_is_read_as_windows_1252(name):
    assert CorpusSettings(encoding=name).encoding == "cp1252"


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("latin1x", r"encoding.*unknown encoding \(did you mean 'latin1'.*; expected one of Python's, such as utf-8"),
        ("hex", "encoding.*unknown encoding.*; expected one of Python's"),
        ("utf-16", "encoding.*not an extension of ASCII; convert the files to UTF-8"),
        ("idna", "not an extension of ASCII"),
        ("cp037", "not an extension of ASCII"),
    ],
)
def test_other_encodings_are_refused(encoding, message):
    with pytest.raises(ConfigError, match=message):
        CorpusSettings.parse({"encoding": encoding}, where="test")


def test_max_document_chars_must_be_below_a_quarter_of_shard_bytes():
    assert CorpusSettings(max_document_chars=249, shard_bytes=1000)
    with pytest.raises(ConfigError, match="max_document_chars 250 must be less than a quarter of shard_bytes 1000"):
        CorpusSettings.parse({"max_document_chars": 250, "shard_bytes": 1000}, where="test")
