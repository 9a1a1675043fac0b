"""Invalid labelled files: every error names file, line and field."""

import json

import pytest

from litebert.errors import ConfigError, DataError
from litebert.tasks.benchmarks.benchmark_files import read_benchmark
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.columns import Columns
from litebert.tasks.types.task_type import ReadOptions

CHOICE = "text,option1,option2,label\nt,a,b,A\n"
TAGGED = '{"text": ["a", "b"], "label": ["O", "O"]}\n'
PAIRED = Columns(text_pair="pair")


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        # rows
        ("x.csv", "text,label\na\n", {}, r"x\.csv:2: 1 fields, expected 2; 'label' is missing"),
        ("x.csv", "text,label\na,b,c\n", {}, r"x\.csv:2: 3 fields, expected 2; too many from 'c' on"),
        ("x.csv", 'text,label\n"a,b\n', {}, r"x\.csv:2: not valid CSV"),
        ("x.tsv", "text\tlabel\na\tx\nb\n", {}, r"x\.tsv:3: 1 fields, expected 2"),
        ("x.csv", "text,label,label\na,b,c\n", {}, r"x\.csv:1: the column 'label' is named 2 times"),
        ("x.csv", "text,lable\na,b\n", {}, r"x\.csv: no column 'label' \(did you mean 'lable'\?\)"),
        ("x.csv", "text,label\na,b\nc,d\n", {"columns": PAIRED}, r"x\.csv: no column 'pair'; it has 'text', 'label'"),
        ("x.jsonl", '{"text": "a", "label": "b"}\n{"text": "c"}\n', {}, r"x\.jsonl:2: field 'label': .* is empty"),
        ("x.jsonl", '{"text": "a"\n', {}, r"x\.jsonl:1: not valid JSON"),
        ("x.jsonl", '{"text": "a", "label": "b"}\n\n{}\n', {}, r"x\.jsonl:2: a blank line; remove it"),
        ("x.csv", "text\tlabel\na\tb\n", {}, r"x\.csv:1: has tabs and no comma; save the file with commas"),
        ("x.csv", "text;label\na\n", {}, r"x\.csv:2: 1 fields, expected 2; 'label' is missing"),
        ("x.csv", "film,x\nplay,y\n", {}, r"it has 'film', 'x'; name the column .*, or write the names of the columns"),
        (
            "x.jsonl",
            '{"text": {}, "label": 0.5}\n',
            {},
            r"x\.jsonl:1: field 'text': expected a",
        ),
        ("x.xlsx", "text", {}, "unknown format '.xlsx'"),
        # labels
        ("x.csv", "text,label\na,b\nc,\n", {}, r"x\.csv:3: field 'label': .* is empty"),
        ("x.csv", "text,label\na,1.5\nb,nan\n", {}, r"x\.csv:3: field 'label': 'nan' is not a finite number"),
        ("x.csv", "text,label\na,x\n", {"labels": ("y", "z")}, r"x\.csv:2: field 'label': unknown label 'x'"),
        ("x.csv", "text,label\na,1.5\n", {"task_type": "classification", "labels": ("0",)}, r"unknown label '1\.5'"),
        ("x.csv", "text,label\na,-1\n", {"labels": ("0", "1")}, r"x\.csv:2: .* -1 marks a row without .* `predict`"),
        ("x.csv", "text,label\na,-1\nb,-1\n", {"task_type": "classification"}, r"'-1' \(-1 marks rows without labels"),
        # several labels
        ("x.jsonl", '{"text": "a", "label": ["p", "p"]}\n', {}, r"x\.jsonl:1: field 'label': a label occurs twice"),
        (
            "x.jsonl",
            '{"text": "a", "label": ["p", ""]}\n',
            {},
            r"x\.jsonl:1: field 'label': a label is empty",
        ),
        ("x.jsonl", '{"text": "a", "label": [null]}\n', {}, r"x\.jsonl:1: field 'label': a label is empty"),
        ("x.jsonl", '{"text": "a", "label": [["b"]]}\n', {}, r"x\.jsonl:1: field 'label': a label is a list"),
        ("x.jsonl", '{"text": "a", "label": ["q"]}\n', {"labels": ("p", "r")}, r"x\.jsonl:1: .*unknown label 'q'"),
        # options
        ("x.csv", CHOICE + "t,a,b,C\n", {}, r"x\.csv:3: field 'label': 'C' is none of the 2 options"),
        ("x.csv", CHOICE + "t,a,b,2\n", {}, r"give a letter from A to B, a number from 0 to 1, or an option's text"),
        ("x.csv", CHOICE + "t,a,a,a\n", {}, r"x\.csv:3: field 'label': 'a' is none of the 2 options"),
        ("x.csv", CHOICE + "t,a, ,A\n", {}, r"x\.csv:3: field 'option1': an option is empty"),
        ("x.csv", "text,label\na,0\n", {"task_type": "multiple_choice"}, r"no columns with options, such as option1"),
        (
            "x.jsonl",
            '{"text": "t", "options": ["a", "b"], "label": 0}\n{"text": "t", "options": ["a"], "label": 0}\n',
            {},
            r"x\.jsonl:2: field 'options': 1 options, expected 2",
        ),
        ("x.jsonl", '{"text": "t", "options": ["a"], "label": 0}\n', {}, r"1 options, expected 2 or more"),
        (
            "x.jsonl",
            '{"text": "t", "options": [["a"], 1], "label": 0}\n',
            {},
            r"field 'options': expected texts, found",
        ),
        # tags
        ("x.jsonl", TAGGED + '{"text": ["a"], "label": ["O", "O"]}\n', {}, r"x\.jsonl:2: .*: 2 labels for 1 words"),
        ("x.jsonl", TAGGED + '{"text": "a b", "label": ["O"]}\n', {}, r"x\.jsonl:2: field 'text': expected a list"),
        ("x.jsonl", TAGGED + '{"text": ["a"], "label": [3]}\n', {}, r"x\.jsonl:2: field 'label': expected a list"),
        ("x.jsonl", TAGGED, {"labels": ("B-X",)}, r"x\.jsonl:1: field 'label': unknown label 'O'"),
        ("x.conll", "a O\nb\n", {}, r"x\.conll:2: 1 columns, expected 2"),
        # files
        ("x.csv", "", {}, r"x\.csv: the file is empty"),
        ("x.csv", "\ufeff\n", {}, r"x\.csv: the file is empty"),
        ("x.csv", "text,label\n", {}, r"x\.csv: no rows after the names of the columns"),
        ("x.csv", "text,label\na\0,b\n", {}, r"x\.csv: binary or UTF-16 \(a zero byte at offset 12\)"),
    ],
)
def test_invalid_labelled_file_is_an_error_with_file_and_line(tmp_path, name, content, options, message):
    path = tmp_path / name
    path.write_text(content)
    columns = options.get("columns")
    others = {name: value for name, value in options.items() if name != "columns"}
    with pytest.raises(DataError, match=message):
        read_labelled(path, columns, options=ReadOptions(**others))


def test_conll_file_rejects_another_task_type(tmp_path):
    (tmp_path / "x.conll").write_text("a O\n")
    with pytest.raises(ConfigError, match=r"a \.conll file has token_classification data, not regression"):
        read_labelled(tmp_path / "x.conll", options=ReadOptions(task_type="regression"))


def passage(**changes):
    content = {"article": "a", "questions": ["q"], "options": [["w", "x", "y", "z"]], "answers": ["A"], "id": "one"}
    return json.dumps(content | changes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (passage(options=[["w", "x", "y"]]), r"1\.txt:1: question 0: field 'options': 3 options, expected 4"),
        (passage(options=["wxyz"]), r"question 0: field 'options': str options, expected 4"),
        (passage(answers=["E"]), r"1\.txt:1: question 0: field 'answers': expected a letter from A to D, found 'E'"),
        (passage(answers=["A", "B"]), r"1\.txt:1: field 'answers': expected one for each of 1 questions"),
        (passage(questions=[3]), r"question 0: field 'options': question, options and answer must be texts"),
        (passage(article=None), r"1\.txt:1: field 'article': expected a text"),
        ('{"article": "a"}', r"1\.txt:1: field 'questions': missing"),
        ("[]", r"1\.txt:1: expected a JSON object, found list"),
        (passage() + "\n" + passage(), r"1\.txt:2: field 'id': 'one' is also that of"),
        (passage() + "\n{", r"1\.txt:2: not valid JSON"),
    ],
)
def test_invalid_race_file_is_an_error_with_its_place(tmp_path, content, message):
    folder = tmp_path / "RACE" / "train" / "middle"
    folder.mkdir(parents=True)
    (folder / "1.txt").write_text(content)
    with pytest.raises(DataError, match=message):
        read_benchmark("race-middle", tmp_path, "train")


@pytest.mark.parametrize(
    ("task", "part", "content", "message"),
    [
        ("cola", "train", "a\t1\t\n", r"train\.tsv:1: 3 fields, expected 4; 'sentence' is missing"),
        ("cola", "train", "a\t2\t\ttext\n", r"train\.tsv:1: field 'label': unknown label '2'"),
        ("rte", "dev", "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tentailed\n", r"did you mean 'entailment'"),
        ("sts-b", "dev", "index\tsentence1\tsentence2\tscore\n0\ta\tb\thigh\n", "'high' is not a finite number"),
        ("rte", "train", "index\tsentence1\tsentence2\n0\ta\tb\n", "no column 'label'"),
        ("rte", "test", "index\tsentence1\tsentence2\n0\ta\tb\n0\tc\td\n", r"tsv:3: .*'0' is also that of line 2"),
    ],
)
def test_invalid_glue_file_is_an_error_with_file_and_line(tmp_path, task, part, content, message):
    folder = tmp_path / {"cola": "CoLA", "rte": "RTE", "sts-b": "STS-B"}[task]
    folder.mkdir()
    (folder / f"{part}.tsv").write_text(content)
    with pytest.raises(DataError, match=message):
        read_benchmark(task, tmp_path, part)
