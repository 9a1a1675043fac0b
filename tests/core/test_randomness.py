import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.randomness import rng_for, torch_seed_for
from support.programs.processes import PYTHONPATH

KEYS = st.lists(st.integers() | st.text(max_size=5), min_size=1, max_size=4).map(tuple)


@given(KEYS)
def test_rng_for_the_same_key_gives_the_same_numbers(key):
    assert np.array_equal(rng_for(*key).random(4), rng_for(*key).random(4))
    assert torch_seed_for(*key) == torch_seed_for(*key)
    assert 0 <= torch_seed_for(*key) < 2**63


@given(KEYS, KEYS)
def test_rng_for_different_keys_gives_different_streams(first, second):
    typed = [[(type(part), part) for part in key] for key in (first, second)]
    if typed[0] != typed[1]:
        assert rng_for(*first).integers(2**63) != rng_for(*second).integers(2**63)


def test_rng_for_does_not_depend_on_the_process():
    code = "from litebert.randomness import rng_for; print(rng_for(1, 'masking', 2).integers(10**9))"
    command = [sys.executable, "-c", code]
    first, second = (
        subprocess.run(
            command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed, "PYTHONPATH": PYTHONPATH}
        ).stdout
        for seed in ("1", "2")
    )
    assert first == second == f"{rng_for(1, 'masking', 2).integers(10**9)}\n"


def test_rng_for_rejects_an_empty_key():
    with pytest.raises(ValueError, match="empty key"):
        rng_for()
