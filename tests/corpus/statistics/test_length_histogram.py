import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.statistics.length_histogram import LengthHistogram


@given(parts=st.lists(st.lists(st.integers(0, 50), max_size=20), max_size=4), share=st.floats(0, 1))
def test_lengths_in_parts_are_those_of_the_whole(parts, share):
    whole = sorted(length for part in parts for length in part)
    lengths = LengthHistogram.of(np.array(part, dtype=np.uint32) for part in parts)
    assert lengths.total == len(whole)
    assert lengths.mean == np.mean(whole or [0])
    found = lengths.quantile(share)
    if whole:
        assert sum(length <= found for length in whole) >= share * len(whole)
        assert (lengths.quantile(0), lengths.quantile(1)) == (whole[0], whole[-1])


def test_lengths_read_as_a_person_wants_them():
    lengths = LengthHistogram.of([np.array([1, 2, 3]), np.array([1200])])
    assert lengths.to_text() == "301.5 on average, median 2, nine in ten 1 to 1,200, longest 1,200"
    assert lengths.to_dict()["95%"] == 1200
    assert list(lengths.to_dict())[:3] == ["count", "mean", "shortest"]
