"""What is odd in labelled rows is said with counts and places, once, and nothing else is."""

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.labelled_data import ChoiceExample, Example, LabelledData, TaggedExample, as_read
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.data_checks import find_repeats, mention_few, mention_repeats, mention_shared
from litebert.tasks.readers.read_labelled import read_labelled
from litebert.tasks.types.questions import GoldAnswer, Question

PLACE = Path("rows.csv")
LABELLED = st.lists(st.builds(Example, st.sampled_from("abc"), st.sampled_from([None, "x"]), st.integers(0, 2)))


def rows(*labelled):
    return [Example(text, None, target) for text, target in labelled]


def data(examples, *, path=PLACE, kind="classification", labels=("0", "1", "2")):
    return LabelledData(path, kind, tuple(examples), labels, "as asked")


@given(LABELLED)
def test_every_row_asks_something_new_or_repeats_or_contradicts(examples):
    found = find_repeats(examples)
    assert len({each.asked for each in examples}) + len(found.same) + len(found.other) == len(examples)
    for index in found.same:
        assert (examples[index].asked, examples[index].told) in [(e.asked, e.told) for e in examples[:index]]
    for first, later in found.other:
        assert first == next(i for i, each in enumerate(examples) if each.asked == examples[later].asked) < later
        assert examples[later].told not in [e.told for e in examples[:later] if e.asked == examples[later].asked]


def questions(*answers):
    gold = [tuple(GoldAnswer(text, 0) for text in texts) for texts in answers]
    return [Question("q", "Who?", "Ann and Ben.", each) for each in gold]


@pytest.mark.parametrize(
    ("first", "same", "other"),
    [
        (Example("a", "b", 1), Example("a", "b", 1, "g", "s", "7"), Example("a", "b", 0)),
        (Example("a", None, 0.5), Example("a", None, 0.5), Example("a", None, 0.7)),
        (Example("a", None, (1.0, 0.0)), Example("a", None, (1.0, 0.0)), Example("a", None, (1.0, 1.0))),
        *[
            tuple(ChoiceExample("t", "q", ("x", "y"), target) for target in (1, 1, 0)),
            tuple(TaggedExample(("a", "b"), tags) for tags in ((0, 1), (0, 1), (0, 0))),
            tuple(questions(["Ann", "Ben"], ["Ben", "Ann"], [])),
        ],
    ],
)
def test_every_kind_of_example_is_compared(first, same, other):
    assert find_repeats([first, same]).same == (1,)
    assert find_repeats([first, other]).other == ((0, 1),)


@pytest.mark.parametrize(
    "different", [Example("a", "c", 1), Example("c", "b", 1), ChoiceExample("a", "b", ("x", "z"), 1)]
)
def test_another_question_is_no_repeat(different):
    first = ChoiceExample("a", "b", ("x", "y"), 1) if isinstance(different, ChoiceExample) else Example("a", "b", 1)
    assert find_repeats([first, different]) == find_repeats([])


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
def test_texts_are_compared_as_an_uncased_model_reads_them(tiny_tokenizer, one, other, same):
    examples = [Example(one, one, 0), Example(other, other, 1)]
    choices = [ChoiceExample(each, each, ("a", each), 0) for each in (one, other)]
    sentences = [TaggedExample(("a", each), (0, 1)) for each in (one, other)]
    asked = [Question("q", each, f"In {each}", (GoldAnswer(each, 3),)) for each in (one, other)]
    assert find_repeats(examples).other == (((0, 1),) if same else ())
    for rows_of_a_kind in (choices, sentences, asked):
        assert find_repeats(rows_of_a_kind).same == ((1,) if same else ())
    assert not same or tiny_tokenizer.encode(one) == tiny_tokenizer.encode(other)
    assert (as_read(one) == as_read(other)) == same


def test_repeats_are_said_in_one_line_with_the_first_pair(caplog):
    mention_repeats(PLACE, rows(("a", 0), ("b", 1), ("a", 0), ("b", 0), ("a", 1)), [2, 3, 5, 8, 9])
    assert caplog.messages == [
        "rows.csv: 1 of 5 rows repeat an earlier one; 2 of 5 contradict an earlier one "
        "(the same to an uncased model, another label), first rows.csv:3 and rows.csv:8; all are kept"
    ]


def test_rows_without_a_line_are_named_by_their_ids(caplog):
    mention_repeats(PLACE, [Example("a", None, target, id=name) for name, target in [("x", 0), ("y", 1)]])
    assert caplog.messages[0].endswith("first 'x' and 'y'; all are kept")


@pytest.mark.parametrize("examples", [[], rows(("a", 0), ("b", 0)), rows(("a", None), ("a", None))])
def test_of_rows_that_differ_or_have_no_labels_nothing_is_said(caplog, examples):
    mention_repeats(PLACE, examples, list(range(len(examples))))
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("name", "content", "pair"),
    [
        ("a.csv", 'text,label\nx,1\n"y\nz",0\nx,0\nw,1\n', "a.csv:2 and PLACE/a.csv:5"),
        ("a.tsv", "text\tlabel\nx\t1\nx\t0\n", "a.tsv:2 and PLACE/a.tsv:3"),
        ("a.jsonl", '{"text": "x", "label": ["a"]}\n{"text": "x", "label": ["b"]}\n', "a.jsonl:1 and PLACE/a.jsonl:2"),
        ("a.conll", "x O\ny O\n\nx O\ny B-N\n", "a.conll:1 and PLACE/a.conll:4"),
        ("a.jsonl", "".join(f'{{"question": "Q?", "context": "x y", "answer": "{a}"}}\n' for a in "xy"), "'1' and '2'"),
    ],
)
def test_readers_name_the_places_in_their_files(tmp_path, caplog, name, content, pair):
    (tmp_path / name).write_text(content)
    read_labelled(tmp_path / name, Columns())
    (said,) = (record.getMessage() for record in caplog.records if record.levelno == logging.WARNING)
    pair = pair.replace("PLACE", str(tmp_path))
    assert said.endswith(f"{pair if pair[0] == repr('')[0] else tmp_path / pair}; all are kept")


def test_development_rows_that_training_has_are_counted(caplog):
    train = data(rows(("a", 0), ("b", 1), ("c", 1)))
    mention_shared(train, data(rows(("a", 0), ("b", 0), ("d", 0), ("a", 0)), path=Path("dev.csv")))
    mention_shared(train, data(rows(("d", 0))))
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
        (2, 2, {"kind": "regression", "labels": None}, None),
        (2, 2, {"kind": "tokens"}, None),
    ],
)
def test_few_rows_are_said(caplog, count, batch_size, settings, missed):
    mention_few(data(rows(*[("a", 0)] * count), **settings), batch_size=batch_size)
    expected = f"rows.csv: {count} rows to learn from, fewer than {missed}; expect little"
    assert caplog.messages == ([] if missed is None else [expected])
