"""Labelled tables and the task types they are guessed to be."""

import json
import logging

import pytest

from litebert.errors import DataError
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.columns import Columns
from litebert.tasks.types.task_type import ReadOptions


def labelled(directory, column, **options):
    path = directory / "train.tsv"
    path.write_text("text\tlabel\n" + "".join(f"text {n}\t{label}\n" for n, label in enumerate(column)))
    return read_labelled(path, options=ReadOptions(**options))


@pytest.mark.parametrize(
    ("values", "task_type", "labels"),
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
def test_task_type_is_guessed_from_the_labels_and_logged(tmp_path, caplog, values, task_type, labels):
    with caplog.at_level(logging.INFO, "litebert"):
        data = labelled(tmp_path, values)
    assert (data.task_type, data.labels) == (task_type, labels)
    assert task_type in caplog.text
    assert data.reason in caplog.text


def test_task_type_can_be_set(tmp_path):
    assert labelled(tmp_path, ["1", "2"], task_type="regression").task_type == "regression"
    assert labelled(tmp_path, ["1.5", "2.5"], task_type="classification").labels == ("1.5", "2.5")


def test_targets_are_label_indices_or_scores(tmp_path):
    assert [example.target for example in labelled(tmp_path, ["b", "a", " b "]).examples] == [1, 0, 1]
    assert [example.target for example in labelled(tmp_path, ["0.5", "-2"]).examples] == [0.5, -2.0]


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (["a", "", "b"], {}, r"train\.tsv:3: field 'label': the label is empty"),
        (["1.5", "nan"], {}, r"train\.tsv:3: field 'label': 'nan' is not a finite number"),
        (["1", "1e999"], {}, r"train\.tsv:3: field 'label': '1e999' is not a finite number"),
        (["1", "high"], {"task_type": "regression"}, r"train\.tsv:3: field 'label': 'high' is not a finite number"),
        (["1", "1_0"], {"task_type": "regression"}, r"'1_0' is not a finite number"),
        (["a", "a"], {}, r"every row has the label 'a'; give data with two labels"),
        (
            ["positive", "negativ"],
            {"task_type": "classification", "labels": ("negative", "positive")},
            r"train\.tsv:3: field 'label': unknown label 'negativ' \(did you mean 'negative'\?\)",
        ),
    ],
)
def test_invalid_label_is_an_error_with_file_and_line(tmp_path, values, options, message):
    with pytest.raises(DataError, match=message):
        labelled(tmp_path, values, **options)


def test_classification_rejects_a_label_column_of_texts_unless_set(tmp_path):
    names = [f"name {number}" for number in range(20)]
    with pytest.raises(DataError, match="20 different labels in 20 rows look like texts"):
        labelled(tmp_path, names)
    assert len(labelled(tmp_path, names, task_type="classification").labels) == 20


def test_read_labelled_reads_pairs_groups_and_slices(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": "one", "b": "two", "g": 7, "y": "p"}\n{"a": "three", "b": "four", "g": 8, "y": "q"}\n')
    data = read_labelled(path, Columns(text="a", text_pair="b", label="y", group="g", slice="b"))
    assert [(example.text, example.slice, example.group) for example in data.examples] == [
        ("one", "two", "7"),
        ("three", "four", "8"),
    ]


def test_empty_texts_are_used_with_one_warning(tmp_path, caplog):
    path = tmp_path / "x.tsv"
    path.write_text("text\tlabel\n\ta\n \tb\nx\ta\n")
    assert len(read_labelled(path, Columns()).examples) == 3
    assert caplog.text.count("2 rows have an empty text") == 1


def test_multi_label_is_guessed_from_lists_and_separators(tmp_path):
    lists = tmp_path / "lists.jsonl"
    rows = [{"text": "a", "label": ["x", "y"]}, {"text": "b", "label": []}, {"text": "c", "label": ["y"]}]
    lists.write_text("".join(json.dumps(row) + "\n" for row in rows))
    joined = tmp_path / "joined.csv"
    joined.write_text("text,label\na,x | y\nb,\nc,y\nd,x\n")
    for path in (lists, joined):
        data = read_labelled(path, Columns())
        assert (data.task_type, data.labels) == ("multi_label", ("x", "y"))
        assert [example.target for example in data.examples[:3]] == [(1.0, 1.0), (0.0, 0.0), (0.0, 1.0)]


def test_multi_label_is_not_guessed_from_a_separator_inside_names(tmp_path):
    assert labelled(tmp_path, ["a|b", "c", "c"]).labels == ("a|b", "c")


@pytest.mark.parametrize("task_type", [None, "classification", "multi_label"])
@pytest.mark.parametrize(
    ("values", "sign", "written"),
    [
        (["billing", "delivery", "billing, delivery", "billing, delivery"], ",", "'billing|delivery'"),
        (["a", "b", "c", "b; a", "a;c"], ";", "'b|a'"),
        (["a,b", "b,a", "a,c", "c,a", "b,c", "c,b", "a,b,c"], ",", "'a|b'"),
    ],
)
def test_labels_joined_with_another_sign_are_reported(tmp_path, caplog, task_type, values, sign, written):
    labelled(tmp_path, values, task_type=task_type)
    assert f"rows seem to have several labels with {sign!r} between them" in caplog.text
    assert f"write '|' between labels, {written}, or lists in JSON lines" in caplog.text


def test_labels_that_contain_a_comma_are_read_as_they_are(tmp_path, caplog):
    labelled(tmp_path, ["Austin, TX", "Dallas, TX", "Austin, TX", "none"])
    labelled(tmp_path, ["yes", "no", "yes, no"])  # one row only
    labelled(tmp_path, ["a|b", "a", "b"])
    assert "several labels" not in caplog.text


def test_many_combinations_of_labels_are_an_error_that_names_the_separator(tmp_path):
    names = "abcdef"
    values = [f"{first}, {second}" for first in names for second in names if first != second]
    with pytest.raises(DataError, match=r"field 'label': 30 rows seem to have several labels with ',' between them"):
        labelled(tmp_path, values)


def test_multiple_choice_is_guessed_from_columns_of_options(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("text,question,option1,option2,label\nIt is red.,What is it?,red,blue,A\nNo.,Why?,x,y,1\n")
    data = read_labelled(path, Columns(text_pair="question"))
    assert (data.task_type, data.labels) == ("multiple_choice", None)
    assert "columns of options: option1, option2" in data.reason
    assert [(each.question, each.options, each.target) for each in data.examples] == [
        ("What is it?", ("red", "blue"), 0),
        ("Why?", ("x", "y"), 1),
    ]


def test_token_classification_is_guessed_from_lists_of_words(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"tokens": ["Ann", "sings"], "tags": ["B-PER", "O"]}\n')
    data = read_labelled(path, Columns(text="tokens", label="tags"))
    assert (data.task_type, data.labels, data.examples[0].target) == ("token_classification", ("O", "B-PER"), (1, 0))


def test_questions_with_options_are_multiple_choice(tmp_path):
    path = tmp_path / "quiz.csv"
    rows = [f"Bob {n} came to Delft.,Where?,Delft,Rome,A" for n in range(3)]
    path.write_text("\n".join(["context,question,option1,option2,answer", *rows]) + "\n")
    data = read_labelled(path, Columns(text="context", text_pair="question", label="answer"))
    assert data.task_type == "multiple_choice"
    assert data.examples[0].text == "Bob 0 came to Delft."
