"""Scoring a model on held-out text: the figures of its training, or the reason why there are none."""

import pytest

from litebert.commands.evaluate.evaluate import evaluate_held_out
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import CheckpointError, ConfigError, DataError
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForMaskedLM, ForPretraining
from litebert.tokenization.tokenizer import Tokenizer

EXAMPLES = SamplingSettings(max_length=32)
SIZES = {"embedding_size": 8, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


@pytest.fixture(scope="module")
def tokenizer(corpus_directory):
    return Tokenizer.load(Corpus.open(corpus_directory).tokenizer_directory)


def saved(directory, tokenizer, kind=ForPretraining):
    config = ModelConfig(vocab_size=tokenizer.vocab_size, intermediate_size=32, **SIZES)
    return save_model(kind(config), directory, extra_files=tokenizer.files())


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_pretrained_model_is_scored_the_same_every_time(tmp_path, corpus_directory, tokenizer, precision):
    model = saved(tmp_path / "model", tokenizer)
    scores = [
        evaluate_held_out(model, corpus_directory, EXAMPLES, max_eval_examples=64, precision=precision)
        for _ in range(2)
    ]
    assert scores[0] == scores[1]
    assert scores[0].mlm_count > 0


def test_a_model_without_pretraining_heads_is_refused(tmp_path, corpus_directory, tokenizer):
    model = saved(tmp_path / "model", tokenizer, ForMaskedLM)
    with pytest.raises(ConfigError, match="a ForMaskedLM has no pretraining heads"):
        evaluate_held_out(model, corpus_directory, EXAMPLES, max_eval_examples=64)


def test_a_corpus_of_another_tokenizer_is_refused(tmp_path, tiny_tokenizer, tokenizer, text_file):
    model = saved(tmp_path / "model", tokenizer)
    build_corpus([text_file], tiny_tokenizer, CorpusSettings(validation_fraction=0.2), tmp_path / "corpus")
    with pytest.raises(ConfigError, match="was built with another tokenizer"):
        evaluate_held_out(model, tmp_path / "corpus", EXAMPLES, max_eval_examples=64)


def test_what_is_not_there_is_named(tmp_path, corpus_directory, tokenizer):
    with pytest.raises(CheckpointError, match="absent"):
        evaluate_held_out(tmp_path / "absent", corpus_directory, EXAMPLES, max_eval_examples=64)
    model = saved(tmp_path / "model", tokenizer)
    with pytest.raises(DataError, match="absent"):
        evaluate_held_out(model, tmp_path / "absent", EXAMPLES, max_eval_examples=64)
