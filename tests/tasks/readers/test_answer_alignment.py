"""Answers are where they say, or are mended aloud, or are refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import DataError
from litebert.tasks.readers.answer_alignment import NEARBY, AnswerPlacer, nearest
from litebert.tasks.types.questions import GoldAnswer

CONTEXT = "a good play, a long and quiet ending, a good film"


def place(text, start, policy="refuse"):
    placer = AnswerPlacer(Path("file"), policy)
    return placer.place(text, start, CONTEXT, where="file: question 'q'", field="answer_start"), placer


def test_a_right_start_is_kept():
    answer, placer = place("good", CONTEXT.rindex("good"))
    assert answer == GoldAnswer("good", CONTEXT.rindex("good"))
    assert placer.moved == 0


@pytest.mark.parametrize("slip", [-NEARBY, -1, 1, NEARBY])
def test_a_start_that_is_off_by_a_little_is_moved_and_said(slip, caplog):
    right = CONTEXT.index("quiet")
    answer, placer = place("quiet", right + slip)
    assert answer == GoldAnswer("quiet", right)
    placer.report()
    assert f"1 answers moved to where they stand, at most {NEARBY} characters away" in caplog.text
    assert f"{right + slip} became {right}" in caplog.text


@pytest.mark.parametrize(
    ("text", "start", "message"),
    [
        ("ending", 0, "0, but the answer 'ending' stands at"),
        ("ending", -30, "-30, but the answer 'ending' stands at"),
        ("bad", 2, "the answer 'bad' is not in the context"),
        ("Good", 2, "the answer 'Good' is not in the context"),
        ("bad", None, "the answer 'bad' is not in the context"),
        (" ", 0, "a blank answer"),
        ("x" * 99, 0, "…' is not in the context"),
    ],
)
def test_what_cannot_be_mended_is_refused_or_skipped_and_counted(text, start, message, caplog):
    with pytest.raises(DataError, match="file: question 'q': field 'answer_start'") as error:
        place(text, start)
    assert message in str(error.value)
    answer, placer = place(text, start, "skip")
    assert answer is None
    assert placer.skipped == 1
    placer.report()
    assert "1 answers left out as asked" in caplog.text


def test_without_a_start_the_first_occurrence_is_taken_and_a_second_one_said(caplog):
    answer, placer = place("good", None)
    assert answer == GoldAnswer("good", CONTEXT.index("good"))
    placer.report()
    assert "1 answers without a start occur more than once" in caplog.text


def test_a_clean_file_is_not_talked_about(caplog):
    _, placer = place("quiet", None)
    placer.report()
    assert not caplog.records


@given(st.text("ab", min_size=1, max_size=12), st.text("ab", min_size=1, max_size=3), st.integers(-3, 15))
def test_the_nearest_occurrence_is_found(context, text, start):
    places = [index for index in range(len(context)) if context.startswith(text, index)]
    clipped = min(max(start, 0), len(context))
    found = nearest(text, context, start)
    assert (found is None) == (not places)
    if places:
        assert found in places
        assert abs(found - clipped) == min(abs(place - clipped) for place in places)
