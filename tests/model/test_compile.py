"""Compilation of one block that is run in a loop; export of every model with dynamic batch size and length."""

from typing import get_args

import pytest

from litebert.model.io.model_spec import ModelName
from litebert.model.kernels.layout import AttentionKernel
from support.models.tolerances import tolerance
from support.models.unchecked import EXPORTS, compiled_difference, exported_difference, graphs


@pytest.mark.parametrize(("kernel", "sharing"), [("sdpa", "all"), ("sdpa", "none"), ("unpadded", "all")])
def test_compile_time_grows_neither_with_depth_nor_with_shapes(unchecked, tiny_config, kernel, sharing):
    shallow = unchecked(graphs, tiny_config.replace(num_hidden_layers=2, sharing=sharing), kernel)
    deep = unchecked(graphs, tiny_config.replace(num_hidden_layers=6, sharing=sharing), kernel)
    assert 0 < deep == shallow <= 8


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
def test_compiled_block_gives_the_same_outputs(unchecked, tiny_config, kernel):
    assert unchecked(compiled_difference, tiny_config, kernel) < tolerance()


@pytest.mark.parametrize("name", EXPORTS)
def test_export_of_every_model_has_dynamic_batch_and_length(unchecked, tiny_config, name):
    assert unchecked(exported_difference, name, tiny_config.replace(num_hidden_layers=2)) < tolerance()


def test_export_is_tested_for_every_model():
    assert set(EXPORTS) == set(get_args(ModelName))
