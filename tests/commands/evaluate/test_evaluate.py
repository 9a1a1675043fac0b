"""Evaluation of a pretrained model on held-out text."""

import json

import pytest

from litebert.commands.evaluate.evaluate import evaluate
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import CheckpointError, ConfigError, DataError
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.models import ForMaskedLM, ForPretraining, ForQuestionAnswering
from litebert.settings import write_yaml
from litebert.tokenization.tokenizer import Tokenizer

SIZES = {"embedding_size": 8, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


def scores_of(model, corpus, *sampling, **options):
    sampling = ("max_length=32", *sampling)
    run = EvaluateRun(model=str(model), corpus=corpus, sampling=sampling, max_eval_examples=64, **options)
    return evaluate(run).to_dict()


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


def test_evaluate_on_a_corpus_scores_a_masked_lm_without_pair_objectives(tmp_path, corpus_directory, tokenizer):
    model = saved(tmp_path / "model", tokenizer, ForMaskedLM)
    scores = scores_of(model, corpus_directory)
    assert scores["mlm_count"] > 0
    assert scores["sentence_pairs"] == {}
    with pytest.raises(ConfigError, match="ForMaskedLM has no sentence-pair head"):
        scores_of(model, corpus_directory, "pairing=sop")


def test_evaluate_on_a_corpus_rejects_a_model_without_a_masked_lm_head(tmp_path, corpus_directory, tokenizer):
    model = saved(tmp_path / "model", tokenizer, ForQuestionAnswering)
    with pytest.raises(ConfigError, match="a ForQuestionAnswering has no masked-LM head"):
        scores_of(model, corpus_directory)


def test_evaluate_draws_examples_as_the_run_unless_told(tmp_path, corpus_directory, tokenizer, caplog):
    caplog.set_level("INFO")
    model = saved(tmp_path / "run" / "model", tokenizer)
    sampling = SamplingSettings(max_length=48, pairing="nsp", max_ngram=1, mlm_probability=0.4)
    settings = {"command": "pretrain", "sampling": sampling.to_dict(), "eval_pair_objectives": []}
    (tmp_path / "run" / "settings.yaml").write_text(write_yaml(settings))
    own = evaluate(EvaluateRun(model=str(tmp_path / "run"), corpus=corpus_directory)).to_dict()
    assert list(own["sentence_pairs"]) == ["nsp"]
    assert "at most 48 tokens, pairing nsp, drawn as in its pretraining" in caplog.text
    alone = save_model(load_model(model), tmp_path / "alone", extra_files=tokenizer.files())
    told = ("max_length=48", "pairing=nsp", "max_ngram=1", "mlm_probability=0.4")
    same = evaluate(
        EvaluateRun(model=str(alone), corpus=corpus_directory, sampling=told, eval_pair_objectives=("nsp",))
    )
    assert same.to_dict() == own
    other = evaluate(EvaluateRun(model=str(tmp_path / "run"), corpus=corpus_directory, sampling=("pairing=sop",)))
    assert list(other.to_dict()["sentence_pairs"]) == ["sop"]


def test_evaluate_draws_examples_by_a_preset_that_is_given(tmp_path, corpus_directory, tokenizer):
    """The settings of the preset replace those of the pretraining, and settings beside it replace the preset's."""
    trained = SamplingSettings(max_length=32, max_ngram=3, mlm_probability=0.25)
    run = EvaluateRun(model="m", corpus=corpus_directory, sampling=("preset=bert", "mlm_probability=0.1"))
    drawn = run.drawn_as(trained.to_dict())
    assert (drawn.mask_unit, drawn.max_ngram, drawn.max_length, drawn.mlm_probability) == ("token", 1, 32, 0.1)
    with pytest.raises(ConfigError, match="sampling: preset: unknown preset 'beart'"):
        EvaluateRun(model="m", corpus=corpus_directory, sampling=("preset=beart",))


def test_evaluate_scores_a_sentence_pair_head_without_training_only_if_told(tmp_path, corpus_directory, tokenizer):
    config = ModelConfig(vocab_size=tokenizer.vocab_size, intermediate_size=32, **SIZES)
    model = save_model(ForPretraining(config, pairing="none"), tmp_path / "model", extra_files=tokenizer.files())
    assert scores_of(model, corpus_directory)["sentence_pairs"] == {}
    assert list(scores_of(model, corpus_directory, eval_pair_objectives=("sop",))["sentence_pairs"]) == ["sop"]


def test_evaluate_finds_the_run_of_a_model_in_the_working_directory(
    tmp_path, corpus_directory, tokenizer, caplog, monkeypatch
):
    caplog.set_level("INFO")
    model = saved(tmp_path / "run" / "model", tokenizer)
    settings = {"command": "pretrain", "sampling": {"max_length": 40, "pairing": "nsp"}, "eval_pair_objectives": []}
    (tmp_path / "run" / "settings.yaml").write_text(write_yaml(settings))
    monkeypatch.chdir(model)
    evaluate(EvaluateRun(model=".", corpus=corpus_directory, max_eval_examples=64))
    assert "at most 40 tokens, pairing nsp, drawn as in its pretraining" in caplog.text


def test_evaluate_draws_examples_as_a_model_directory_says_wherever_it_is(
    tmp_path, corpus_directory, tokenizer, caplog
):
    caplog.set_level("INFO")
    drawn = {"sampling": {"max_length": 40, "pairing": "nsp"}, "eval_pair_objectives": ["sop"]}
    model = saved(tmp_path / "elsewhere", tokenizer)
    (model / "pretraining_settings.json").write_text(json.dumps(drawn))
    scores = evaluate(EvaluateRun(model=str(model), corpus=corpus_directory, max_eval_examples=64))
    assert set(scores.to_dict()["sentence_pairs"]) == {"nsp", "sop"}
    assert "at most 40 tokens, pairing nsp, drawn as in its pretraining; change this by" in caplog.text
    scores_of(model, corpus_directory, "max_length=32")
    assert "at most 32 tokens, pairing nsp, drawn as in its pretraining, but max_length=32" in caplog.text


def test_evaluate_rejects_examples_longer_than_the_model_reads(tmp_path, corpus_directory, tokenizer):
    model = saved(tmp_path / "model", tokenizer)
    with pytest.raises(ConfigError, match=r"sampling: max_length 1024, but .* reads 512 tokens"):
        scores_of(model, corpus_directory, "max_length=1024")


@pytest.mark.parametrize(
    ("text", "scored", "missing"),
    [
        ("One sentence here.\nAnother one follows.\nAnd the third.\n", ["sop"], "no two documents, so nsp"),
        ("Just one sentence.\n", [], "no two sentences in a document, so sop"),
    ],
)
def test_evaluate_skips_pair_objectives_that_the_split_cannot_have(
    tmp_path, text_file, tokenizer, caplog, text, scored, missing
):
    (tmp_path / "validation.txt").write_text(text * 4 if scored else text)
    model = saved(tmp_path / "model", tokenizer)
    settings = CorpusSettings(validation_fraction=0.0)
    build_corpus([text_file], tokenizer, settings, tmp_path / "corpus", validation=[str(tmp_path / "validation.txt")])
    scores = scores_of(model, tmp_path / "corpus", eval_pair_objectives=("sop", "nsp"))
    assert list(scores["sentence_pairs"]) == scored
    assert f"the validation split has {missing} is not scored" in caplog.text


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


def test_corpus_of_validation_text_alone_is_for_evaluation_only(tmp_path, tokenizer):
    texts = tmp_path / "passages.txt"
    texts.write_text("\n\n".join(f"The river rose {n} times. It fell again. Then it froze." for n in range(40)))
    corpus = tmp_path / "corpus"
    build_corpus([], tokenizer, CorpusSettings(), corpus, validation=[str(texts)])
    model = saved(tmp_path / "model", tokenizer)
    scores = scores_of(model, corpus, eval_pair_objectives=("sop", "nsp"))
    assert scores["mlm_count"] > 0
    assert set(scores["sentence_pairs"]) == {"sop", "nsp"}
    with pytest.raises(DataError, match="the train split has no documents; it is for evaluation"):
        Corpus.open(corpus, "train")


@pytest.mark.parametrize(
    ("source", "name", "value", "reader"),
    [
        ({"corpus": "c"}, "fast", True, "--suite"),
        ({"corpus": "c"}, "scoring", "causal", "--suite"),
        ({"corpus": "c"}, "temperature", 0.5, "--suite"),
        ({"data": "x.csv"}, "masking", "whole_word", "--suite"),
        ({"corpus": "c"}, "metrics", ("f1",), "--data or --task"),
        ({"suite": "s", "corpus": "c"}, "report", "page.html", "--data or --task"),
        ({"suite": "s", "corpus": "c"}, "sampling", ("max_length=64",), "--corpus without --suite"),
        ({"data": "x.csv"}, "max_eval_examples", 5, "--corpus without --suite"),
        ({"task": "cola", "task_dir": "d"}, "eval_pair_objectives", ("nsp",), "--corpus without --suite"),
        ({"suite": "s"}, "columns", {"text": "body"}, "--data or --task"),
        ({"corpus": "c"}, "unlabelled_rows", "skip", "--data or --task"),
    ],
)
def test_settings_that_the_source_does_not_read_are_refused(source, name, value, reader):
    with pytest.raises(ConfigError, match=f"{name}: read only with {reader}"):
        EvaluateRun(model="m", **source, **{name: value})


def test_rows_of_a_benchmark_all_need_labels():
    with pytest.raises(ConfigError, match=r"unlabelled_rows: only for a file \(--data\); leave it out"):
        EvaluateRun(model="m", task="cola", task_dir="d", unlabelled_rows="skip")


@pytest.mark.parametrize("temperature", [0.0, -1.0, 1e-9, float("inf")])
def test_temperature_that_would_not_leave_finite_scores_is_refused(temperature):
    with pytest.raises(ConfigError, match="temperature"):
        EvaluateRun(model="m", suite="s", temperature=temperature)
