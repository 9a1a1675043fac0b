"""Columns of a prediction file that the examples have too: copies of labels, and rows in another order."""

from pathlib import Path

import pytest

from litebert.errors import DataError
from litebert.tasks.prediction_files.shared_columns import validate_no_labels, warn_other_texts
from litebert.tasks.readers.tables import Row, Table


def table(name, **columns):
    rows = (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
    return Table(Path(name), tuple(columns), tuple(Row(line, row) for line, row in enumerate(rows, start=2)))


DEV = table("dev.csv", text=["a", "b"], label=["good", "bad"])


@pytest.mark.parametrize("label", ["label", "sentiment"])
def test_labels_in_the_place_of_predictions_are_an_error(label):
    copied = table("p.csv", label=["good", "bad"], guess=["bad", "bad"])
    with pytest.raises(DataError, match=r"p\.csv: no column 'prediction', and 'label' has the labels of dev\.csv"):
        validate_no_labels(copied, "label", DEV, label)


def test_predictions_may_be_all_right():
    validate_no_labels(table("p.csv", prediction=["good", "bad"]), "prediction", DEV, "label")
    validate_no_labels(table("p.csv", label=["bad", "bad"]), "label", DEV, "label")


def test_rows_in_another_order_are_a_warning(caplog):
    warn_other_texts(table("p.csv", text=["a", "c"], prediction=["x", "y"]), DEV, ["text", "text_pair"])
    assert "p.csv:3: field 'text': not that of the example of dev.csv in this place, as in 1 of 2 rows" in caplog.text


@pytest.mark.parametrize("texts", [["a", "b"], [["a"], ["b"]]])
def test_equal_texts_and_those_of_another_type_are_no_warning(texts, caplog):
    warn_other_texts(table("p.csv", text=texts), DEV, ["text"])
    assert not caplog.text
