"""Warnings about labelled data."""

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.labelled_data import LabelledData, input_key, normalized_text
from litebert.tasks.questions import GoldAnswer, Question
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.splits import (
    find_duplicates,
    warn_duplicates,
    warn_labels,
    warn_small_dataset,
    warn_train_dev_leakage,
)
from litebert.tasks.types.multiple_choice.choice_examples import ChoiceExample
from litebert.tasks.types.task_type import ReadOptions
from support.data.example_builders import choice, example, tokens

PLACE = Path("rows.csv")
LABELLED = st.lists(st.builds(example, st.sampled_from("abc"), st.sampled_from([None, "x"]), st.integers(0, 2)))


def rows(*labelled):
    return [example(text, None, target) for text, target in labelled]


def data(examples, *, path=PLACE, task_type="classification", labels=("0", "1", "2")):
    return LabelledData(path, task_type, tuple(examples), labels, "as set")


@given(LABELLED)
def test_find_duplicates_partitions_examples_into_new_repeated_contradicting(examples):
    found, keys = find_duplicates(examples), [input_key(each) for each in examples]
    pairs = [(key, each.target) for key, each in zip(keys, examples, strict=True)]
    assert len(set(keys)) + len(found.repeated) + len(found.contradicting) == len(examples)
    for index in found.repeated:
        assert pairs[index] in pairs[:index]
    for first, later in found.contradicting:
        assert first == keys.index(keys[later]) < later
        assert pairs[later] not in pairs[:later]


def questions(*answers):
    gold = [tuple(GoldAnswer(text=text, start=0) for text in texts) for texts in answers]
    return [Question(id="q", text="Who?", context="Ann and Ben.", answers=each) for each in gold]


@pytest.mark.parametrize(
    ("first", "same", "other"),
    [
        (example("a", "b", 1), example("a", "b", 1, "g", slice="s", id="7"), example("a", "b", 0)),
        (example("a", None, 0.5), example("a", None, 0.5), example("a", None, 0.7)),
        (example("a", None, (1.0, 0.0)), example("a", None, (1.0, 0.0)), example("a", None, (1.0, 1.0))),
        *[
            tuple(choice("t", "q", ("x", "y"), target) for target in (1, 1, 0)),
            tuple(tokens(("a", "b"), tags) for tags in ((0, 1), (0, 1), (0, 0))),
            tuple(questions(["Ann", "Ben"], ["Ben", "Ann"], [])),
        ],
    ],
)
def test_find_duplicates_compares_examples_of_every_task_type(first, same, other):
    assert find_duplicates([first, same]).repeated == (1,)
    assert find_duplicates([first, other]).contradicting == ((0, 1),)


@pytest.mark.parametrize("different", [example("a", "c", 1), example("c", "b", 1), choice("a", "b", ("x", "z"), 1)])
def test_find_duplicates_distinguishes_other_inputs(different):
    first = choice("a", "b", ("x", "y"), 1) if isinstance(different, ChoiceExample) else example("a", "b", 1)
    assert find_duplicates([first, different]) == find_duplicates([])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The film", "  tHE\u00a0\n FILM ", True),
        ("Caf\u00e9", "cafe\u0301", True),
        ("\ufb01lm", "film", True),
        ("\u00bd", "1\u20442", True),
        ("STRASSE", "stra\u00dfe", False),
        ("the film", "thefilm", False),
        ("the film.", "the film", False),
    ],
)
def test_find_duplicates_compares_normalized_texts(tiny_tokenizer, one, other, same):
    examples = [example(one, one, 0), example(other, other, 1)]
    choices = [choice(each, each, ("a", each), 0) for each in (one, other)]
    sentences = [tokens(("a", each), (0, 1)) for each in (one, other)]
    golds = [GoldAnswer(text=each, start=3) for each in (one, other)]
    asked = [Question(id="q", text=each.text, context=f"In {each.text}", answers=(each,)) for each in golds]
    assert find_duplicates(examples).contradicting == (((0, 1),) if same else ())
    for others in (choices, sentences, asked):
        assert find_duplicates(others).repeated == ((1,) if same else ())
    assert not same or tiny_tokenizer.encode(one) == tiny_tokenizer.encode(other)
    assert (normalized_text(one) == normalized_text(other)) == same


def test_warn_duplicates_logs_one_line_with_the_first_pair(caplog):
    warn_duplicates(PLACE, rows(("a", 0), ("b", 1), ("a", 0), ("b", 0), ("a", 1)), [2, 3, 5, 8, 9])
    assert caplog.messages == [
        "rows.csv: 1 of 5 rows repeat an earlier one; 2 of 5 contradict an earlier one "
        "(the same text to an uncased model, another label), first rows.csv:3 and rows.csv:8; all are used"
    ]


def test_warn_duplicates_shows_ids_without_lines(caplog):
    warn_duplicates(PLACE, [example("a", None, target, id=name) for name, target in [("x", 0), ("y", 1)]])
    assert caplog.messages[0].endswith("first 'x' and 'y'; all are used")


@pytest.mark.parametrize(
    ("labels", "messages"),
    [
        (("NEG", "Pos", "neg", "neutral", "pos"), ["differ in case only: 'NEG' and 'neg', 'Pos' and 'pos'; each is"]),
        (("NA", "bad", "none"), ["look like a missing value: 'NA', 'none'; each is a class, so remove the rows"]),
        (("NaN", "nan"), ["case only: 'NaN' and 'nan'; each", "look like a missing value: 'NaN', 'nan'; each"]),
        (("0", "1", "1.0", "a"), ["are the same number: '1' and '1.0'; each is a class, so write alike"]),
        (
            tuple("ABCDEFabcdef"),
            ["'A' and 'a', 'B' and 'b', 'C' and 'c', 'D' and 'd', 'E' and 'e', …; each"],
        ),
        (("0", "1", "bad", "good", "inf", "nano", "1e400", "1e401"), []),
        ((), []),
    ],
)
def test_warn_labels_names_labels_that_may_be_one_or_none(caplog, labels, messages):
    warn_labels(PLACE, labels)
    assert len(caplog.messages) == len(messages)
    for found, expected in zip(caplog.messages, messages, strict=True):
        assert found.startswith("rows.csv: labels that ")
        assert expected in found


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "text,label\nx,pos\ny,Pos\n"),
        ("a.jsonl", '{"text": "x", "label": ["pos"]}\n{"text": "y", "label": ["Pos"]}\n'),
        ("a.conll", "x B-pos\ny B-Pos\n"),
    ],
)
def test_read_labelled_warns_of_labels_unless_they_are_given(tmp_path, caplog, name, content):
    (tmp_path / name).write_text(content)
    data = read_labelled(tmp_path / name)
    assert caplog.text.count("differ in case only") == 1
    assert {label.lower() for label in data.labels} < {"pos", "b-pos"}
    assert len(data.labels) == 2, "labels stay as they are"
    read_labelled(tmp_path / name, options=ReadOptions(labels=data.labels))
    assert caplog.text.count("differ in case only") == 1


@pytest.mark.parametrize("examples", [[], rows(("a", 0), ("b", 0)), rows(("a", None), ("a", None))])
def test_warn_duplicates_ignores_different_or_unlabelled_rows(caplog, examples):
    warn_duplicates(PLACE, examples, list(range(len(examples))))
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("name", "content", "pair"),
    [
        ("a.csv", 'text,label\nx,1\n"y\nz",0\nx,0\nw,1\n', "a.csv:2 and PLACE/a.csv:5"),
        ("a.tsv", "text\tlabel\nx\t1\nx\t0\n", "a.tsv:2 and PLACE/a.tsv:3"),
        ("a.jsonl", '{"text": "x", "label": ["a"]}\n{"text": "x", "label": ["b"]}\n', "a.jsonl:1 and PLACE/a.jsonl:2"),
        ("a.conll", "x O\ny O\n\nx O\ny B-N\n", "a.conll:1 and PLACE/a.conll:4"),
        (
            "a.jsonl",
            "".join(f'{{"question": "Q?", "context": "x y", "answer": "{a}"}}\n' for a in "xy"),
            "a.jsonl:1 and PLACE/a.jsonl:2",
        ),
    ],
)
def test_warn_duplicates_shows_the_lines_of_every_format(tmp_path, caplog, name, content, pair):
    (tmp_path / name).write_text(content)
    read_labelled(tmp_path / name, Columns())
    (said,) = (record.getMessage() for record in caplog.records if record.levelno == logging.WARNING)
    pair = pair.replace("PLACE", str(tmp_path))
    assert said.endswith(f"{tmp_path / pair}; all are used")


def test_warn_train_dev_leakage_counts_shared_rows(caplog):
    train = data(rows(("a", 0), ("b", 1), ("c", 1)))
    warn_train_dev_leakage(train, data(rows(("a", 0), ("b", 0), ("d", 0), ("a", 0)), path=Path("dev.csv")))
    warn_train_dev_leakage(train, data(rows(("d", 0))))
    (said,) = caplog.messages
    assert said.startswith("dev.csv: 3 of 4 development rows have the text of a row in rows.csv")
    assert "and 2 of them its label too" in said


@pytest.mark.parametrize(
    ("count", "batch_size", "settings", "missed"),
    [
        (6, 6, {}, None),
        (5, 5, {}, "2 for each of 3 labels"),
        (6, 7, {}, "one batch (batch_size 7)"),
        (2, 7, {}, "2 for each of 3 labels and one batch (batch_size 7)"),
        (2, 2, {"task_type": "multiple_choice", "labels": None}, None),
    ],
)
def test_warn_small_dataset_logs_too_few_rows(caplog, count, batch_size, settings, missed):
    warn_small_dataset(data(rows(*[("a", 0)] * count), **settings), batch_size=batch_size)
    expected = f"rows.csv: {count} training rows, fewer than {missed}; expect low scores"
    assert caplog.messages == ([] if missed is None else [expected])
