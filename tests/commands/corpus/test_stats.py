"""`corpus stats`: statistics as text, JSON and plots."""

import json

import pytest

from litebert.commands.corpus.stats import stats
from litebert.commands.tokenizer import train
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.vocabulary_training import TokenizerSettings
from support.data.texts import write_documents

SETTINGS = SamplingSettings(max_length=32)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    here = tmp_path_factory.mktemp("statistics")
    text = write_documents(here / "a.txt", documents=40)
    train([text], TokenizerSettings(vocab_size=50, character_coverage=1.0), here / "tokenizer")
    build_corpus([text], Tokenizer.load(here / "tokenizer"), CorpusSettings(validation_fraction=0.3), here / "corpus")
    return here / "corpus"


@pytest.mark.parametrize("split", ["train", "validation"])
def test_stats_as_text_and_json(corpus, split):
    found = stats(corpus, SETTINGS, split=split, examples=100, seed=0, plots=None)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["split"] == split
    assert plain["text"]["documents"]["count"] == found.text.documents.total
    assert plain["examples"]["masked_share"] == pytest.approx(0.15, abs=0.05)
    assert plain["examples"]["lengths"]["max"] <= 32
    assert found.to_text().startswith(f"{corpus} ({split})\ndocuments: ")


def test_stats_writes_plots(corpus, tmp_path):
    pytest.importorskip("matplotlib")
    stats(corpus, SETTINGS, split="train", examples=100, seed=0, plots=tmp_path / "new" / "plots")
    for name in ("lengths.png", "examples.png"):
        assert (tmp_path / "new" / "plots" / name).read_bytes().startswith(b"\x89PNG")


def test_stats_refuses_zero_examples(corpus):
    with pytest.raises(ConfigError, match="examples: must be at least 1"):
        stats(corpus, SETTINGS, split="train", examples=0, seed=0, plots=None)
