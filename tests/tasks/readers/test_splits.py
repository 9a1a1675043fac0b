"""Holding out: groups stay whole, nothing is lost, the seed decides."""

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import DataError
from litebert.tasks.labelled_data import ChoiceExample, Example, LabelledData, TaggedExample
from litebert.tasks.readers.splits import hold_out


def data_of(groups):
    examples = tuple(Example(f"text {n}", None, 0, group) for n, group in enumerate(groups))
    return LabelledData(Path("train.tsv"), "classification", examples, ("a", "b"), "as asked")


@given(st.lists(st.sampled_from("abcdefghij"), min_size=30, max_size=60), st.integers(0, 9))
def test_groups_stay_whole_and_no_row_is_lost(groups, seed):
    data = data_of([*groups, "k", "l"])
    train, held_out = hold_out(data, 0.2, seed=seed)
    assert {example.group for example in train.examples}.isdisjoint(example.group for example in held_out.examples)
    assert sorted((*train.examples, *held_out.examples), key=data.examples.index) == list(data.examples)
    assert train.examples
    assert held_out.examples


def test_without_groups_the_fraction_is_exact_and_the_seed_decides():
    data = data_of([None] * 100)
    parts = [hold_out(data, 0.1, seed=seed)[1].examples for seed in (0, 0, 1)]
    assert [len(part) for part in parts] == [10, 10, 10]
    assert parts[0] == parts[1] != parts[2]


def test_rows_of_one_text_are_never_on_both_sides():
    twins = tuple(Example(f"text {n // 2}", None, n % 2, None) for n in range(40))
    train, held_out = hold_out(LabelledData(Path("x"), "classification", twins, ("a", "b"), ""), 0.25, seed=3)
    assert {example.text for example in train.examples}.isdisjoint(example.text for example in held_out.examples)


def test_a_single_group_cannot_be_split():
    with pytest.raises(DataError, match="all rows are one group, which is not split; give a file for evaluation"):
        hold_out(data_of(["same"] * 5), 0.2, seed=0)


def test_questions_about_one_text_and_equal_sentences_stay_together():
    questions = [ChoiceExample("a text", f"question {n}", ("x", "y"), 0) for n in range(3)]
    sentences = [TaggedExample(("same", "words"), (n, 0)) for n in range(2)]
    assert len({each.key for each in questions}) == len({each.key for each in sentences}) == 1
    named = [
        ChoiceExample("a", None, ("x", "y"), 0, group="g"),
        TaggedExample(("b",), (0,), group="g"),
        Example("c", None, 0, "g"),
    ]
    assert {each.key for each in named} == {"g"}


def test_what_is_held_out_is_said(caplog):
    with caplog.at_level(logging.INFO, "litebert"):
        hold_out(data_of([None] * 20), 0.1, seed=0)
    assert "train.tsv: 2 of 20 rows are held out" in caplog.text
