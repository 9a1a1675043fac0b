"""Files as the leaderboards take them, byte for byte."""

import io
import json
import zipfile

import pytest

from litebert.errors import DataError
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.benchmarks.submission_files import glue_answers, glue_archive, glue_file, race_file
from litebert.tasks.labelled_data import ChoiceExample, Example

ROWS = [Example("a", None, None, id="0"), Example("b", None, None, id="7")]


def test_a_file_has_the_header_and_an_answer_a_row():
    assert glue_file(ROWS, ["entailment", "not_entailment"]) == "index\tprediction\n0\tentailment\n7\tnot_entailment\n"
    assert glue_file(ROWS, [4.75, -0.00049]) == "index\tprediction\n0\t4.750\n7\t-0.000\n"


def test_the_archive_holds_the_files_and_is_the_same_each_time():
    archive = glue_archive({"RTE.tsv": "x\n", "CoLA.tsv": "y\n"})
    assert archive == glue_archive({"CoLA.tsv": "y\n", "RTE.tsv": "x\n"})
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        assert {name: opened.read(name).decode() for name in opened.namelist()} == {"CoLA.tsv": "y\n", "RTE.tsv": "x\n"}


def test_answers_to_race_are_letters_by_question():
    examples = [ChoiceExample("t", "q", ("a", "b"), None, id="high1.txt-0")]
    assert json.loads(race_file(examples, ["B"])) == {"high1.txt-0": "B"}


def answers_to(directory, name, content):
    """A file of answers to a test file of two rows, numbered 3 and 5."""
    folder = directory / {"rte": "RTE", "sts-b": "STS-B"}[name]
    folder.mkdir()
    (folder / "test.tsv").write_text("index\tsentence1\tsentence2\n3\ta\tb\n5\tc\td\n")
    path = directory / "answers.tsv"
    path.write_text(f"index\tprediction\n{content}")
    return glue_answers(path, BenchmarkSplit(name, "test"), directory)


@pytest.mark.parametrize(
    ("name", "content"),
    [("rte", "3\tentailment\n5\tnot_entailment\n"), ("sts-b", "3\t4.750\n5\t-0.5\n")],
)
def test_answers_to_every_row_stay_as_they_are(tmp_path, name, content):
    assert answers_to(tmp_path, name, content) == f"index\tprediction\n{content}"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rte", "3\tentailment\n", r"answers\.tsv: 1 answers to the 2 rows of .*test\.tsv; answer that file"),
        ("rte", "3\tentailment\n4\tentailment\n", r"answers\.tsv:3: field 'index': '4', expected '5' as in "),
        ("rte", "3\tentailment\n5\t1\n", "field 'prediction': '1', expected one of entailment, not_entailment"),
        ("sts-b", "3\t1.0\n5\thigh\n", r"answers\.tsv:3: field 'prediction': 'high', expected a number"),
    ],
)
def test_answers_to_other_rows_are_refused_with_their_place(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message):
        answers_to(tmp_path, name, content)
