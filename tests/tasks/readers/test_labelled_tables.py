"""Labelled columns: read strictly, their kind guessed aloud."""

import json
import logging

import pytest

from litebert.errors import DataError
from litebert.tasks.readers.labelled_tables import Columns, read_delimited


def labelled(directory, column, **options):
    path = directory / "train.tsv"
    path.write_text("text\tlabel\n" + "".join(f"text {n}\t{label}\n" for n, label in enumerate(column)))
    return read_delimited(path, Columns(), **options)


@pytest.mark.parametrize(
    ("values", "kind", "labels"),
    [
        (["good", "bad", "good"], "classification", ("bad", "good")),
        (["1", "0", "10", "2"], "classification", ("0", "1", "2", "10")),
        (["5.000", "3.800"], "regression", None),
        (["1e-3", "2"], "regression", None),
        ([str(n) for n in range(21)], "regression", None),
        ([str(n) for n in range(20)], "classification", tuple(str(n) for n in range(20))),
        (["1", "nanny"], "classification", ("1", "nanny")),
    ],
)
def test_the_kind_is_guessed_from_the_labels_and_said(tmp_path, caplog, values, kind, labels):
    with caplog.at_level(logging.INFO, "litebert"):
        data = labelled(tmp_path, values)
    assert (data.kind, data.labels) == (kind, labels)
    assert kind in caplog.text
    assert data.reason in caplog.text


def test_the_kind_can_be_forced(tmp_path):
    assert labelled(tmp_path, ["1", "2"], kind="regression").kind == "regression"
    assert labelled(tmp_path, ["1.5", "2.5"], kind="classification").labels == ("1.5", "2.5")


def test_targets_are_positions_in_the_labels_or_scores(tmp_path):
    assert [example.target for example in labelled(tmp_path, ["b", "a", " b "]).examples] == [1, 0, 1]
    assert [example.target for example in labelled(tmp_path, ["0.5", "-2"]).examples] == [0.5, -2.0]


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (["a", "", "b"], {}, r"train\.tsv:3: field 'label': the label is empty"),
        (["1.5", "nan"], {}, r"train\.tsv:3: field 'label': 'nan' is not a finite number"),
        (["1", "1e999"], {}, r"train\.tsv:3: field 'label': '1e999' is not a finite number"),
        (["1", "high"], {"kind": "regression"}, r"train\.tsv:3: field 'label': 'high' is not a finite number"),
        (["1", "1_0"], {"kind": "regression"}, r"'1_0' is not a finite number"),
        (["a", "a"], {}, r"every row has the label 'a'; nothing can be learnt"),
        (
            ["positive", "negativ"],
            {"kind": "classification", "labels": ("negative", "positive")},
            r"train\.tsv:3: field 'label': unknown label 'negativ' \(did you mean 'negative'\?\)",
        ),
    ],
)
def test_a_wrong_label_is_refused_with_its_place(tmp_path, values, options, message):
    with pytest.raises(DataError, match=message):
        labelled(tmp_path, values, **options)


def test_a_column_of_texts_is_not_taken_for_labels_unless_asked(tmp_path):
    names = [f"name {number}" for number in range(20)]
    with pytest.raises(DataError, match="20 different labels in 20 rows look like texts"):
        labelled(tmp_path, names)
    assert len(labelled(tmp_path, names, kind="classification").labels) == 20


def test_pairs_and_groups_come_from_their_columns(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": "one", "b": "two", "g": 7, "y": "p"}\n{"a": "three", "b": "four", "g": 8, "y": "q"}\n')
    data = read_delimited(path, Columns(text="a", text_pair="b", label="y", group="g", slice="b"))
    assert [(example.text, example.slice, example.group) for example in data.examples] == [
        ("one", "two", "7"),
        ("three", "four", "8"),
    ]


def test_empty_texts_are_kept_and_mentioned_once(tmp_path, caplog):
    path = tmp_path / "x.tsv"
    path.write_text("text\tlabel\n\ta\n \tb\nx\ta\n")
    assert len(read_delimited(path, Columns()).examples) == 3
    assert caplog.text.count("2 rows have an empty text") == 1


def test_several_labels_are_seen_in_lists_and_in_joined_names(tmp_path):
    lists = tmp_path / "lists.jsonl"
    rows = [{"text": "a", "label": ["x", "y"]}, {"text": "b", "label": []}, {"text": "c", "label": ["y"]}]
    lists.write_text("".join(json.dumps(row) + "\n" for row in rows))
    joined = tmp_path / "joined.csv"
    joined.write_text("text,label\na,x | y\nb,\nc,y\nd,x\n")
    for path in (lists, joined):
        data = read_delimited(path, Columns())
        assert (data.kind, data.labels) == ("multi_label", ("x", "y"))
        assert [example.target for example in data.examples[:3]] == [(1.0, 1.0), (0.0, 0.0), (0.0, 1.0)]


def test_a_bar_inside_names_that_occur_nowhere_else_joins_nothing(tmp_path):
    assert labelled(tmp_path, ["a|b", "c", "c"]).labels == ("a|b", "c")


def test_columns_of_options_make_a_multiple_choice(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("text,question,option1,option2,label\nIt is red.,What is it?,red,blue,A\nNo.,Why?,x,y,1\n")
    data = read_delimited(path, Columns(text_pair="question"))
    assert (data.kind, data.labels) == ("multiple_choice", None)
    assert "columns of options: option1, option2" in data.reason
    assert [(each.question, each.options, each.target) for each in data.examples] == [
        ("What is it?", ("red", "blue"), 0),
        ("Why?", ("x", "y"), 1),
    ]


def test_lists_of_words_make_a_tagging(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"tokens": ["Ann", "sings"], "tags": ["B-PER", "O"]}\n')
    data = read_delimited(path, Columns(text="tokens", label="tags"))
    assert (data.kind, data.labels, data.examples[0].tags) == ("tokens", ("O", "B-PER"), (1, 0))
