"""Submission files."""

import io
import json
import zipfile

import pytest

from litebert.errors import DataError
from litebert.tasks.benchmarks.benchmark_files import (
    BenchmarkSplit,
    checked_glue_file,
    glue_archive,
    glue_file,
    race_file,
)
from support.data.example_builders import choice, example

ROWS = [example("a", id="0"), example("b", id="7")]


def test_glue_file_has_a_header_and_one_prediction_a_row():
    assert glue_file(ROWS, ["entailment", "not_entailment"]) == "index\tprediction\n0\tentailment\n7\tnot_entailment\n"
    assert glue_file(ROWS, [4.75, -0.00049]) == "index\tprediction\n0\t4.750\n7\t-0.000\n"


def test_glue_archive_is_deterministic():
    archive = glue_archive({"RTE.tsv": "x\n", "CoLA.tsv": "y\n"})
    assert archive == glue_archive({"CoLA.tsv": "y\n", "RTE.tsv": "x\n"})
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        assert {name: opened.read(name).decode() for name in opened.namelist()} == {"CoLA.tsv": "y\n", "RTE.tsv": "x\n"}


def test_race_file_maps_questions_to_letters():
    examples = [choice("t", "q", ("a", "b"), id="high1.txt-0")]
    assert json.loads(race_file(examples, ["B"])) == {"high1.txt-0": "B"}


def checked(directory, name, content):
    """A file of answers to a test file of two rows, numbered 3 and 5."""
    folder = directory / {"rte": "RTE", "sts-b": "STS-B"}[name]
    folder.mkdir()
    (folder / "test.tsv").write_text("index\tsentence1\tsentence2\n3\ta\tb\n5\tc\td\n")
    path = directory / "predictions.tsv"
    path.write_text(f"index\tprediction\n{content}")
    return checked_glue_file(path, BenchmarkSplit(task=name, split="test"), directory)


@pytest.mark.parametrize(
    ("name", "content"),
    [("rte", "3\tentailment\n5\tnot_entailment\n"), ("sts-b", "3\t4.750\n5\t0.000\n")],
)
def test_checked_glue_file_accepts_a_prediction_for_every_row(tmp_path, name, content):
    assert checked(tmp_path, name, content) == f"index\tprediction\n{content}"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rte", "3\tentailment\n", r"predictions\.tsv: 1 predictions for the 2 rows of .*test\.tsv; predict that file"),
        ("rte", "3\tentailment\n4\tentailment\n", r"predictions\.tsv:3: field 'index': '4', expected '5' as in "),
        ("rte", "3\tentailment\n5\t1\n", "field 'prediction': '1', expected one of entailment, not_entailment"),
        ("sts-b", "3\t1.0\n5\thigh\n", r"predictions\.tsv:3: field 'prediction': 'high', expected a number"),
        ("sts-b", "3\t5.0\n5\t5.1\n", r"predictions\.tsv:3: field 'prediction': 5\.1, expected a number from 0 to 5"),
        ("sts-b", "3\t-0.1\n5\t5\n", r"predictions\.tsv:2: field 'prediction': -0\.1, expected a number from 0 to 5"),
    ],
)
def test_checked_glue_file_rejects_predictions_for_other_rows(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message):
        checked(tmp_path, name, content)
