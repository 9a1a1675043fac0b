"""From scores to answers: the original's rule against a plain reading of it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.randomness import rng_for
from litebert.tasks.types.span_answers import (
    NO_SPAN,
    Candidates,
    QuestionAnswers,
    SpanScores,
    answers_of,
    best_pairs,
    n_best,
    scores_of,
)
from support.question_builders import CONTEXT, QUESTIONS, encoded, question

LONG = f"{CONTEXT} That quiet ending seemed bright. This story is awful, in 2024."


def plain_reading(examples, logits, *, best, longest, size):
    """The texts of the best answers to the first question, by loops over everything, as the paper's code has them."""
    document, found = examples.documents[0], []
    for window, (starts, ends) in zip(examples.windows, logits, strict=True):
        ranked = [sorted(range(len(each)), key=lambda index: -each[index])[:best] for each in (starts, ends)]
        for start in ranked[0]:
            for end in ranked[1]:
                first, last = start - window.first, end - window.first
                in_window = window.plan.pieces[0] <= first and last < window.plan.pieces[1]
                max_context = window.plan.max_context[0] <= first < window.plan.max_context[1]
                if in_window and max_context and first <= last and last - first + 1 <= longest:
                    text = document.context[document.starts[first] : document.ends[last]].strip()
                    found.append((float(starts[start]) + float(ends[end]), text))
    found.sort(key=lambda pair: -pair[0])
    return list(dict.fromkeys(text for _, text in found if text))[:size]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("max_length", [24, 96])
def test_answers_are_those_of_the_plain_rule(tiny_tokenizer, seed, max_length):
    asked = [question("q", "Who felt dull?", context=LONG)]
    settings = {"max_length": max_length, "stride": 6, "n_best": 5, "max_answer_length": 7}
    examples = encoded(tiny_tokenizer, asked, **settings)
    rng = rng_for(seed, "logits")
    logits = [rng.normal(size=(2, length)).astype(np.float32) for length in examples.lengths]
    scores = scores_of(examples, [best_pairs(*each, best=5) for each in logits])
    (answers,) = answers_of(examples, scores)
    expected = plain_reading(examples, logits, best=5, longest=7, size=5)
    assert [answer.text for answer in answers.best] == (expected or [""])
    assert sum(answer.probability for answer in answers.best) == pytest.approx(1)
    for answer in answers.best:
        assert LONG[answer.start : answer.end] == answer.text


def test_the_best_pairs_are_all_pairs_of_the_best():
    found = best_pairs(np.array([1.0, 3.0, 2.0]), np.array([0.0, 5.0, 5.0]), best=2)
    assert list(zip(found.first.tolist(), found.last.tolist(), strict=True)) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert found.scores.tolist() == [[3, 5], [3, 5], [2, 5], [2, 5]]


def spans_of(document, *texts_and_scores):
    pieces = [
        document.pieces_of((CONTEXT.index(text), CONTEXT.index(text) + len(text))) for text, _ in texts_and_scores
    ]
    scores = [[score, 0.0] for _, score in texts_and_scores]
    return SpanScores(np.array(pieces).reshape(-1, 2), np.array(scores).reshape(-1, 2), None)


def test_equal_texts_are_listed_once_with_their_best_score(tiny_tokenizer):
    document = encoded(tiny_tokenizer).documents[0]
    found = n_best(spans_of(document, ("actor", 1.0), ("2024", 0.0), ("actor", 3.0)), document, size=9)
    assert [answer.text for answer in found] == ["actor", "2024"]
    assert found[0].start_score == 3.0
    assert found[0].probability == pytest.approx(1 / (1 + math.exp(-3)))


def test_without_a_span_there_is_one_empty_answer(tiny_tokenizer):
    document = encoded(tiny_tokenizer).documents[0]
    assert n_best(spans_of(document), document, size=9) == (NO_SPAN,)


def test_the_null_score_is_that_of_the_most_certain_window(tiny_tokenizer):
    examples = encoded(tiny_tokenizer, [question("q", "Who?", context=LONG)], max_length=24, stride=6)
    nothing = np.zeros(0, np.int64)
    candidates = [Candidates(nothing, nothing, np.zeros((0, 2)), float(index) - 1) for index in range(len(examples))]
    (scores,) = scores_of(examples, candidates)
    assert scores.null_score == -1
    assert answers_of(examples, [scores])[0].best == (NO_SPAN,)


@given(st.floats(-5, 5), st.floats(-5, 5))
def test_no_answer_counts_only_above_the_threshold(null_score, threshold):
    best = (NO_SPAN.__class__("2024", 3, 7, 1.0, 0.0, 0.0),)
    found = QuestionAnswers(best, null_score)
    assert found.text(threshold) == ("" if null_score > threshold else "2024")
    assert QuestionAnswers(best, None).text(threshold) == "2024"
    assert not QuestionAnswers((NO_SPAN,), None).has_answer(threshold)


def test_each_question_keeps_its_own_answers(tiny_tokenizer):
    examples = encoded(tiny_tokenizer, max_length=96)
    logits = []
    for window, (first, last, _) in zip(examples.windows, examples.labels, strict=True):
        scores = np.zeros((2, len(window.feature.input_ids)))
        scores[0, first] = scores[1, last] = 9
        logits.append(best_pairs(*scores, best=20))
    answers = answers_of(examples, scores_of(examples, logits))
    assert [each.best[0].text for each in answers[:3]] == [each.answers[0].text for each in QUESTIONS[:3]]
