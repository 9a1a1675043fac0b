"""The rules by which printed output is compared with a page, and rewritten."""

import pytest

from support.pages.shown_output import is_same_output, updated_output

SHOWN = ["254 steps in 5.96 s, 3.18 MB", "note: the model seems to have collapsed", "model: tuned/model"]


@pytest.mark.parametrize(
    ("printed", "is_same"),
    [
        (["2 steps in 2 min 20 s, 12 kB", "", "model: tuned/model"], True),
        (["2 steps in 0.1 s, 12 kB", "model: other/model"], False),
        (["2 steps in 0.1 s, 12 kB", "model: tuned/model", "another line"], False),
    ],
)
def test_output_is_compared_by_its_words(printed, is_same):
    assert is_same_output(SHOWN, printed) is is_same


def test_ellipsis_stands_for_any_lines():
    assert is_same_output(["MLM accuracy 3 %", "…", "end"], ["MLM accuracy 4 %", "a", "b", "end"])
    assert not is_same_output(["MLM accuracy 3 %", "…", "end"], ["MLM accuracy 4 %", "a", "b"])


def test_updated_output_keeps_the_figures_of_lines_whose_words_are_the_same():
    printed = ["2 steps in 0.1 s, 12 kB", "best of 3", "model: tuned/model"]
    assert updated_output(SHOWN, printed) == [SHOWN[0], "best of 3", SHOWN[1], SHOWN[2]]
