"""Scores and the margin loss of candidates, compared with a plain loop."""

import numpy as np
import pytest
import torch

from litebert.model.models import ForMaskedLM
from litebert.tasks.encoded import NoTokensError
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.types.pronoun_resolution.candidate_scores import (
    MARGIN,
    MARGIN_WEIGHT,
    candidate_scores,
    encode_candidates,
    margin_losses,
    probabilities_of_scores,
    scores_by_example,
    validate_candidates,
)
from litebert.tasks.types.pronoun_resolution.pronoun_examples import PronounExample
from support.models.tolerances import within

TEXT = "the film was good because it had music"
EXAMPLES = [
    PronounExample(text=TEXT, pronoun=(26, 28), candidate="the film", others=("the music", "a movie"), target=1),
    PronounExample(text=TEXT, pronoun=(26, 28), candidate="this story", others=("the old actor",), target=0),
    PronounExample(text="it was good.", pronoun=(0, 2), candidate="the film", target=1),
]


@pytest.fixture
def model(small_config):
    return ForMaskedLM(small_config, seed=1).eval()


@pytest.fixture
def encoded(tiny_tokenizer):
    return encode_candidates(EXAMPLES, tiny_tokenizer, InputSettings(max_length=64))


def plain_scores(model, tokenizer, example):
    """Mean log-probability of the pieces of each candidate, one sequence after the other."""
    start, end = example.pronoun
    scores = []
    for phrase in (example.candidate, *example.others):
        before, pieces = tokenizer.encode(example.text[:start].rstrip()), tokenizer.encode(phrase)
        after = tokenizer.encode(example.text[end:])
        if not example.text[end:].startswith(" ") and tokenizer.id_to_piece(after[0]) == "▁":
            after = after[1:]  # the tokenizer adds it
        masked = [tokenizer.mask_id] * len(pieces)
        ids = [tokenizer.cls_id, *before, *masked, *after, tokenizer.sep_id]
        log_probs = model(torch.tensor([ids])).mlm_logits[0].log_softmax(-1)
        first = 1 + len(before)
        scores.append(torch.stack([log_probs[first + i, piece] for i, piece in enumerate(pieces)]).mean())
    return torch.stack(scores)


def test_scores_equal_a_loop_over_candidates(model, encoded, tiny_tokenizer):
    with torch.no_grad():
        found = scores_by_example(model, encoded.inputs(np.arange(3)).to("cpu"))
        expected = [plain_scores(model, tiny_tokenizer, example) for example in EXAMPLES]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), **within(depth="compound"))


def test_margin_loss_equals_a_loop_over_positive_examples(model, encoded, tiny_tokenizer):
    sums = margin_losses(model, encoded.batch(np.arange(3)), None)
    expected = torch.zeros(())
    for example in EXAMPLES:
        own, *others = plain_scores(model, tiny_tokenizer, example)
        if example.target == 1:
            terms = [MARGIN_WEIGHT * torch.clamp(other - own + MARGIN, min=0) - own for other in others]
            expected = expected + (sum(terms) if terms else -own)
    torch.testing.assert_close(sums.losses["label"], expected, **within(depth="compound"))
    sums.losses["label"].backward()
    assert all(torch.isfinite(each.grad).all() for each in model.mlm.parameters() if each.grad is not None)


def test_negative_examples_have_no_loss(model, encoded):
    sums = margin_losses(model, encoded.batch(np.array([1])), None)
    assert (float(sums.losses["label"].detach()), int(sums.correct["label"])) == (0.0, 0)


def test_correct_examples_are_positive_ones_that_no_other_candidate_beats(model, encoded):
    with torch.no_grad():
        own, *others = scores_by_example(model, encoded.inputs(np.array([0])))[0]
        expected = int(own >= max(others)) + 1  # the third example has no other candidate
        assert int(margin_losses(model, encoded.batch(np.arange(3)), None).correct["label"]) == expected


def test_candidate_without_a_token_is_refused(tiny_tokenizer):
    blank = PronounExample(text=TEXT, pronoun=(26, 28), candidate="\u200b", others=("the music",))
    with pytest.raises(NoTokensError, match=r"text 2: '\\u200b' has no tokens") as raised:
        encode_candidates([EXAMPLES[0], blank], tiny_tokenizer, InputSettings(max_length=64))
    with pytest.raises(NoTokensError, match=r"text 2: '\\u200b' has no tokens") as before:
        validate_candidates([EXAMPLES[0], blank], tiny_tokenizer)
    assert (raised.value.index, before.value.index) == (1, 1)


def test_long_text_keeps_the_tokens_around_the_pronoun(tiny_tokenizer, model):
    example = PronounExample(
        text="the film was good " * 20 + "it was good " * 20, pronoun=(360, 362), candidate="the film"
    )
    encoded = encode_candidates([example], tiny_tokenizer, InputSettings(max_length=20))
    ((start, end),) = encoded.spans[0]
    (feature,) = encoded.features[0]
    assert len(feature.input_ids) == 20 == encoded.example_lengths[0]
    assert feature.input_ids[start:end].tolist() == tiny_tokenizer.encode("the film")
    assert 5 < start < 15
    with torch.no_grad():
        assert candidate_scores(model, encoded.inputs(np.array([0]))).shape == (1,)


def test_text_after_a_pronoun_at_the_start_fills_the_sequence(tiny_tokenizer):
    example = PronounExample(text="it was good. " * 20, pronoun=(0, 2), candidate="the film")
    ((feature,),) = encode_candidates([example], tiny_tokenizer, InputSettings(max_length=20)).features
    assert len(feature.input_ids) == 20
    assert feature.is_truncated


@pytest.mark.parametrize(
    ("scores", "positive"),
    [([-1.0, -2.0], True), ([-2.0, -1.0, -3.0], False), ([-3.0], True), ([-1.0, -1.5, -0.9], False)],
)
def test_probability_is_at_least_a_half_where_no_other_candidate_is_better(scores, positive):
    probabilities = probabilities_of_scores(np.array(scores, np.float32), None, np.float64)
    assert probabilities.sum() == pytest.approx(1)
    assert (probabilities[1] > 0.5) == positive


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_candidate_that_is_as_good_as_the_best_other_one_is_predicted(dtype):
    assert probabilities_of_scores(np.array([-1.0, -1.0, -3.0], np.float32), None, dtype).argmax() == 1
