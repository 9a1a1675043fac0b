"""Tables that line up."""

from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.metrics.text_table import aligned

WORDS = st.text("abc 12", max_size=6)


def test_aligned_table_has_its_first_column_left():
    assert (
        aligned([["", "rows"], ["long name", "7"], ["b", "12345"]])
        == "            rows\nlong name      7\nb          12345"
    )
    assert aligned([]) == ""


@given(st.lists(st.tuples(WORDS, WORDS.map(str.strip), st.just("|")), min_size=1))
def test_aligned_table_lines_are_equally_long(rows):
    lines = aligned([list(row) for row in rows]).split("\n")
    assert len(lines) == len(rows)
    assert len({len(line) for line in lines}) == 1
    for line, (first, second, last) in zip(lines, rows, strict=True):
        assert line.startswith(first)
        assert line.removesuffix(f"  {last}").endswith(second)
