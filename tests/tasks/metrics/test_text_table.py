"""Tables that line up."""

from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.metrics.text_table import aligned

WORDS = st.text("abc 12", max_size=6)


def test_the_first_column_stands_to_the_left_and_the_others_to_the_right():
    assert (
        aligned([["", "rows"], ["long name", "7"], ["b", "12345"]])
        == "            rows\nlong name      7\nb          12345"
    )
    assert aligned([]) == ""


@given(st.lists(st.tuples(WORDS, WORDS.map(str.strip), st.just("|")), min_size=1))
def test_every_row_is_a_line_and_all_are_as_long(rows):
    lines = aligned([list(row) for row in rows]).split("\n")
    assert len(lines) == len(rows)
    assert len({len(line) for line in lines}) == 1
    for line, (first, second, last) in zip(lines, rows, strict=True):
        assert line.startswith(first)
        assert line.removesuffix(f"  {last}").endswith(second)
