"""What makes two runs different, by name."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from litebert.errors import CheckpointError
from litebert.training.fingerprint import flat, parameters_digest, refuse_changes

LEAVES = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers())
NESTED = st.recursive(LEAVES, lambda inner: st.dictionaries(st.text(), inner), max_leaves=8)


@given(st.dictionaries(st.text(), NESTED))
def test_json_gives_a_fingerprint_back_unchanged(values):
    assert json.loads(json.dumps(flat(values))) == flat(values)


def test_nested_values_have_dotted_names():
    assert flat({"a": {"b": {"c": 1}}, "d": (1, 2)}) == {"a.b.c": 1, "d": "[1, 2]"}


def test_the_digest_changes_with_names_and_shapes():
    models = [nn.Linear(2, 3), nn.Linear(3, 2), nn.Linear(2, 3, bias=False), nn.Sequential(nn.Linear(2, 3))]
    assert len({parameters_digest(model) for model in models}) == 4
    assert parameters_digest(models[0]) == parameters_digest(nn.Linear(2, 3))


@pytest.mark.parametrize(
    ("saved", "now", "change"),
    [({"a": 1}, {"a": 2}, "a was 1, is 2"), ({"a": 1}, {}, "a was 1, is None"), ({}, {"a": 1}, "a was None, is 1")],
)
def test_a_changed_a_lost_and_a_new_field_are_named(saved, now, change):
    with pytest.raises(CheckpointError, match=change):
        refuse_changes(saved, now, where=Path("run"), allowed=())
    refuse_changes(saved, now, where=Path("run"), allowed=("a",))
