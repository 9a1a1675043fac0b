import pytest

from litebert.corpus.settings import CorpusSettings, ExampleSettings
from litebert.errors import ConfigError


@pytest.mark.parametrize("cls", [CorpusSettings, ExampleSettings])
def test_settings_survive_a_round_trip(cls):
    assert cls.parse(cls().to_dict(), where="test") == cls()


@pytest.mark.parametrize(
    ("cls", "field", "value"),
    [
        (CorpusSettings, "held_out_fraction", 1.0),
        (CorpusSettings, "shard_bytes", 0),
        (CorpusSettings, "longest_sentence", 0),
        (CorpusSettings, "sentences", "words"),
        (ExampleSettings, "max_length", 7),
        (ExampleSettings, "masked_fraction", 0.0),
        (ExampleSettings, "max_ngram", 0),
        (ExampleSettings, "max_predictions", 0),
        (ExampleSettings, "pairing", "mop"),
        (ExampleSettings, "short_every", -1),
    ],
)
def test_values_out_of_range_are_refused_by_name(cls, field, value):
    with pytest.raises(ConfigError, match=field):
        cls.parse({field: value}, where="test")


def test_shares_of_masked_and_random_tokens_must_fit_into_one():
    with pytest.raises(ConfigError, match="must not add up to more than 1"):
        ExampleSettings.parse({"mask_probability": 0.9, "random_probability": 0.2}, where="test")
