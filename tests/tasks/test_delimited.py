"""Labels: read strictly, their kind guessed aloud."""

import logging

import pytest

from litebert.errors import DataError
from litebert.tasks.delimited import read_labelled


def labelled(directory, column, **options):
    path = directory / "train.tsv"
    path.write_text("text\tlabel\n" + "".join(f"text {n}\t{label}\n" for n, label in enumerate(column)))
    return read_labelled(path, text="text", label="label", **options)


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
    data = read_labelled(path, text="a", text_pair="b", label="y", group="g")
    assert [(example.text, example.text_pair, example.group) for example in data.examples] == [
        ("one", "two", "7"),
        ("three", "four", "8"),
    ]


def test_empty_texts_are_kept_and_mentioned_once(tmp_path, caplog):
    path = tmp_path / "x.tsv"
    path.write_text("text\tlabel\n\ta\n \tb\nx\ta\n")
    assert len(read_labelled(path, text="text", label="label").examples) == 3
    assert caplog.text.count("2 rows have an empty text") == 1
