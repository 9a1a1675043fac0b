"""Prediction files → rows in the order of the examples; every error names the file and what to do."""

import json
from pathlib import Path

import pytest

from litebert.errors import DataError
from litebert.tasks.labelled_data import Example, LabelledData
from litebert.tasks.prediction_files.prediction_rows import (
    PREDICTION_ENDINGS,
    ExampleRows,
    is_prediction_file,
    read_prediction_rows,
    words_by_sentence,
)
from litebert.tasks.readers.tables import read_table


def written(path, text):
    path.write_text(text)
    return path


def rows(count, ids=None):
    return ExampleRows(Path("dev.csv"), tuple(ids or [None] * count), tuple(range(count)))


@pytest.mark.parametrize("ending", PREDICTION_ENDINGS)
def test_prediction_file_is_known_by_its_ending(ending, tmp_path):
    assert is_prediction_file(f"predictions{ending}")
    assert is_prediction_file(tmp_path / f"PREDICTIONS{ending.upper()}.gz")
    (tmp_path / f"run{ending}").mkdir()
    assert not is_prediction_file(tmp_path / f"run{ending}")


def test_columns_of_a_probability_each_are_those_of_all_labels(tmp_path):
    text = "text,prediction,probability_bad,probability_good\na film,good,0.25,0.75\nx,good,?,0.75\n"
    first, second = read_prediction_rows(written(tmp_path / "p.csv", text)).rows
    assert first.values["probabilities"] == {"bad": 0.25, "good": 0.75}
    assert second.values["probabilities"] == {"bad": "?", "good": 0.75}
    one = read_prediction_rows(written(tmp_path / "one.csv", "prediction,probability_of_rain\ngood,0.5\n"))
    assert one.columns == ("prediction", "probability_of_rain")
    lists = '{"prediction": ["bad"], "probability_bad": 0.9, "probability_good": 0.1}\n'
    assert "probabilities" in read_prediction_rows(written(tmp_path / "lists.jsonl", lists)).columns
    floats = "prediction,probability_0,probability_1\n1.0,0.2,0.8\n"
    assert "probabilities" in read_prediction_rows(written(tmp_path / "floats.csv", floats)).columns
    unsorted = "prediction,probability_LABEL_1,probability_LABEL_0\n1,0.8,0.2\n"
    assert "probabilities" in read_prediction_rows(written(tmp_path / "unsorted.csv", unsorted)).columns
    truth = '{"prediction": true, "probability_true": 0.9, "probability_false": 0.1}\n'
    assert "probabilities" in read_prediction_rows(written(tmp_path / "truth.jsonl", truth)).columns
    option = "prediction,probability_A,probability_B\n0,0.9,0.1\n"
    assert "probabilities" in read_prediction_rows(written(tmp_path / "option.csv", option)).columns


def test_columns_of_other_probabilities_than_those_of_the_predictions_are_not_read(tmp_path, caplog):
    caplog.set_level("INFO", "litebert")
    letters = "prediction,probability_A,probability_B\nyes|,0.9,0.1\nno,0.1,0.9\n"
    assert "probabilities" not in read_prediction_rows(written(tmp_path / "letters.csv", letters)).columns
    empty = "prediction,probability_yes,probability_no\nyes|,0.9,0.1\nperhaps,0.1,0.9\n"
    assert "probabilities" not in read_prediction_rows(written(tmp_path / "empty.csv", empty)).columns
    own = "probability_human,probability_machine,prediction\n0.9,0.1,yes\n0.2,0.8,no\n"
    assert "probabilities" not in read_prediction_rows(written(tmp_path / "own.csv", own)).columns
    assert "not read: probability_human, probability_machine, as the prediction 'yes' is none of" in caplog.text


@pytest.mark.parametrize("source", ["RUN", "RUN/model", "albert/albert-base-v2", "runs/learning_rate=1e-05"])
def test_model_is_no_prediction_file(source):
    assert not is_prediction_file(source)


def test_rows_keep_their_order_without_ids(tmp_path):
    predicted = read_prediction_rows(written(tmp_path / "p.csv", "prediction\na\nb\n"))
    assert rows(2).order(predicted).texts("prediction") == ["a", "b"]


def test_rows_are_in_the_order_of_the_ids(tmp_path):
    predicted = read_prediction_rows(written(tmp_path / "p.json", json.dumps({"q2": "two", "q1": "one", "q3": ""})))
    assert rows(2, ["q1", "q2"]).order(predicted).texts("prediction") == ["one", "two"]


def test_rows_with_the_ids_of_the_examples_may_have_equal_ones(tmp_path):
    predicted = read_prediction_rows(written(tmp_path / "p.csv", "id,prediction\nann,a\nann,b\nbob,c\n"))
    assert rows(3, ["ann", "ann", "bob"]).order(predicted).texts("prediction") == ["a", "b", "c"]


def test_rows_of_the_whole_file_are_those_of_the_examples(tmp_path):
    table = read_table(written(tmp_path / "dev.csv", "text,label\na,1\nb,\nc,2\n"))
    data = LabelledData(table.path, "classification", (Example(text="a"), Example(text="c")), ("1", "2"), "", (2, 4))
    predicted = read_prediction_rows(written(tmp_path / "p.csv", "prediction\n1\n2\n3\n"))
    assert ExampleRows.of(data, table).order(predicted).texts("prediction") == ["1", "3"]


def test_rows_of_the_whole_file_may_have_equal_ids(tmp_path):
    table = read_table(written(tmp_path / "dev.csv", "id,text,label\nann,a,1\nann,b,\nbob,c,2\n"))
    data = LabelledData(table.path, "classification", (Example(text="a"), Example(text="c")), ("1", "2"), "", (2, 4))
    predicted = read_prediction_rows(written(tmp_path / "p.csv", "id,prediction\nann,1\nann,2\nbob,3\n"))
    assert ExampleRows.of(data, table).order(predicted).texts("prediction") == ["1", "3"]


def test_one_prediction_for_several_examples_of_an_id_is_an_error(tmp_path):
    predicted = read_prediction_rows(written(tmp_path / "p.csv", "id,prediction\nann,a\nbob,b\n"))
    with pytest.raises(DataError, match=r"dev\.csv: the id 'ann' is that of several examples, so .* cannot be matched"):
        rows(3, ["ann", "ann", "bob"]).order(predicted)


def test_words_of_a_table_become_sentences(tmp_path):
    path = written(tmp_path / "p.csv", "sentence,word,prediction\n1,a,O\n1,b,X\n2,a,Y\n")
    assert [row.values for row in words_by_sentence(read_prediction_rows(path)).rows] == [
        {"word": ["a", "b"], "prediction": ["O", "X"]},
        {"word": ["a"], "prediction": ["Y"]},
    ]
    other = read_prediction_rows(written(tmp_path / "q.csv", "prediction\na\n"))
    assert words_by_sentence(other) is other


def test_conll_file_has_the_predictions_in_its_last_column(tmp_path):
    predicted = read_prediction_rows(written(tmp_path / "p.conll", "a O X\nb O O\n\nc X Y\n"))
    assert [(row.line, row.values["prediction"]) for row in predicted.rows] == [(1, ["X", "O"]), (4, ["Y"])]


@pytest.mark.parametrize(
    ("content", "ids", "message"),
    [
        (
            "prediction\na\n",
            None,
            r"p\.csv:2: the last of 1 predictions, but dev\.csv has 2 examples; write one for each",
        ),
        ("prediction,id\na,1\nb,1\n", ["1", "2"], r"p\.csv:3: field 'id': the id '1' is also that of line 2"),
        ("prediction,id\na,1\nb,2\n", None, r"p\.csv: has a column 'id', but the examples of dev\.csv have no ids"),
        (
            "prediction,id\na,1\nb,3\n",
            ["1", "2"],
            r"no prediction for 1 of 2 examples of dev\.csv, the first .* id '2'",
        ),
    ],
)
def test_examples_without_one_prediction_each_are_an_error(content, ids, message, tmp_path):
    predicted = read_prediction_rows(written(tmp_path / "p.csv", content))
    with pytest.raises(DataError, match=message):
        rows(2, ids).order(predicted)


def test_predictions_of_no_example_are_a_warning(tmp_path, caplog):
    predicted = read_prediction_rows(written(tmp_path / "p.csv", "prediction,id\na,1\nb,2\nc,3\n"))
    rows(2, ["1", "2"]).order(predicted)
    assert "p.csv: 1 predictions belong to no example of dev.csv" in caplog.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON .* one object of ids and predictions"),
        ("[1]", "expected an object with predictions, found list"),
        ("{}", "expected an object with predictions"),
        ('{"a": "x", "a": "y"}', "the field 'a' is given 2 times"),
        ("\0", "binary"),
    ],
)
def test_json_that_is_no_object_of_predictions_is_an_error(content, message, tmp_path):
    with pytest.raises(DataError, match=message):
        read_prediction_rows(written(tmp_path / "p.json", content))


def test_missing_prediction_file_is_an_error(tmp_path):
    with pytest.raises(DataError, match=r"p\.json: no such file; check the path"):
        read_prediction_rows(tmp_path / "p.json")


def test_rows_of_a_split_are_in_the_order_of_their_numbers(tmp_path):
    """As GLUE's format has them, for examples whose file has no ids."""
    data = LabelledData(Path("dev.tsv"), "classification", tuple(Example(text=text) for text in "abc"), None, "")
    examples = ExampleRows.of(data, None)
    shuffled = read_prediction_rows(written(tmp_path / "p.tsv", "index\tprediction\n2\tz\n0\tx\n1\ty\n"))
    assert examples.order(shuffled).texts("prediction") == ["x", "y", "z"]
    twice = read_prediction_rows(written(tmp_path / "twice.tsv", "index\tprediction\n2\tz\n0\tx\n0\ty\n"))
    with pytest.raises(
        DataError, match=r"twice\.tsv: field 'index': no row has 1, expected each number from 0 to 2 once"
    ):
        examples.order(twice)
    assert rows(3).order(shuffled) == shuffled, "the column of a table of your own may be anything"
