import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.sampling.example_grid import MaskingDraws, to_grid
from litebert.corpus.sampling.pairing import Example
from support.data.corpus_builders import vocabulary

lengths_of = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=4)


def example(first, second, seed):
    ids = np.arange(100, 100 + first + second, dtype=np.uint16)
    return Example(ids[:first], ids[first:], 0, np.random.default_rng(seed))


@given(lengths_of, st.integers(0, 99))
def test_grid_puts_special_tokens_around_segments(lengths, seed):
    grid = to_grid([example(*pair, seed) for pair in lengths], vocabulary())
    for row, (first, second) in enumerate(lengths):
        segments = [*range(100, 100 + first), 3], [*range(100 + first, 100 + first + second), 3]
        expected = [2, *segments[0], *(segments[1] if second else [])]
        padding = [0] * (grid.input_ids.shape[1] - len(expected))
        assert grid.input_ids[row].tolist() == expected + padding
        assert grid.attention_mask[row].tolist() == [True] * len(expected) + [False] * len(padding)
        assert np.array_equal(grid.maskable[row], grid.input_ids[row] >= 100)
        assert int(grid.in_second_segment[row].sum()) == (second + 1 if second else 0)


@given(lengths_of)
def test_grid_draws_of_an_example_do_not_depend_on_other_examples(lengths):
    together = to_grid([example(*pair, seed) for seed, pair in enumerate(lengths)], vocabulary())
    for row, pair in enumerate(lengths):
        alone = to_grid([example(*pair, row)], vocabulary())
        for name in MaskingDraws.__dataclass_fields__:
            own, shared = getattr(alone.draws, name), getattr(together.draws, name)
            assert np.array_equal(own[0], shared[row, : alone.lengths[0]])
