"""Files as the leaderboards take them, byte for byte."""

import io
import json
import zipfile

from litebert.tasks.labelled import ChoiceExample, Example
from litebert.tasks.submission import glue_archive, glue_file, race_file

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
