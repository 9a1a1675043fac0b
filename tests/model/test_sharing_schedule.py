from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError
from litebert.model.config import ModelConfig, Sharing
from litebert.model.sharing_schedule import first_layers, sharing_schedule, stored_blocks


def config_of(layers: int, groups: int, inner: int, sharing: Sharing = "all") -> ModelConfig:
    return ModelConfig(
        hidden_size=4,
        num_attention_heads=1,
        intermediate_size=4,
        num_hidden_layers=layers,
        num_hidden_groups=groups,
        inner_group_num=inner,
        sharing=sharing,
    )


shapes = st.integers(1, 64).flatmap(
    lambda layers: st.tuples(st.just(layers), st.integers(1, layers), st.integers(1, 3))
)


@given(shapes, st.sampled_from(["all", "attention", "feed_forward"]))
def test_sharing_schedule_runs_every_stored_block_in_order(shape, sharing):
    config = config_of(*shape, sharing)
    for indices, stored in zip(zip(*sharing_schedule(config), strict=True), stored_blocks(config), strict=True):
        groups = [index // config.inner_group_num for index in indices]
        assert groups == sorted(groups)
        assert set(indices) == set(range(stored))


@given(shapes)
def test_sharing_schedule_group_is_computed_in_integers(shape):
    layers, groups, inner = shape
    schedule = sharing_schedule(config_of(*shape))
    assert len(schedule) == layers * inner
    for step, (attention, feed_forward) in enumerate(schedule):
        layer, block = divmod(step, inner)
        assert attention == feed_forward == layer * groups // layers * inner + block


@given(st.integers(1, 64), st.integers(1, 3))
def test_sharing_schedule_without_sharing_has_one_group_per_layer(layers, inner):
    by_groups = sharing_schedule(config_of(layers, layers, inner))
    for groups in (1, layers):
        assert sharing_schedule(config_of(layers, groups, inner, "none")) == by_groups


@given(shapes)
def test_sharing_schedule_groups_differ_by_at_most_one_layer(shape):
    config = config_of(*shape)
    used = [attention for attention, _ in sharing_schedule(config)][:: config.inner_group_num]
    sizes = {used.count(group) for group in set(used)}
    assert max(sizes) - min(sizes) <= 1


def test_sharing_schedule_is_right_where_floats_are_wrong():
    assert [attention for attention, _ in sharing_schedule(config_of(22, 22, 1))] == list(range(22))


@pytest.mark.parametrize(
    ("sharing", "stored"), [("all", (1, 1)), ("attention", (1, 12)), ("feed_forward", (12, 1)), ("none", (12, 12))]
)
def test_sharing_schedule_stores_shared_blocks_once(sharing, stored):
    assert stored_blocks(config_of(12, 1, 1, sharing)) == stored


def test_sharing_schedule_is_tested_for_every_sharing():
    assert set(get_args(Sharing)) == {"all", "attention", "feed_forward", "none"}


sharings = st.sampled_from(get_args(Sharing))


@given(shapes, sharings, st.data())
def test_first_layers_run_the_same_blocks_or_no_config_describes_them(shape, sharing, data):
    layers, groups, inner = shape
    config = config_of(layers, 1 if sharing == "none" else groups, inner, sharing)
    kept = data.draw(st.integers(1, layers))
    beginning = sharing_schedule(config)[: kept * inner]
    shorter = config.model_copy(update={"num_hidden_layers": kept})
    in_groups = [shorter.model_copy(update={"num_hidden_groups": number}) for number in range(1, kept + 1)]
    if beginning in [sharing_schedule(each) for each in in_groups]:
        first = first_layers(config, kept)
        assert first.num_hidden_layers == kept
        assert sharing_schedule(first) == beginning
    else:
        with pytest.raises(ConfigError, match="no config describes the first"):
            first_layers(config, kept)


@pytest.mark.parametrize("layers", [0, 7])
def test_first_layers_are_at_most_those_of_the_model(layers):
    with pytest.raises(ConfigError, match=f"layers: {layers}, expected 1 to 6, the layers of the model"):
        first_layers(config_of(6, 3, 1), layers)


def test_first_layers_of_unequal_groups_name_what_is_possible():
    with pytest.raises(
        ConfigError, match=r"the first 7 of 12 layers with 4 groups; expected one of 1, 2, 3, 5, 6, 8, 9, 11, 12"
    ):
        first_layers(config_of(12, 4, 1), 7)


def test_one_layer_with_low_rank_updates_is_refused_with_what_is_possible():
    config = config_of(4, 2, 1).replace(recursion_lora_rank=2)
    message = "no config describes the first 1 of 4 layers with 2 groups and low-rank updates; expected one of 2, 3"
    with pytest.raises(ConfigError, match=message):
        first_layers(config, 1)
