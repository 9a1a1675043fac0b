"""Log-likelihood of sentences: equal to a plain loop over tokens, for every masking and for causal models."""

import shutil
from typing import get_args

import numpy as np
import pytest
import torch

from litebert.errors import ConfigError, DataError
from litebert.files import PRETRAINING_SETTINGS, write_json
from litebert.inference import sentence_likelihood
from litebert.inference.predictor import Predictor
from litebert.inference.sentence_likelihood import _masked_copies, log_likelihoods
from litebert.inference.word_masking import Masking
from litebert.model.io.model_directory import load_model
from litebert.model.models import ForMaskedLM, ForPretraining
from support.models.tolerances import tolerance

MASKINGS = get_args(Masking)
SENTENCES = ["the film was good", "a long movie felt great, in 1999.", "was", "the old actor seemed boring"]
SAME_LENGTH = ["the film was good", "was the film good", "good was the film"]
"""Sentences that one batch can hold."""


def plain_score(model, tokenizer, sentence, masking, temperature):
    """One forward a token, nothing batched."""
    ids = tokenizer.encode(sentence)
    words = np.cumsum(tokenizer.word_starts[ids])
    total = 0.0
    for place, label in enumerate(ids):
        masked = [
            other == place
            or (masking == "whole_word" and words[other] == words[place])
            or (masking == "word_left_to_right" and words[other] == words[place] and other > place)
            for other in range(len(ids))
        ]
        shown = [tokenizer.mask_id if hidden else token for token, hidden in zip(ids, masked, strict=True)]
        row = torch.tensor([[tokenizer.cls_id, *shown, tokenizer.sep_id]])
        output = model(row, torch.ones_like(row, dtype=torch.bool), torch.zeros_like(row), torch.tensor([place + 1]))
        total += (output.mlm_logits[0] / temperature).log_softmax(-1)[label].item()
    return total


@pytest.mark.parametrize("temperature", [1.0, 0.5])
@pytest.mark.parametrize("masking", MASKINGS)
@pytest.mark.parametrize("architecture", [ForPretraining, ForMaskedLM])
def test_scores_equal_a_plain_loop_over_tokens(architecture, masking, temperature, small_config, tiny_tokenizer):
    model = architecture(small_config, seed=1).eval()
    expected = [plain_score(model, tiny_tokenizer, sentence, masking, temperature) for sentence in SENTENCES]
    found = log_likelihoods(model, tiny_tokenizer, SENTENCES, masking=masking, temperature=temperature)
    np.testing.assert_allclose(found, expected, rtol=tolerance())


def test_progress_is_logged(small_config, tiny_tokenizer, monkeypatch, caplog):
    caplog.set_level("INFO")
    monkeypatch.setattr("litebert.inference.sentence_likelihood.SECONDS_PER_LINE", 0.0)
    log_likelihoods(ForMaskedLM(small_config).eval(), tiny_tokenizer, SENTENCES, masking="token")
    assert caplog.messages[-1] == f"{len(SENTENCES)} of {len(SENTENCES)} sentences scored"


def test_maskings_differ_where_words_have_several_tokens(small_config, tiny_tokenizer):
    model = ForPretraining(small_config, seed=1)
    scores = [log_likelihoods(model, tiny_tokenizer, SENTENCES, masking=masking) for masking in MASKINGS]
    assert len({score.tobytes() for score in scores}) == len(MASKINGS)


def test_scores_do_not_depend_on_the_batch(small_config, tiny_tokenizer, monkeypatch):
    assert len({len(tiny_tokenizer.encode(sentence)) for sentence in SAME_LENGTH}) == 1
    model = ForPretraining(small_config, seed=1)
    together = log_likelihoods(model, tiny_tokenizer, SAME_LENGTH, masking="token")
    monkeypatch.setitem(sentence_likelihood.TOKENS_PER_BATCH, "cpu", 1)
    np.testing.assert_allclose(
        log_likelihoods(model, tiny_tokenizer, SAME_LENGTH, masking="token"), together, rtol=tolerance()
    )


@pytest.mark.parametrize("masking", [*MASKINGS, None])
def test_sentences_of_equal_tokens_have_one_score(masking, small_config, tiny_tokenizer, monkeypatch):
    """However the numbers of a batch are rounded: here each forward has numbers of its own."""
    generator = torch.Generator().manual_seed(0)
    monkeypatch.setitem(sentence_likelihood.TOKENS_PER_BATCH, "cpu", 1)
    for name, labels in (("_masked_log_probabilities", 3), ("_causal_log_probabilities", 1)):
        monkeypatch.setattr(
            f"litebert.inference.sentence_likelihood.{name}",
            lambda *arguments, labels=labels: torch.rand(len(arguments[labels]), generator=generator),
        )
    sentences = [*SENTENCES, *reversed(SENTENCES), SENTENCES[0].replace(" ", "  ")]
    scores = log_likelihoods(ForPretraining(small_config), tiny_tokenizer, sentences, masking=masking)
    assert scores[: len(SENTENCES)].tolist() == scores[len(SENTENCES) : -1][::-1].tolist()
    assert scores[-1] == scores[0]
    assert len(set(scores.tolist())) == len(SENTENCES)


@pytest.mark.parametrize("masking", ["token", None])
@pytest.mark.parametrize("sentence", ["", " ", "the film " * 200])
def test_sentence_that_does_not_fit_is_refused(sentence, masking, small_config, tiny_tokenizer):
    with pytest.raises(DataError, match=r"sentence 2: .* tokens; the model reads 1 to"):
        log_likelihoods(ForPretraining(small_config), tiny_tokenizer, ["the film", sentence], masking=masking)


def plain_causal_score(model, tokenizer, sentence, temperature):
    """One forward a token, over the tokens before it only."""
    ids = [tokenizer.cls_id, *tokenizer.encode(sentence), tokenizer.sep_id]
    total = 0.0
    for length in range(1, len(ids)):
        prefix = torch.tensor([ids[:length]])
        output = model.encoder(prefix, torch.ones_like(prefix, dtype=torch.bool), torch.zeros_like(prefix), causal=True)
        logits = model.mlm(output.last_hidden_state[0, -1], model.encoder.embeddings.word.weight)
        total += (logits / temperature).log_softmax(-1)[ids[length]].item()
    return total


@pytest.mark.parametrize("temperature", [1.0, 0.5])
@pytest.mark.parametrize("architecture", [ForPretraining, ForMaskedLM])
def test_causal_scores_equal_a_plain_loop_over_prefixes(architecture, temperature, small_config, tiny_tokenizer):
    model = architecture(small_config, seed=1).eval()
    expected = [plain_causal_score(model, tiny_tokenizer, sentence, temperature) for sentence in SENTENCES]
    found = log_likelihoods(model, tiny_tokenizer, SENTENCES, masking=None, temperature=temperature)
    np.testing.assert_allclose(found, expected, rtol=tolerance())


def test_whole_words_take_one_copy_a_word(tiny_tokenizer):
    ids = np.array([tiny_tokenizer.encode(SENTENCES[1])])
    words = tiny_tokenizer.word_starts[ids].sum()
    assert words < ids.shape[1]
    _, copies, predicted = _masked_copies(ids, tiny_tokenizer, "whole_word")
    assert len(copies) == words
    assert (predicted == (copies == tiny_tokenizer.mask_id)).all()
    assert predicted.sum(axis=0).tolist() == [1] * ids.shape[1]


@pytest.mark.parametrize("name", ["masked", "pretraining"])
@pytest.mark.parametrize("masking", [None, *MASKINGS])
def test_predictor_scores_sentences_as_the_function_does(saved, tiny_tokenizer, name, masking):
    found = Predictor.load(saved[name], precision="fp32").log_likelihoods(SENTENCES, masking=masking, temperature=0.5)
    model = load_model(saved[name])
    expected = log_likelihoods(model, tiny_tokenizer, SENTENCES, masking=masking or "token", temperature=0.5)
    assert (found == expected).all()


@pytest.mark.parametrize(("fraction", "warned"), [(0.75, False), (None, True)])
def test_predictor_scores_by_next_tokens(saved, tiny_tokenizer, tmp_path, caplog, fraction, warned):
    directory = shutil.copytree(saved["pretraining"], tmp_path / "model")
    if fraction:
        write_json(directory / PRETRAINING_SETTINGS, {"sampling": {"causal_fraction": fraction}})
    found = Predictor.load(directory, precision="fp32").log_likelihoods(SENTENCES, scoring="causal")
    assert (found == log_likelihoods(load_model(directory), tiny_tokenizer, SENTENCES, masking=None)).all()
    assert ("has no record of its pretraining" in caplog.text) is warned


def test_predictor_does_not_score_by_next_tokens_that_were_never_trained(saved, tmp_path):
    directory = shutil.copytree(saved["pretraining"], tmp_path / "model")
    write_json(directory / PRETRAINING_SETTINGS, {"sampling": {"causal_fraction": 0.0}})
    with pytest.raises(ConfigError, match="pretrained without causal steps"):
        Predictor.load(directory).log_likelihoods(SENTENCES, scoring="causal")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scoring": "x"}, "scoring: 'x', expected one of pseudo_log_likelihood, causal"),
        ({"masking": "x"}, "masking: 'x', expected one of token, "),
        ({"scoring": "causal", "masking": "token"}, "masking: with scoring='causal' nothing is masked"),
        ({"temperature": 0.0}, "temperature: 0.0, expected a positive number"),
        ({"temperature": float("inf")}, "temperature: inf, expected a positive number"),
    ],
)
def test_predictor_refuses_wrong_arguments_of_a_score(saved, options, message):
    with pytest.raises(ConfigError, match=message):
        Predictor.load(saved["masked"]).log_likelihoods(SENTENCES, **options)


def test_predictor_of_a_task_scores_no_sentences(saved):
    with pytest.raises(ConfigError, match=r"Predictor\.log_likelihoods: the model's task is 'classification'"):
        Predictor.load(saved["classifier"]).log_likelihoods(SENTENCES)


def test_predictor_names_a_sentence_without_tokens(saved):
    with pytest.raises(DataError, match="sentence 2: 0 tokens"):
        Predictor.load(saved["masked"]).log_likelihoods(["the film", " "])
