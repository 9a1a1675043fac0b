"""Minimal pairs: read in BLiMP's format, preferred or not, averaged by paradigm."""

import json

import numpy as np
import pytest
import torch

from litebert.cli.main import main
from litebert.commands.evaluate.evaluate import evaluate
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.commands.evaluate.minimal_pairs import (
    MinimalPair,
    evaluate_minimal_pairs,
    read_minimal_pairs,
    summarize,
)
from litebert.errors import ConfigError, DataError, NotFiniteError
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForPretraining, ForSequenceClassification


def write_pairs(directory, name, pairs, term):
    lines = [json.dumps({"sentence_good": good, "sentence_bad": bad, "linguistics_term": term}) for good, bad in pairs]
    directory.mkdir(exist_ok=True)
    (directory / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return directory


@pytest.fixture
def pairs(tmp_path):
    write_pairs(tmp_path / "pairs", "agreement", [("the film was good", "the film good was")] * 3, "morphology")
    same = [("the film was good", "the film was good"), ("her first play", "play first her")]
    return write_pairs(tmp_path / "pairs", "order", same, "syntax")


def test_tie_counts_half_and_paradigms_weigh_alike():
    pairs = [MinimalPair("a", "b", name, "p") for name in ("one", "one", "one", "two")]
    scores = summarize(pairs, np.array([1, 1, 0.5, 0]), None, masking=None)
    assert [score.accuracy for score in scores.paradigms] == [pytest.approx(2.5 / 3), 0.0]
    assert scores.mean.accuracy == pytest.approx(2.5 / 6)
    assert scores.mean.unigram_accuracy is None


def test_model_is_scored_by_paradigm_and_phenomenon(pairs, small_config, tiny_tokenizer, tmp_path):
    model = save_model(ForPretraining(small_config, seed=1), tmp_path / "model", extra_files=tiny_tokenizer.files())
    counts = np.ones(tiny_tokenizer.vocab_size)
    scores = evaluate_minimal_pairs(model, pairs, counts=counts)
    assert [(score.name, score.pairs) for score in scores.paradigms] == [("agreement", 3), ("order", 2)]
    assert {score.name for score in scores.phenomena} == {"morphology", "syntax"}
    assert scores.paradigms[0].unigram_accuracy == 0.5, "the same tokens in another order are a tie"
    assert "mean of paradigms" in scores.to_text()
    assert "temperature" not in scores.to_text()
    assert "; temperature 0.5; --json" in evaluate_minimal_pairs(model, pairs, temperature=0.5).to_text()


def test_result_names_the_precision_that_auto_stands_for(pairs, small_config, tiny_tokenizer, tmp_path, monkeypatch):
    model = save_model(ForPretraining(small_config, seed=1), tmp_path / "model", extra_files=tiny_tokenizer.files())
    assert "precision" not in evaluate_minimal_pairs(model, pairs).to_text()
    monkeypatch.setattr("litebert.commands.evaluate.minimal_pairs.resolve_precision", lambda name, model: "bf16")
    scores = evaluate_minimal_pairs(model, pairs, precision="auto")
    assert scores.precision == "bf16"
    assert "; precision bf16; --json" in scores.to_text()


def test_first_pairs_of_each_paradigm_can_be_read_alone(pairs):
    assert len(read_minimal_pairs(pairs, most=1)) == 2
    assert len(read_minimal_pairs(pairs / "order.jsonl")) == 2


def test_model_without_masked_lm_head_is_refused(pairs, small_config, tiny_tokenizer, tmp_path):
    classifier = ForSequenceClassification(small_config, num_labels=2)
    model = save_model(classifier, tmp_path / "model", labels=("a", "b"), extra_files=tiny_tokenizer.files())
    with pytest.raises(ConfigError, match="no masked-LM head"):
        evaluate_minimal_pairs(model, pairs)


@pytest.mark.parametrize(("correct", "pairs"), [(99, 100), (100, 100), (1, 1), (0, 3)])
def test_the_mean_of_one_paradigm_has_the_interval_of_that_paradigm(correct, pairs):
    rows = [MinimalPair("a", "b", "one", "p")] * pairs
    scores = summarize(rows, np.arange(pairs) < correct, None, masking=None)
    for mean in (scores.mean, *scores.phenomena):
        assert mean.interval == pytest.approx(scores.paradigms[0].interval)


@pytest.mark.parametrize("line", ["no json", "[]", "{}", '{"sentence_good": "a", "sentence_bad": ""}'])
def test_minimal_pairs_refuse_a_line_without_a_pair_with_its_place(line, tmp_path):
    (tmp_path / "bad.jsonl").write_text(line + "\n")
    with pytest.raises(DataError, match=r"bad\.jsonl:1: "):
        read_minimal_pairs(tmp_path)


def test_a_file_of_several_phenomena_is_refused_with_the_place_of_the_second(tmp_path):
    lines = [{"sentence_good": "a", "sentence_bad": "b", "linguistics_term": term} for term in ("case", "case", "npi")]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(DataError, match=r"all\.jsonl:3: linguistics_term 'npi', in the first line 'case'; a file is"):
        read_minimal_pairs(tmp_path)


def test_different_sentences_of_equal_tokens_are_a_warning(pairs, small_config, tiny_tokenizer, tmp_path, caplog):
    model = save_model(ForPretraining(small_config, seed=1), tmp_path / "model", extra_files=tiny_tokenizer.files())
    evaluate_minimal_pairs(model, pairs)
    assert not caplog.records, "one pair has the same sentence twice, which is not the tokenizer's doing"
    write_pairs(pairs, "characters", [("the 猫 was good", "the 犬 was good"), ("the film", "film")], "vocabulary")
    scores = evaluate_minimal_pairs(model, pairs)
    assert "characters: in 1 of 2 pairs different sentences have equal tokens" in caplog.text
    assert len(caplog.records) == 1
    assert scores.paradigms[1].accuracy in (0.25, 0.75)


def test_directory_without_pairs_is_refused(tmp_path):
    with pytest.raises(DataError, match="nowhere: no such file or directory"):
        read_minimal_pairs(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"no \.jsonl file; give"):
        read_minimal_pairs(tmp_path)


def test_files_in_folders_are_named_and_not_read(pairs):
    with pytest.raises(DataError, match=r"2 in its folders, .*, such as pairs.agreement\.jsonl; give"):
        read_minimal_pairs(pairs.parent)
    write_pairs(pairs / "more", "other", [("a", "b")], "syntax")
    assert len(read_minimal_pairs(pairs)) == 5


@pytest.mark.parametrize(("content", "message"), [(b"", "empty"), (b"\n\n", "empty"), (b"\xe9\n", "UTF-8")])
def test_files_without_text_are_refused(content, message, pairs):
    (pairs / "other.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=rf"other\.jsonl.*{message}"):
        read_minimal_pairs(pairs)


def test_byte_order_mark_and_empty_lines_are_left_out(pairs):
    file = pairs / "agreement.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert len(read_minimal_pairs(file)) == 3


def test_a_sentence_that_is_too_long_is_named_by_its_file(pairs, small_config, tiny_tokenizer, tmp_path):
    model = save_model(ForPretraining(small_config), tmp_path / "model", extra_files=tiny_tokenizer.files())
    write_pairs(pairs, "zlong", [("the film", "film"), ("the film", "the film " * 600)], "length")
    with pytest.raises(DataError, match=r"zlong\.jsonl:2: sentence_bad: \d+ tokens; the model reads 1 to"):
        evaluate_minimal_pairs(model, pairs)


def test_a_diverged_model_has_no_accuracy(pairs, small_config, tiny_tokenizer, tmp_path):
    diverged = ForPretraining(small_config)
    torch.nn.init.constant_(diverged.mlm.bias, float("nan"))
    model = save_model(diverged, tmp_path / "model", extra_files=tiny_tokenizer.files())
    with pytest.raises(NotFiniteError, match=r"model: scores that are not finite; its weights have diverged"):
        evaluate_minimal_pairs(model, pairs)


def test_evaluate_command_scores_a_suite(pairs, small_config, tiny_tokenizer, tmp_path, capsys):
    model = save_model(ForPretraining(small_config, seed=1), tmp_path / "model", extra_files=tiny_tokenizer.files())
    assert main(["evaluate", str(model), "--suite", str(pairs), "--masking", "whole_word", "--fast", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["masking"] == "whole_word"
    assert result["mean"]["pairs"] == 5


def test_evaluate_command_scores_a_suite_by_next_tokens(pairs, small_config, tiny_tokenizer, tmp_path, capsys):
    model = save_model(ForPretraining(small_config, seed=1), tmp_path / "model", extra_files=tiny_tokenizer.files())
    assert main(["evaluate", str(model), "--suite", str(pairs), "--scoring", "causal"]) == 0
    assert "scored by causal; ties count half" in capsys.readouterr().out
    assert main(["evaluate", str(model), "--suite", str(pairs), "--scoring", "causal", "--masking", "whole_word"]) == 2
    assert "nothing is masked" in capsys.readouterr().err


def test_scoring_of_a_model_with_causal_steps_by_masked_tokens_names_the_other(
    pairs, small_config, tiny_tokenizer, tmp_path, caplog
):
    caplog.set_level("INFO")
    model = save_model(ForPretraining(small_config), tmp_path / "model", extra_files=tiny_tokenizer.files())
    (model / "pretraining_settings.json").write_text('{"sampling": {"causal_fraction": 0.75}}')
    evaluate(EvaluateRun(model=str(model), suite=pairs))
    assert "was pretrained on next tokens too; --scoring causal scores by them" in caplog.text


def test_causal_scoring_of_a_model_without_causal_steps_is_refused(pairs, small_config, tiny_tokenizer, tmp_path):
    model = save_model(ForPretraining(small_config), tmp_path / "run" / "model", extra_files=tiny_tokenizer.files())
    (tmp_path / "run" / "settings.yaml").write_text("command: pretrain\nsampling: {causal_fraction: 0.0}\n")
    with pytest.raises(ConfigError, match="pretrained without causal steps"):
        evaluate(EvaluateRun(model=str(model), suite=pairs, scoring="causal"))


def test_suite_and_labelled_file_exclude_each_other(pairs, tmp_path, capsys):
    assert main(["evaluate", str(tmp_path), "--suite", str(pairs), "--data", "x.csv"]) == 2
    assert "give one of" in capsys.readouterr().err


def test_causal_scoring_of_a_model_without_a_record_warns(pairs, small_config, tiny_tokenizer, tmp_path, caplog):
    model = save_model(ForPretraining(small_config), tmp_path / "model", extra_files=tiny_tokenizer.files())
    evaluate(EvaluateRun(model=str(model), suite=pairs, scoring="causal"))
    assert "has no record of its pretraining" in caplog.text
