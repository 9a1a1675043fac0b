"""`litebert predict MODEL - -`: standard input and output in place of files."""

import io
import json
import sys

import pytest

from litebert.cli.main import main


@pytest.fixture
def predict(made, monkeypatch, capsys):
    """(exit code, stdout, stderr) of a prediction with this standard input."""

    def call(content, source, output, *words):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
        code = main(["predict", str(made / "tuned"), str(source), str(output), *words])
        return code, *capsys.readouterr()

    return call


def test_predict_reads_a_text_a_line_and_writes_json_lines(predict, tmp_path):
    text = tmp_path / "new.txt"
    text.write_text("the film was good\nthe film was bad\n")
    assert predict("", text, tmp_path / "out.jsonl")[0] == 0
    code, out, err = predict(text.read_text(), "-", "-")
    assert code == 0, err
    assert out == (tmp_path / "out.jsonl").read_text()
    assert [json.loads(line)["text"] for line in out.splitlines()] == ["the film was good", "the film was bad"]
    assert predict(text.read_text(), "-", "-", "--json")[1] == out, "nothing else is on stdout"


def test_standard_input_that_begins_with_a_brace_is_json_lines(predict, tmp_path):
    rows = [{"id": 7, "text": "the film was good"}]
    code, out, err = predict("".join(json.dumps(row) for row in rows), "-", tmp_path / "out.jsonl")
    assert code == 0, err
    assert "out.jsonl: 1 predictions written" in out
    assert json.loads((tmp_path / "out.jsonl").read_text())["id"] == 7


def test_file_is_predicted_to_standard_output(predict, made):
    code, out, err = predict("", made / "labelled.csv", "-")
    assert code == 0, err
    assert len(out.splitlines()) == len((made / "labelled.csv").read_text().splitlines()) - 1


def test_wrong_line_of_standard_input_is_named_and_nothing_is_written_to_stdout(predict):
    code, out, err = predict('{"text": "the film was good"}\n{"other": "x"}\n', "-", "-")
    assert (code, out) == (3, "")
    assert "stdin.jsonl:2: " in err


@pytest.mark.parametrize("beginning", ["\ufeff", "  "])
def test_byte_order_mark_and_spaces_before_json_lines_do_not_count(predict, beginning):
    code, out, err = predict(beginning + '{"text": "the film was good"}\n', "-", "-")
    assert code == 0, err
    assert [json.loads(line)["text"] for line in out.splitlines()] == ["the film was good"]


def test_file_of_squad_needs_a_directory(predict):
    code, _, err = predict("", "questions.json", "-")
    assert code == 2
    assert "files in a directory" in err


def test_benchmark_is_neither_read_nor_written_as_a_stream(predict):
    code, _, err = predict("", "GLUE", "-", "--task", "cola")
    assert code == 2
    assert "a benchmark is read from a directory" in err


def test_pattern_of_files_needs_a_directory(predict):
    code, _, err = predict("", "*.csv", "-")
    assert code == 2
    assert "the files of a pattern have an output each; give a directory instead of -" in err
