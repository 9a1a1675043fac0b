"""`litebert predict MODEL - -`: standard input and output in place of files."""

import io
import json
import os
import signal
import sys
import tempfile

import pytest

from litebert.cli.main import main
from litebert.commands.predict.file_model import FileModel
from litebert.commands.row_files import input_file
from litebert.inference.pipeline import Pipeline


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The directory of temporary files."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


@pytest.fixture
def predict(made, monkeypatch, capsys, temporary):
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
    assert err.splitlines()[-1].startswith("litebert: standard input:2: ")


def test_warning_names_standard_input_and_not_its_temporary_file(predict, temporary):
    code, _, err = predict("the film was good\n\nthe film was bad\n", "-", "-")
    assert code == 0, err
    assert " WARNING standard input: " in err
    assert str(temporary) not in err


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_predictions_are_written_where_standard_output_lacks_characters(predict, monkeypatch, encoding):
    written = io.BytesIO()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
        assert predict("it cost 5 €\n", "-", "-")[0] == 0
        assert json.loads(written.getvalue().decode())["text"] == "it cost 5 €"


def test_predictions_are_written_to_a_replacement_that_takes_text_only(predict, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", io.StringIO())
        assert predict("it cost 5 €\n", "-", "-")[0] == 0
        assert json.loads(sys.stdout.getvalue())["text"] == "it cost 5 €"


@pytest.fixture
def signalled(monkeypatch):
    """Sends this process a signal in the second window of two rows; its handler of SIGTERM fails the test."""

    def fail(number, frame):
        raise AssertionError("the signal was not handled")

    def install(number):
        results_and_counts, windows = Pipeline.results_and_counts, []

        def with_signal(pipeline, examples):
            windows.append(examples)
            if len(windows) == 2:
                os.kill(os.getpid(), number)
            return results_and_counts(pipeline, examples)

        monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 2)
        monkeypatch.setattr(Pipeline, "results_and_counts", with_signal)

    before = signal.signal(signal.SIGTERM, fail)
    # Programs in the background of a shell ignore SIGINT, and so would this one.
    interrupts = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield install
    signal.signal(signal.SIGINT, interrupts)
    assert signal.signal(signal.SIGTERM, before) is fail, "the handler is that of before again"


TEXTS = "the film was good\n" * 5
SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_leaves_no_temporary_file_and_promises_no_continuation(predict, signalled, temporary, number):
    signalled(number)
    code, out, err = predict(TEXTS, "-", "-")
    assert (code, out) == (128 + number, "")
    assert err.splitlines()[-1] == (
        f"litebert: standard output: stopped by {number.name}; predictions to a stream do not continue: run the "
        "command again, or give a file instead of -"
    )
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("number", SIGNALS)
def test_same_standard_input_continues_a_file_of_predictions(predict, signalled, temporary, tmp_path, number):
    signalled(number)
    output = tmp_path / "out.jsonl"
    code, _, err = predict(TEXTS, "-", output)
    assert code == 128 + number
    expected = f"{output}: stopped after 2 rows; the same command continues there if standard input is the same again"
    assert err.splitlines()[-1] == f"litebert: {expected}"
    assert not list(temporary.iterdir())
    code, _, err = predict(TEXTS, "-", output)
    assert code == 0, err
    assert "resuming after 2 rows" in err
    assert len(output.read_text().splitlines()) == 5


def test_signal_before_the_first_prediction_says_to_run_the_command_again(predict, monkeypatch, tmp_path):
    def interrupted(run):
        raise KeyboardInterrupt

    monkeypatch.setattr(FileModel, "load", interrupted)
    code, _, err = predict(TEXTS, "-", tmp_path / "out.jsonl")
    assert code == 130
    assert "out.jsonl: stopped by SIGINT; run the command again" in err


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
