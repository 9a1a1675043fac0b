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


def test_max_document_chars_must_be_below_a_quarter_of_shard_bytes():
    assert CorpusSettings(max_document_chars=249, shard_bytes=1000)
    with pytest.raises(ConfigError, match="max_document_chars 250 must be less than a quarter of shard_bytes 1000"):
        CorpusSettings.parse({"max_document_chars": 250, "shard_bytes": 1000}, where="test")
