"""Predictions of large files: bounded memory, and resumed where they stopped."""

import gzip
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from litebert.commands.predict.file_model import FileModel
from litebert.commands.predict.predict import predict
from litebert.commands.predict.predict_settings import PredictRun
from litebert.commands.row_files import input_file
from litebert.commands.row_files.resumable_output import Window, WindowResults, write_predictions
from litebert.errors import ConfigError, StoppedBySignalError
from litebert.files import locked
from litebert.inference import pipeline
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification, ForTokenClassification
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.output_formats import OutputError, RowFormat, TableFormat
from litebert.tasks.readers.tables import iter_tables
from litebert.tasks.results import Regression
from support.runs.interrupted_runs import interrupt, kill
from support.runs.measured_precision import measure

MEMORY = """
import json, sys, tracemalloc
from pathlib import Path
from litebert.commands.row_files.resumable_output import Window, WindowResults, write_predictions
from litebert.tasks.output_formats import RowFormat
from litebert.tasks.readers.tables import iter_tables
from litebert.tasks.results import Regression

source = Path(sys.argv[1])
output = source.with_suffix(".jsonl")

def windows(skip):
    for table in iter_tables(source, rows_per_table=200, skip_rows=skip):
        yield Window(table.rows, table.texts("text"))

def predict(texts):
    return WindowResults([Regression(1.0)] * len(texts))

tracemalloc.start()
written = write_predictions(output, RowFormat(source, output), windows, predict, source=source, fingerprint="")
print(json.dumps([tracemalloc.get_traced_memory()[1], written.rows]))
"""
"""In a process of its own, because tracemalloc counts what the other threads of the tests take too."""


@pytest.fixture(scope="module")
def classifier(tiny_tokenizer, small_config, tmp_path_factory):
    model = ForSequenceClassification(small_config, num_labels=2)
    directory = tmp_path_factory.mktemp("models") / "classifier"
    return save_model(model, directory, labels=("bad", "good"), extra_files=tiny_tokenizer.files())


@pytest.fixture(scope="module")
def tagger(tiny_tokenizer, small_config, tmp_path_factory):
    model = ForTokenClassification(small_config, num_labels=3)
    directory = tmp_path_factory.mktemp("models") / "tagger"
    return save_model(model, directory, labels=("O", "B-X", "I-X"), extra_files=tiny_tokenizer.files())


def write_input(directory, suffix, rows=15):
    path = directory / f"in{suffix}"
    if suffix == ".parquet":
        table = {"text": [f"the film was good {n}" for n in range(rows)], "n": list(range(rows))}
        pytest.importorskip("pyarrow.parquet").write_table(pytest.importorskip("pyarrow").table(table), path)
    elif suffix.endswith(".gz"):
        path.write_bytes(gzip.compress(write_input(directory, suffix.removesuffix(".gz"), rows).read_bytes()))
    elif suffix == ".conllu":
        lines = ["1\tthe", "1.1\tx", "2\tfilm"]
        sentence = "".join(line + "\t_" * 8 + "\n" for line in lines)
        path.write_text("".join(f"# {n}\n{sentence}\n" for n in range(rows)))
    elif suffix == ".conll":
        path.write_text("-DOCSTART- O\n\n" + "\n".join(f"the O\nfilm{n % 3} O\n" for n in range(rows)))
    elif suffix == ".txt":
        path.write_text("".join(f"the film was good {n}\n" for n in range(rows)))
    else:
        path.write_text("text,n\n" + "".join(f"the film was {'good ' * (n % 4)},{n}\n" for n in range(rows)))
    return path


@pytest.mark.parametrize(("suffix", "output"), [(".csv", "out.csv"), (".conll", "out.conll")])
def test_predict_killed_by_a_signal_resumes_to_the_same_bytes(
    classifier, tagger, tmp_path, monkeypatch, caplog, suffix, output
):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 4)
    model, source = tagger if "conll" in suffix else classifier, write_input(tmp_path, suffix)
    whole, resumed = tmp_path / "whole" / output, tmp_path / "resumed" / output
    run = PredictRun(model=str(model), input=source, output=resumed)
    predict(run.replace(output=whole))
    kill(predict, run)
    assert not resumed.exists()
    with caplog.at_level("INFO", "litebert"):
        result = predict(run)
    assert "resuming after 8 rows" in caplog.text
    assert result.predictions == 15
    assert resumed.read_bytes() == whole.read_bytes()
    assert [path.name for path in resumed.parent.iterdir()] == [output]


@pytest.mark.parametrize(
    ("suffix", "output"),
    [
        *((".csv", "out.tsv"), (".txt", "out.jsonl"), (".conll", "out.csv"), (".conll", "out.jsonl")),
        *((".CSV.gz", "out.csv"), (".txt.gz", "out.csv"), (".parquet", "out.jsonl"), (".conll.gz", "out.conll")),
        (".conllu", "out.conllu"),
    ],
)
def test_interrupted_predict_resumes_to_the_same_bytes_in_every_format(
    classifier, tagger, tmp_path, monkeypatch, suffix, output
):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 4)
    model, source = tagger if "conll" in suffix else classifier, write_input(tmp_path, suffix)
    runs = [
        PredictRun(model=str(model), input=source, output=tmp_path / name / output) for name in ("whole", "resumed")
    ]
    first = predict(runs[0])
    interrupt(monkeypatch, lambda: predict(runs[1]))
    second = predict(runs[1])
    assert runs[1].output.read_bytes() == runs[0].output.read_bytes()
    assert (second.predictions, second.counts) == (first.predictions, first.counts)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_interrupted_predict_of_a_file_with_blank_lines_resumes_at_the_same_row(
    classifier, tmp_path, monkeypatch, suffix
):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 4)
    source = tmp_path / f"in{suffix}"
    source.write_text("text\n" + "".join("\n" * (n % 3) + f"the film was good {n}\n" for n in range(15)))
    runs = [
        PredictRun(model=str(classifier), input=source, output=tmp_path / name / "out.jsonl")
        for name in ("whole", "resumed")
    ]
    predict(runs[0])
    interrupt(monkeypatch, lambda: predict(runs[1]))
    assert predict(runs[1]).predictions == 15
    assert runs[1].output.read_bytes() == runs[0].output.read_bytes()
    texts = [json.loads(line)["text"] for line in runs[1].output.read_text().splitlines()]
    assert texts == [f"the film was good {n}" for n in range(15)]


def test_interrupted_predict_counts_the_truncated_rows_of_both_parts(
    classifier, tmp_path, monkeypatch, caplog, tiny_tokenizer
):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 4)
    short = tmp_path / "short"
    shutil.copytree(classifier, short)
    for name, content in InputSettings(max_length=12).model_files().items():
        (short / name).write_bytes(content)
    source = write_input(tmp_path, ".csv")
    lengths = [len(tiny_tokenizer.encode(line.split(",")[0])) + 2 for line in source.read_text().splitlines()[1:]]
    expected = sum(length > 12 for length in lengths)
    run = PredictRun(model=str(short), input=source, output=tmp_path / "out.csv")
    interrupt(monkeypatch, lambda: predict(run))
    result = predict(run)
    assert 1 < expected < 15
    assert result.counts == {"truncated": expected}
    assert f"{expected} of 15 rows are longer than 12 tokens, the max_length of the fine-tuning" in caplog.text
    assert result.to_text().endswith(f"15 predictions written (classification, {expected} truncated)")


def test_predict_interrupted_from_the_keyboard_says_how_to_continue(tmp_path):
    source, output = write_input(tmp_path, ".csv"), tmp_path / "out.jsonl"
    seen = []

    def windows(skip):
        for table in iter_tables(source, rows_per_table=4, skip_rows=skip):
            yield Window(table.rows, table.texts("text"))

    def predictions(examples):
        seen.append(len(examples))
        if len(seen) == 3:
            raise KeyboardInterrupt
        return WindowResults([Regression(0.5)] * len(examples))

    def write():
        return write_predictions(
            output, RowFormat(source, output), windows, predictions, source=source, fingerprint="x"
        )

    with pytest.raises(StoppedBySignalError, match=r"stopped after 8 rows; the same command continues") as stopped:
        write()
    assert stopped.value.exit_code == 128 + signal.SIGINT
    assert write().rows == 15
    assert seen == [4, 4, 4, 4, 3]


def test_interrupted_predict_continues_in_the_precision_it_measured(classifier, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 4)
    source = write_input(tmp_path, ".csv")
    whole, resumed = (
        PredictRun(model=str(classifier), input=source, output=tmp_path / name / "out.jsonl", precision=precision)
        for name, precision in (("whole", "fp32"), ("resumed", "auto"))
    )
    predict(whole)
    measure("fp32", monkeypatch)
    interrupt(monkeypatch, lambda: predict(resumed))
    measure("bf16", monkeypatch)
    with caplog.at_level("INFO", "litebert"):
        predict(resumed)
    assert "resuming after 8 rows" in caplog.text
    assert resumed.output.read_bytes() == whole.output.read_bytes()


def test_interrupted_predict_measures_again_for_a_changed_input(classifier, tmp_path, monkeypatch):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 4)
    source, found = write_input(tmp_path, ".csv"), []
    run = PredictRun(model=str(classifier), input=source, output=tmp_path / "out.jsonl")
    measure("fp32", monkeypatch)
    interrupt(monkeypatch, lambda: predict(run))
    source.write_text(source.read_text().replace("film", "music"))
    monkeypatch.setattr(pipeline, "resolve_precision", lambda asked, model: found.append(asked) or "fp32")
    predict(run)
    assert found == ["auto"]


def test_interrupted_predict_begins_again_on_another_device(classifier, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 4)
    run = PredictRun(model=str(classifier), input=write_input(tmp_path, ".csv"), output=tmp_path / "out.jsonl")
    on_cpu = FileModel.load
    with monkeypatch.context() as patch:
        patch.setattr(FileModel, "load", lambda run: on_cpu(run.model_copy(update={"device": "cpu"})))
        interrupt(patch, lambda: predict(run.replace(device="cuda")))
    assert predict(run.replace(device="cpu")).predictions == 15
    assert "the 8 predictions of an interrupted command are discarded, because input, model, settings or device" in (
        caplog.text
    )


@pytest.mark.parametrize("bad_row", [1, 9])
def test_predictions_stay_when_the_output_cannot_hold_a_later_row(tmp_path, bad_row):
    source, output = tmp_path / "in.jsonl", tmp_path / "out.tsv"
    rows = [{"text": "a\tb" if number == bad_row else "a"} for number in range(12)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def windows(skip):
        for table in iter_tables(source, rows_per_table=4, skip_rows=skip):
            yield Window(table.rows, table.texts("text"))

    def predictions(examples):
        return WindowResults([Regression(0.5)] * len(examples))

    with pytest.raises(OutputError, match=f"row {bad_row + 1} contains a tab or a line break"):
        write_predictions(output, RowFormat(source, output), windows, predictions, source=source, fingerprint="x")
    if bad_row == 1:
        assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
        return
    state = json.loads((tmp_path / ".out.tsv.state.json").read_text())
    assert state["rows"] == 8
    assert (tmp_path / ".out.tsv.partial").read_bytes()[: state["bytes"]].count(b"\n") == 1 + 8


def test_interrupted_predict_starts_again_if_the_input_has_changed(classifier, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 4)
    source = write_input(tmp_path, ".csv")
    run = PredictRun(model=str(classifier), input=source, output=tmp_path / "out.jsonl")
    interrupt(monkeypatch, lambda: predict(run))
    source.write_text(source.read_text().replace("film", "music"))
    predict(run)
    assert "the 8 predictions of an interrupted command are discarded" in caplog.text
    lines = [json.loads(line) for line in run.output.read_text().splitlines()]
    assert len(lines) == 15
    assert all("music" in line["text"] for line in lines)


def peak_memory(rows, directory):
    """Peak bytes of Python objects while `rows` rows are read and written, and how many were written."""
    source = directory / f"{rows}.csv"
    source.write_text("text\n" + ("x" * 500 + "\n") * rows)
    command = [sys.executable, "-c", MEMORY, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout)


@pytest.mark.usefixtures("forked_python")
def test_write_predictions_memory_does_not_grow_with_the_file(tmp_path):
    peak_memory(100, tmp_path)
    small, _ = peak_memory(3000, tmp_path)
    large, rows = peak_memory(12_000, tmp_path)
    assert rows == 12_000
    assert large < 1.1 * small


def test_output_that_another_process_writes_is_refused(classifier, tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text("text\nthe film\n")
    lock = tmp_path / ".out.csv.lock"
    with locked(lock, busy=ConfigError("busy")), pytest.raises(ConfigError, match="another process is writing"):
        predict(PredictRun(model=str(classifier), input=table, output=tmp_path / "out.csv"))
    predict(PredictRun(model=str(classifier), input=table, output=tmp_path / "out.csv"))
    assert not lock.exists()


def test_tables_have_booleans_as_labels_have_them_and_later_lists_as_json():
    records = [{"label": True, "more": None, "left out": []}, {"label": False, "more": ["z"], "new": 1}]
    assert TableFormat(Path("out.csv")).lines(records) == 'label,more,new\ntrue,,\nfalse,"[""z""]",1\n'
