"""Columns of prediction files → what the task types score; every error names file, line and column."""

import json
from pathlib import Path

import numpy as np
import pytest

from litebert.errors import DataError
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.prediction_files.prediction_columns import (
    PredictionReader,
    labels_of_probabilities,
    read_classes,
    read_label_sets,
    read_scores,
    read_texts,
    read_word_labels,
)
from litebert.tasks.readers.tables import Row, Table
from litebert.tasks.results import decode_class, decode_labels, decode_regression
from litebert.tasks.types.token_classification.token_examples import TokenExample

LABELS = ("bad", "fair", "good")


def table(*records):
    return Table(Path("p.csv"), tuple(records[0]), tuple(Row(line, each) for line, each in enumerate(records, start=2)))


def data(*examples, labels=LABELS):
    return LabelledData(Path("dev.csv"), "", examples, labels, "")


@pytest.mark.parametrize("probabilities", [(0.2, 0.5, 0.3), (1 / 3, 1 / 3, 1 / 3)])
def test_classes_are_read_as_they_are_written(probabilities):
    record = decode_class(np.array(probabilities), None, LABELS, None).to_record()
    for each in (record, {**record, "probabilities": json.dumps(record["probabilities"])}):
        (read,) = read_classes(table(each), "prediction", data())
        assert tuple(read) == probabilities


def test_label_sets_are_read_as_they_are_written():
    record = decode_labels(np.array([0.2, 0.5, 0.9]), None, LABELS, None).to_record()
    for name in ("prediction", "labels"):
        (read,) = read_label_sets(table(record), name, data())
        assert read.tolist() == [0.2, 0.5, 0.9]
    (without,) = read_label_sets(table({"prediction": "fair|good"}), "prediction", data())
    assert without.tolist() == [0, 1, 1]


def test_scores_are_read_as_they_are_written():
    record = decode_regression(np.array([0.1], np.float32), None, (), None).to_record()
    assert read_scores(table({"prediction": str(record["prediction"])}), "prediction", data()) == [np.float32(0.1)]


def test_classes_without_probabilities_have_one_each():
    read = read_classes(table({"prediction": " good "}, {"prediction": "bad"}), "prediction", data())
    assert np.array(read).tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(("labels", "value"), [(("LABEL_0", "LABEL_1"), "1"), (("0", "1"), "LABEL_1")])
def test_labels_without_names_are_numbers(labels, value):
    assert read_classes(table({"prediction": value}), "prediction", data(labels=labels))[0].tolist() == [0, 1]


def test_probabilities_of_a_list_are_in_the_order_of_the_labels():
    given = {"prediction": "fair", "probabilities": [0.1, 0.6, 0.3]}
    assert read_classes(table(given), "prediction", data())[0].tolist() == [0.1, 0.6, 0.3]
    assert labels_of_probabilities(table(given)) is None
    assert labels_of_probabilities(table({"prediction": "a", "probabilities": '{"b": 0, "a": 1}'})) == ("a", "b")
    assert labels_of_probabilities(table({"prediction": "a"})) is None


def test_the_prediction_is_the_largest_of_rounded_probabilities_that_are_equal():
    given = {"prediction": "good", "probabilities": [0.1, 0.45, 0.45]}
    (read,) = read_classes(table(given), "prediction", data())
    assert read.argmax() == 2
    assert read == pytest.approx([0.1, 0.45, 0.45])


def test_words_are_read_from_a_list_or_a_text():
    sentence = TokenExample(words=("the", "film"), target=(0, 1))
    for value in (["bad", "good"], "bad good"):
        (read,) = read_word_labels(table({"prediction": value}), "prediction", data(sentence))
        assert read.argmax(-1).tolist() == [0, 2]
    with pytest.raises(DataError, match=r"p\.csv:2: field 'prediction': 1 labels for 2 words; write one for each word"):
        read_word_labels(table({"prediction": "bad"}), "prediction", data(sentence))


def test_answers_may_be_empty():
    assert read_texts(table({"prediction": ""}, {"prediction": "in 1999"}), "prediction", data()) == ["", "in 1999"]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            {"prediction": "nice"},
            "field 'prediction': unknown label 'nice'.*labels are 'bad', 'fair', 'good': correct it",
        ),
        ({"prediction": "goood"}, r"unknown label 'goood' \(did you mean 'good'\?\)"),
        ({"prediction": " "}, "field 'prediction': empty; write the prediction for this row"),
        ({"prediction": None}, "field 'prediction': empty"),
        ({"prediction": "good", "probabilities": [0.1, 0.2, 0.5]}, "they sum to 0.8, expected 1; normalize them"),
        ({"prediction": "good", "probabilities": [0.1, 0.9]}, r"expected one for each of .*, found \[0.1, 0.9\]"),
        ({"prediction": "good", "probabilities": {"good": 1}}, "expected one for each of 'bad', 'fair', 'good'"),
        ({"prediction": "good", "probabilities": {"a": 0, "b": 0, "good": 1}}, "expected one for each of"),
        ({"prediction": "good", "probabilities": ""}, "expected JSON, such as .*, found ''"),
        ({"prediction": "good", "probabilities": None}, "expected one for each of .*, found None"),
        ({"prediction": "good", "probabilities": [0, -1, 2]}, "expected numbers from 0 to 1"),
        ({"prediction": "good", "probabilities": [0, float("nan"), 1]}, "expected numbers from 0 to 1"),
        ({"prediction": "good", "probabilities": [0, False, 1]}, "expected numbers from 0 to 1"),
        (
            {"prediction": "good", "probabilities": [0.1, 0.6, 0.3]},
            r"the prediction is 'good' \(0.3\), but the most probable label 'fair' \(0.6\); correct",
        ),
    ],
)
def test_invalid_classes_are_errors(record, message):
    with pytest.raises(DataError, match=rf"p\.csv:3: .*{message}"):
        read_classes(table({**record, "prediction": "bad", "probabilities": [1, 0, 0]}, record), "prediction", data())


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"prediction": "bad|nice"}, "unknown label 'nice'"),
        ({"prediction": "bad|bad"}, "a label occurs twice"),
        (
            {"prediction": "bad", "probabilities": [0.9, 0.8, 0]},
            "that of 'fair' is 0.8, and a label is predicted from 0.5",
        ),
    ],
)
def test_invalid_label_sets_are_errors(record, message):
    with pytest.raises(DataError, match=rf"p\.csv:2: .*{message}"):
        read_label_sets(table(record), "prediction", data())


@pytest.mark.parametrize(
    ("value", "message"),
    [("good", "'good' is not a finite number"), ("nan", "finite"), ("1,5", "comma"), ("", "empty")],
)
def test_invalid_scores_are_errors(value, message):
    with pytest.raises(DataError, match=rf"p\.csv:2: field 'prediction': .*{message}"):
        read_scores(table({"prediction": value}), "prediction", data())


def test_column_of_the_predictions_is_the_first_that_there_is():
    reader = PredictionReader(columns=("prediction", "score", "label"), read=read_scores)
    assert reader.column(table({"label": 1, "score": 2})) == "score"
    with pytest.raises(
        DataError, match=r"p\.csv: no column 'prediction' \(did you mean 'predictions'\?\); it has 'text'"
    ):
        reader.column(table({"text": "a", "predictions": 1}))


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (read_label_sets, r"p\.csv:3: field 'prediction': no prediction; write an empty list for no label"),
        (read_texts, r"p\.csv:3: field 'prediction': no prediction; write an empty text for no answer"),
    ],
)
def test_row_of_json_without_a_prediction_is_an_error(read, message):
    with pytest.raises(DataError, match=message):
        read(table({"prediction": "good"}, {"prediction": None}), "prediction", data())


def test_other_words_are_a_warning(caplog):
    sentences = table({"word": ["a", "b"], "prediction": ["bad", "good"]}, {"word": ["c"], "prediction": ["bad"]})
    read_word_labels(sentences, "prediction", data(TokenExample(words=("a", "b")), TokenExample(words=("c",))))
    assert not caplog.text
    read_word_labels(sentences, "prediction", data(TokenExample(words=("a", "b")), TokenExample(words=("d",))))
    assert "p.csv:3: other words than in dev.csv, as in 1 of 2 sentences" in caplog.text


def test_label_that_a_cell_names_twice_is_an_error():
    cell = '{"bad": 0.2, "fair": 0.2, "good": 0.6, "bad": 0.2}'
    with pytest.raises(DataError, match=r"p\.csv:2: field 'probabilities': expected JSON"):
        read_classes(table({"prediction": "good", "probabilities": cell}), "prediction", data())


@pytest.mark.parametrize("names", [("good", "bad"), ("bad", "good")])
def test_labels_are_in_alphabetical_order_in_whatever_order_a_file_names_them(names):
    given = {"probabilities": dict.fromkeys(names, 0.5)}
    assert labels_of_probabilities(table(given, given)) == ("bad", "good")


def test_whole_numbers_that_were_written_as_floats_are_labels():
    assert read_classes(table({"prediction": "1.0"}), "prediction", data(labels=("0", "1", "2")))[0].tolist() == [
        0,
        1,
        0,
    ]


def test_probabilities_of_labels_that_were_rounded_to_the_threshold_are_as_predicted():
    given = table({"prediction": "bad", "probabilities": [0.498, 0.5, 0.1]})
    assert (read_label_sets(given, "prediction", data())[0] >= 0.5).tolist() == [True, False, False]


@pytest.mark.parametrize("others", [{"zz": 0.9}, {"zz": 0.9, "yy": 0.1}])
def test_probabilities_of_unknown_labels_are_errors(others):
    given = table({"prediction": "bad", "probabilities": {"bad": 0.8, "fair": 0.1, "good": 0.1, **others}})
    for read in (read_classes, read_label_sets):
        with pytest.raises(DataError, match="expected one for each of 'bad', 'fair', 'good'"):
            read(given, "prediction", data())
