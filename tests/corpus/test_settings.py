import pytest

from litebert.corpus.settings import CorpusSettings
from litebert.errors import ConfigError


def test_settings_survive_a_round_trip():
    assert CorpusSettings.parse(CorpusSettings().to_dict(), where="test") == CorpusSettings()


@pytest.mark.parametrize(
    ("field", "value"),
    [("held_out_fraction", 1.0), ("shard_bytes", 0), ("longest_sentence", 0), ("sentences", "words")],
)
def test_values_out_of_range_are_refused_by_name(field, value):
    with pytest.raises(ConfigError, match=field):
        CorpusSettings.parse({field: value}, where="test")
