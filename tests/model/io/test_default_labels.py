"""The names of classes without names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.model.io.default_labels import class_number, default_label_of, default_labels, numbers_of


@given(st.integers(1, 50))
def test_default_labels_are_their_numbers(classes):
    labels = default_labels(classes)
    assert [class_number(label) for label in labels] == list(range(classes))
    assert numbers_of(labels) == tuple(map(str, range(classes)))
    for write in ("{}", "{}.0", "LABEL_{}"):
        assert tuple(default_label_of(write.format(number)) for number in range(classes)) == labels


@pytest.mark.parametrize("labels", [(), ("LABEL_1", "LABEL_0"), ("LABEL_0", "good"), ("0", "1"), ("LABEL_01",)])
def test_other_labels_have_no_numbers(labels):
    assert numbers_of(labels) is None


@pytest.mark.parametrize("name", ["1", "label_1", "LABEL_", "LABEL_x", "LABEL_-1", "LABEL_1 ", "LABEL_١"])
def test_other_names_are_no_classes_without_names(name):
    assert class_number(name) is None


@pytest.mark.parametrize("text", ["", "-1", "1.5", "1.00", "one", "LABEL_", "9" * 19])
def test_other_texts_stand_for_no_default_label(text):
    assert default_label_of(text) is None
