"""From the model's outputs to answers, compared with a direct implementation of the rule."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.randomness import rng_for
from litebert.tasks.types.extractive_qa.question_settings import QuestionSettings
from litebert.tasks.types.extractive_qa.span_scores import (
    NO_SPAN,
    Candidates,
    SpanLogits,
    SpanScores,
    best_pairs,
    decode_answer,
    n_best,
    scores_from_beams,
    scores_from_logits,
)
from support.data.question_builders import CONTEXT, QUESTIONS, encoded, question

LONG = f"{CONTEXT} That quiet ending seemed bright. This story is awful, in 2024."


def reference_answers(examples, logits, settings):
    """The texts of the best answers to the first question, by loops as in google-research/albert."""
    document, found = examples.documents[0], []
    for window, outputs in zip(examples.windows, logits, strict=True):
        ranked = [sorted(range(len(each)), key=lambda index: -each[index])[: settings.n_best] for each in outputs]
        for start in ranked[0]:
            for end in ranked[1]:
                first, last = start - window.offset, end - window.offset
                in_window = window.plan.tokens[0] <= first and last < window.plan.tokens[1]
                max_context = window.plan.max_context[0] <= first < window.plan.max_context[1]
                if in_window and max_context and first <= last and last - first + 1 <= settings.max_answer_length:
                    text = document.context[document.starts[first] : document.ends[last]].strip()
                    found.append((float(outputs.starts[start]) + float(outputs.ends[end]), text))
    found.sort(key=lambda pair: -pair[0])
    return list(dict.fromkeys(text for _, text in found if text))[: settings.n_best]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("max_length", [24, 96])
def test_answers_equal_those_of_the_reference(tiny_tokenizer, seed, max_length):
    questions = [question("q", "Who felt dull?", context=LONG)]
    settings = QuestionSettings(max_length=max_length, doc_stride=6, n_best=5, max_answer_length=7)
    examples = encoded(tiny_tokenizer, questions, **settings.to_dict())
    rng = rng_for(seed, "logits")
    logits = [SpanLogits(*rng.normal(size=(2, length)).astype(np.float32)) for length in examples.lengths]
    scores = scores_from_logits(examples.by_example(logits)[0], settings, np.float32)
    answer = decode_answer(scores, questions[0], (), settings)
    assert [each.text for each in answer.n_best] == (reference_answers(examples, logits, settings) or [""])
    assert sum(each.probability for each in answer.n_best) == pytest.approx(1)
    for each in answer.n_best:
        assert LONG[each.start : each.end] == each.text


def test_best_pairs_combine_the_best_starts_and_ends():
    found = best_pairs(SpanLogits(np.array([1.0, 3.0, 2.0]), np.array([0.0, 5.0, 5.0])), n_best=2)
    assert list(zip(found.first.tolist(), found.last.tolist(), strict=True)) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert found.scores.tolist() == [[3, 5], [3, 5], [2, 5], [2, 5]]


def scores_of(*texts_and_scores):
    spans = [(CONTEXT.index(text), CONTEXT.index(text) + len(text)) for text, _ in texts_and_scores]
    scores = [[score, 0.0] for _, score in texts_and_scores]
    return SpanScores(np.array(spans, np.int64).reshape(-1, 2), np.array(scores).reshape(-1, 2), None)


def test_n_best_lists_equal_texts_once_with_their_best_score():
    found = n_best(scores_of(("actor", 1.0), ("2024", 0.0), ("actor", 3.0)), CONTEXT, size=9)
    assert [answer.text for answer in found] == ["actor", "2024"]
    assert found[0].start_score == 3.0
    assert found[0].probability == pytest.approx(1 / (1 + math.exp(-3)))


def test_n_best_without_a_span_is_one_empty_answer():
    assert n_best(scores_of(), CONTEXT, size=9) == (NO_SPAN,)


def test_null_score_is_the_smallest_over_the_windows(tiny_tokenizer):
    asked = question("q", "Who?", context=LONG)
    settings = QuestionSettings(max_length=24, doc_stride=6)
    examples = encoded(tiny_tokenizer, [asked], **settings.to_dict())
    nothing = np.zeros(0, np.int64)
    beams = [Candidates(nothing, nothing, np.zeros((0, 2)), float(index) - 1) for index in range(len(examples))]
    scores = scores_from_beams(examples.by_example(beams)[0], settings, np.float32)
    assert scores.null_score == -1
    assert decode_answer(scores, asked, (), settings).n_best == (NO_SPAN,)


@given(st.floats(-5, 5), st.floats(-5, 5))
def test_no_answer_is_predicted_above_the_threshold(null_score, threshold):
    settings = QuestionSettings(no_answer_threshold=threshold)
    found = scores_of(("2024", 1.0))

    def text(score, spans=found):
        return decode_answer(SpanScores(spans.spans, spans.scores, score), QUESTIONS[0], (), settings).text

    assert text(null_score) == ("" if null_score > threshold else "2024")
    assert text(None) == "2024"
    assert text(None, scores_of()) == ""


def test_answers_belong_to_their_questions(tiny_tokenizer):
    settings = QuestionSettings(max_length=96)
    examples = encoded(tiny_tokenizer, max_length=96)
    outputs = []
    for length, (first, last, _) in zip(examples.lengths, examples.targets, strict=True):
        scores = np.zeros((2, length))
        scores[0, first] = scores[1, last] = 9
        outputs.append(SpanLogits(*scores))
    scores = [scores_from_logits(each, settings, np.float32) for each in examples.by_example(outputs)]
    texts = [decode_answer(each, asked, (), settings).text for each, asked in zip(scores, QUESTIONS, strict=True)]
    assert texts[:3] == [each.answers[0].text for each in QUESTIONS[:3]]
