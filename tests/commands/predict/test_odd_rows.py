"""Predictions for files in other encodings, with columns that begin late, and with numbers that JSON does not have."""

import csv
import gzip
import json

import numpy as np
import pytest

from litebert.commands.embed.embed import embed
from litebert.commands.embed.embed_settings import EmbedRun
from litebert.commands.predict.predict import predict
from litebert.commands.predict.predict_settings import PredictRun
from litebert.errors import ConfigError, DataError, NotFiniteError
from litebert.inference.predictor import Predictor
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification
from litebert.tasks.read_labelled import read_labelled
from support.models.tolerances import close_to


@pytest.fixture(scope="module")
def classifier(tiny_tokenizer, small_config, tmp_path_factory):
    return save_model(
        ForSequenceClassification(small_config, num_labels=2),
        tmp_path_factory.mktemp("odd") / "model",
        labels=("bad", "good"),
        problem_type="single_label_classification",
        extra_files=tiny_tokenizer.files(),
    )


def predicted(model, source, output):
    predict(PredictRun(model=str(model), input=source, output=output))
    return output.read_text()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("latin.csv", b"text,gr\xf6\xdfe\nfilm,1\n", r"latin.csv:1: not UTF-8 \(byte 0xf6\); save the file as UTF-8"),
        ("late.csv", b"text\nfilm\ngr\xf6\xdfe\n", r"late.csv:3: not UTF-8 \(byte 0xf6\)"),
        ("utf16.csv", "text\nfilm\n".encode("utf-16"), r"utf16.csv: binary or UTF-16"),
        ("bad.csv.gz", b"no gzip", r"bad.csv.gz: damaged or truncated compressed file"),
        ("bad.jsonl.gz", b"no gzip", r"bad.jsonl.gz: damaged or truncated compressed file"),
        (
            "cut.csv.gz",
            gzip.compress(b"text\nfilm\n" * 99, mtime=0)[:-9],
            r"cut.csv.gz: damaged or truncated compressed file",
        ),
    ],
)
@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_file_in_another_encoding_is_named(classifier, tmp_path, name, content, message, ending):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        predicted(classifier, tmp_path / name, tmp_path / f"out{ending}")
    with pytest.raises(DataError, match=message):
        read_labelled(tmp_path / name)


LATE = [{"text": "the film"}, {"text": "music", "meta": ["a\tb"], "id": "r2"}, {"text": "play", "meta": "m", "n": [1]}]


@pytest.mark.parametrize("rows_per_window", [1, 4096])
@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_columns_that_begin_in_a_later_row_are_written(classifier, tmp_path, monkeypatch, rows_per_window, ending):
    monkeypatch.setattr("litebert.commands.row_files.input_file.ROWS_PER_WINDOW", rows_per_window)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in LATE))
    text = predicted(classifier, tmp_path / "in.jsonl", tmp_path / f"out{ending}")
    quoting = csv.QUOTE_MINIMAL if ending == ".csv" else csv.QUOTE_NONE
    rows = list(csv.DictReader(text.splitlines(), delimiter="," if ending == ".csv" else "\t", quoting=quoting))
    assert [*rows[0]] == ["text", "id", "meta", "prediction", "probability"]
    assert [(row["id"], row["meta"]) for row in rows] == [("", ""), ("r2", '["a\\tb"]'), ("", "m")]


def test_a_late_text_that_tsv_cannot_hold_is_refused(classifier, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n{"text": "b", "note": "x\\ty"}\n')
    with pytest.raises(DataError, match=r"in\.jsonl:2: column 'note' contains a tab"):
        predicted(classifier, tmp_path / "in.jsonl", tmp_path / "out.tsv")


@pytest.mark.parametrize("rows_per_window", [1, 4096])
def test_parquet_has_columns_that_begin_in_a_later_row(classifier, tmp_path, monkeypatch, rows_per_window):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("litebert.commands.row_files.input_file.ROWS_PER_WINDOW", rows_per_window)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in LATE))
    embed(EmbedRun(model=str(classifier), input=tmp_path / "in.jsonl", output=tmp_path / "out.parquet"))
    columns = parquet.read_table(tmp_path / "out.parquet").to_pydict()
    assert columns["id"] == [None, "r2", None]
    assert columns["meta"] == [None, '["a\\tb"]', "m"]
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n{"text": "b", "embedding": 1}\n')
    with pytest.raises(DataError, match="column 'embedding' is where the vectors are written"):
        embed(EmbedRun(model=str(classifier), input=tmp_path / "in.jsonl", output=tmp_path / "two.parquet"))


def test_nan_is_a_missing_text_and_an_empty_cell(classifier, tmp_path, caplog):
    (tmp_path / "in.jsonl").write_text(
        '{"text": NaN, "n": 1.5}\n{"text": "", "n": NaN}\n{"text": null, "n": Infinity}\n{"text": "NaN", "n": 2}\n'
    )
    rows = list(csv.DictReader(predicted(classifier, tmp_path / "in.jsonl", tmp_path / "out.csv").splitlines()))
    assert "3 of 4 texts are empty" in caplog.text
    assert rows[0]["probability"] == rows[1]["probability"] == rows[2]["probability"] != rows[3]["probability"]
    assert [row["n"] for row in rows] == ["1.5", "", "", "2"]
    assert [row["text"] for row in rows] == ["", "", "", "NaN"]
    of_empty = Predictor.load(classifier).classify([""])[0].probability
    assert float(rows[0]["probability"]) == close_to(of_empty)


def test_a_label_that_is_nan_is_empty(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "a", "label": "x"}\n{"text": "b", "label": NaN}\n')
    with pytest.raises(DataError, match="the label is empty in 1 of 2 rows"):
        read_labelled(tmp_path / "in.jsonl")


@pytest.mark.parametrize("name", ["out.jsonl", "out.npy"])
def test_a_directory_with_the_name_of_the_output_is_refused_before_the_predictions(classifier, tmp_path, name):
    (tmp_path / "in.csv").write_text("text\nfilm\n")
    (tmp_path / name).mkdir()
    command, run = (embed, EmbedRun) if name.endswith(".npy") else (predict, PredictRun)
    with pytest.raises(ConfigError, match=rf"output: .*{name} is a directory; give a file"):
        command(run(model=str(classifier), input=tmp_path / "in.csv", output=tmp_path / name))


def test_a_damaged_head_of_an_export_is_an_error_in_python_too(classifier, tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from litebert.export.export_model import export_model
    from litebert.runtime import Predictor as ExportedPredictor
    from litebert.runtime.onnx_model import OnnxModel

    export_model(classifier, tmp_path / "export")
    run = OnnxModel.run
    monkeypatch.setattr(OnnxModel, "run", lambda *given: [np.where(True, np.nan, each) for each in run(*given)])
    with pytest.raises(NotFiniteError, match="export: scores that are not finite"):
        ExportedPredictor.load(tmp_path / "export").classify(["a film"])
