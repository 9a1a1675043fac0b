"""What benchmarks count: products of attention in fp32, what a part keeps, steps with either kernels."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from litebert.corpus.sampling.sampling_settings import SamplingSettings

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks_path(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)


@pytest.mark.parametrize("causal", [True, False])
def test_products_of_attention_in_fp32_are_counted(causal):
    from steps.product_times import RecordedProducts, product_flops

    def run():
        queries = torch.randn(2, 3, 8, 4, requires_grad=True)
        F.scaled_dot_product_attention(queries, queries, queries, is_causal=causal).sum().backward()

    of_a_product = 2 * (2 * 3) * 8 * 8 * 4
    assert product_flops(run) == (2 + 4) * of_a_product
    with RecordedProducts() as recorded:
        run()
    assert sum(recorded.calls.values()) == 2


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_weights_are_not_kept_for_the_backward_pass(precision):
    from steps.step_parts import kept_bytes

    linear, leaf = nn.Linear(32, 64), torch.randn(1, 10, 32, requires_grad=True)
    size = 4 if precision == "fp32" else 2
    # The input of the product (of its own precision), and that of GELU.
    expected = 10 * 32 * size + 10 * 64 * size
    assert kept_bytes(lambda x: F.gelu(linear(x)), leaf, precision) == expected


@pytest.mark.parametrize("fraction", [0.0, 0.25, 0.5, 0.75])
def test_both_kernels_have_as_many_causal_steps_as_the_recipe(fraction):
    from steps.kernel_turns import STEPS, TURN, counted

    settings = SamplingSettings(causal_fraction=fraction)
    causal = {True: [], False: []}
    for step in range(1, STEPS + 1):
        if counted(step):
            causal[(step - 1) // TURN % 2 == 1].append(settings.is_causal(step - 1))
    assert len(causal[True]) == len(causal[False]) == 24
    assert sum(causal[True]) == sum(causal[False]) == 24 * fraction
