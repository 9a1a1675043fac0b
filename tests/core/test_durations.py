"""Durations as text."""

import pytest

from litebert.durations import readable_seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.1234, "0.123 s"),
        (59.9, "59.9 s"),
        (59.97, "1 min"),
        (185, "3 min 5 s"),
        (3600, "1 h"),
        (7385, "2 h 3 min"),
        (86400 + 7200, "1 d 2 h"),
        (86400 + 60, "1 d"),
    ],
)
def test_readable_seconds_has_the_two_largest_units(seconds, text):
    assert readable_seconds(seconds) == text
