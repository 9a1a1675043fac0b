import os

import torch


def test_numeric_tests_run_with_the_threads_of_the_environment():
    """One thread by default; `make test-isa` and runs with OMP_NUM_THREADS test more."""
    assert torch.get_num_threads() == int(os.environ.get("OMP_NUM_THREADS", "1"))
