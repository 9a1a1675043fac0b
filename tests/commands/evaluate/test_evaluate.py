"""Evaluation of a pretrained model on held-out text."""

import pytest

from litebert.commands.evaluate.evaluate import evaluate
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
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


def scores_of(model, corpus, **options):
    run = EvaluateRun(model=model, corpus=corpus, sampling=EXAMPLES, max_eval_examples=64, **options)
    return evaluate(run)[0]


@pytest.fixture(scope="module")
def tokenizer(corpus_directory):
    return Tokenizer.load(Corpus.open(corpus_directory).tokenizer_directory)


def saved(directory, tokenizer, kind=ForPretraining):
    config = ModelConfig(vocab_size=tokenizer.vocab_size, intermediate_size=32, **SIZES)
    return save_model(kind(config), directory, extra_files=tokenizer.files())


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_evaluate_on_a_corpus_is_deterministic(tmp_path, corpus_directory, tokenizer, precision):
    model = saved(tmp_path / "model", tokenizer)
    scores = [scores_of(model, corpus_directory, precision=precision) for _ in range(2)]
    assert scores[0] == scores[1]
    assert scores[0]["mlm_count"] > 0


def test_evaluate_on_a_corpus_rejects_a_model_without_pretraining_heads(tmp_path, corpus_directory, tokenizer):
    model = saved(tmp_path / "model", tokenizer, ForMaskedLM)
    with pytest.raises(ConfigError, match="a ForMaskedLM has no pretraining heads"):
        scores_of(model, corpus_directory)


def test_evaluate_rejects_a_corpus_of_another_tokenizer(tmp_path, tiny_tokenizer, tokenizer, text_file):
    model = saved(tmp_path / "model", tokenizer)
    build_corpus([text_file], tiny_tokenizer, CorpusSettings(validation_fraction=0.2), tmp_path / "corpus")
    with pytest.raises(ConfigError, match="was built with another tokenizer"):
        scores_of(model, tmp_path / "corpus")


def test_evaluate_names_a_missing_model_or_corpus(tmp_path, corpus_directory, tokenizer):
    with pytest.raises(CheckpointError, match="absent"):
        scores_of(tmp_path / "absent", corpus_directory)
    model = saved(tmp_path / "model", tokenizer)
    with pytest.raises(DataError, match="absent"):
        scores_of(model, tmp_path / "absent")
