"""Alignment of answers with their contexts."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import DataError
from litebert.tasks.questions import MAX_OFFSET, AnswerAligner, GoldAnswer, nearest

CONTEXT = "a good play, a long and quiet ending, a good film"


def align(text, start, policy="error"):
    aligner = AnswerAligner(Path("file"), policy)
    return aligner.align(text, start, CONTEXT, where="file: question 'q'", field="answer_start"), aligner


def test_answer_aligner_keeps_a_correct_start():
    answer, aligner = align("good", CONTEXT.rindex("good"))
    assert answer == GoldAnswer(text="good", start=CONTEXT.rindex("good"))
    assert not aligner.notes["corrected"]


@pytest.mark.parametrize("slip", [-MAX_OFFSET, -1, 1, MAX_OFFSET])
def test_answer_aligner_corrects_a_start_that_is_slightly_off(slip, caplog):
    right = CONTEXT.index("quiet")
    answer, aligner = align("quiet", right + slip)
    assert answer == GoldAnswer(text="quiet", start=right)
    aligner.report()
    assert f"corrected the start of 1 answers by at most {MAX_OFFSET} characters" in caplog.text
    assert f"{right + slip} → {right}" in caplog.text


@pytest.mark.parametrize(
    ("text", "start", "message"),
    [
        ("ending", 0, "0, but the answer 'ending' is at"),
        ("ending", -30, "-30, but the answer 'ending' is at"),
        ("bad", 2, "the answer 'bad' is not in the context"),
        ("Good", 2, "the answer 'Good' is not in the context"),
        ("bad", None, "the answer 'bad' is not in the context"),
        (" ", 0, "the answer is blank"),
        ("x" * 99, 0, "…' is not in the context"),
    ],
)
def test_answer_aligner_rejects_or_skips_invalid_answers(text, start, message, caplog):
    with pytest.raises(DataError, match="file: question 'q': field 'answer_start'") as error:
        align(text, start)
    assert message in str(error.value)
    answer, aligner = align(text, start, "skip")
    assert answer is None
    assert len(aligner.notes["skipped"]) == 1
    aligner.report()
    assert "skipped 1 invalid answers" in caplog.text


def test_answer_aligner_without_a_start_uses_the_first_occurrence(caplog):
    answer, aligner = align("good", None)
    assert answer == GoldAnswer(text="good", start=CONTEXT.index("good"))
    aligner.report()
    assert "1 answers without a start occur more than once" in caplog.text


def test_answer_aligner_logs_nothing_for_valid_answers(caplog):
    _, aligner = align("quiet", None)
    aligner.report()
    assert not caplog.records


@given(st.text("ab", min_size=1, max_size=12), st.text("ab", min_size=1, max_size=3), st.integers(-3, 15))
def test_nearest_is_the_occurrence_with_the_smallest_distance(context, text, start):
    places = [index for index in range(len(context)) if context.startswith(text, index)]
    clipped = min(max(start, 0), len(context))
    found = nearest(text, context, start)
    assert (found is None) == (not places)
    if places:
        assert found in places
        assert abs(found - clipped) == min(abs(place - clipped) for place in places)
