"""Embeddings of the rows of a file, in every format, and after an interruption."""

import json
import sys

import numpy as np
import pytest

from litebert.commands.embed import embed as embed_module
from litebert.commands.embed.embed import embed
from litebert.commands.embed.embed_settings import EmbedRun
from litebert.commands.embed.vector_files import VectorSpec
from litebert.commands.many_files.file_arguments import FileWorkers
from litebert.commands.row_files import input_file
from litebert.errors import CheckpointError, ConfigError, DataError, MissingExtraError
from litebert.inference.embeddings.embedding_settings import EmbeddingSettings
from litebert.inference.predictor import Predictor
from support.models.tolerances import close_to
from support.runs.interrupted_runs import interrupt, kill
from support.runs.measured_precision import measure


def run_embed(model, source, output, **options):
    return embed(EmbedRun(model=model, input=source, output=output, threads=1, **options))


def files_in(directory):
    return sorted(path.name for path in directory.iterdir())


def vectors_in(path):
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".jsonl":
        return np.array([json.loads(line)["embedding"] for line in path.read_text().splitlines()], np.float32)
    parquet = pytest.importorskip("pyarrow.parquet")
    return np.array(parquet.read_table(path)["embedding"].to_pylist(), np.float32)


@pytest.mark.parametrize("suffix", [".npy", ".jsonl", ".parquet"])
def test_embed_writes_the_vectors_of_the_predictor_in_every_format(model, table, texts, tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 4)
    output = tmp_path / "out" / f"vectors{suffix}"
    result = run_embed(model, table, output, embedding=EmbeddingSettings(dimensions=5))
    assert (result.rows, result.dimensions) == (len(texts), 5)
    assert vectors_in(output) == close_to(Predictor.load(model).embed(texts, dimensions=5))
    beside = ["vectors.npy.json"] if suffix == ".npy" else []
    assert files_in(output.parent) == [output.name, *beside]


@pytest.mark.parametrize("suffix", [".npy", ".jsonl", ".parquet"])
def test_embed_warns_once_of_truncated_rows(model, tmp_path, monkeypatch, caplog, suffix):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 2)
    (tmp_path / "rows.csv").write_text("text\n" + "good " * 50 + "\ngood\n" + "bad " * 50 + "\n")
    output = tmp_path / f"vectors{suffix}"
    run_embed(model, tmp_path / "rows.csv", output, embedding=EmbeddingSettings(max_length=8))
    messages = [record.message for record in caplog.records if "truncated" in record.message]
    assert messages == [
        f"{tmp_path / 'rows.csv'}: 2 of 3 texts are longer than 8 tokens, max_length, and were truncated"
    ]


def test_embed_gives_empty_rows_a_vector_with_one_warning(model, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 2)
    (tmp_path / "rows.csv").write_text('text\nmusic\n" "\nfilm\n""\n')
    run_embed(model, tmp_path / "rows.csv", tmp_path / "out.npy")
    messages = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(messages) == 1
    assert messages[0].startswith(f"{tmp_path / 'rows.csv'}: 2 of 4 texts are empty or have no tokens")
    assert vectors_in(tmp_path / "out.npy")[[1, 3]] == close_to(Predictor.load(model).embed(["", " "]))


def test_embed_keeps_the_rows_in_json_lines_and_parquet(model, table, texts, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for suffix in (".jsonl", ".parquet"):
        run_embed(model, table, tmp_path / f"out{suffix}")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    columns = parquet.read_table(tmp_path / "out.parquet").to_pydict()
    assert list(columns) == list(rows[0]) == ["n", "text", "embedding"]
    assert columns["text"] == [row["text"] for row in rows] == texts


def test_embed_to_parquet_writes_fields_that_are_no_texts_as_json(model, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "music", "n": [1]}\n{"text": "the film"}\n')
    run_embed(model, source, tmp_path / "out.parquet")
    assert parquet.read_table(tmp_path / "out.parquet")["n"].to_pylist() == ["[1]", None]


@pytest.mark.parametrize("suffix", [".npy", ".jsonl", ".parquet"])
def test_embed_killed_by_a_signal_resumes_to_the_same_bytes(model, table, tmp_path, monkeypatch, caplog, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 4)
    whole, resumed = tmp_path / "whole" / f"v{suffix}", tmp_path / "resumed" / f"v{suffix}"
    run_embed(model, table, whole)
    kill(embed, EmbedRun(model=model, input=table, output=resumed, threads=1))
    assert not resumed.exists()
    with caplog.at_level("INFO", "litebert"):
        run_embed(model, table, resumed)
    assert "resuming after 8 rows" in caplog.text
    assert resumed.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in resumed.parent.iterdir()) == sorted(
        path.name for path in whole.parent.iterdir()
    )


@pytest.mark.parametrize("is_pattern", [False, True])
def test_embed_keeps_the_precision_measured_first_until_another_is_given(
    model, table, tmp_path, monkeypatch, is_pattern
):
    source = str(table).replace("in.", "i?.") if is_pattern else table
    output = tmp_path / "out" / "in.npy"
    vectors = []
    for measured in ("fp32", "bf16"):
        measure(measured, monkeypatch)
        run_embed(model, table, tmp_path / f"{measured}.npy", precision=measured)
        run_embed(model, source, output.parent if is_pattern else output, precision="auto")
        vectors.append(np.load(output))
    expected = {name: np.load(tmp_path / f"{name}.npy") for name in ("fp32", "bf16")}
    assert not np.array_equal(expected["fp32"], expected["bf16"])
    assert all(np.array_equal(each, expected["fp32"]) for each in vectors)
    run_embed(model, source, output.parent if is_pattern else output, precision="bf16")
    assert np.array_equal(np.load(output), expected["bf16"])


@pytest.mark.parametrize("suffix", [".npy", ".jsonl", ".parquet"])
def test_interrupted_embed_continues_in_the_precision_it_measured(model, table, tmp_path, monkeypatch, caplog, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 4)
    run_embed(model, table, tmp_path / "whole" / f"v{suffix}", precision="fp32")
    resumed = tmp_path / "resumed" / f"v{suffix}"
    measure("fp32", monkeypatch)
    interrupt(monkeypatch, lambda: run_embed(model, table, resumed, precision="auto"))
    measure("bf16", monkeypatch)
    with caplog.at_level("INFO", "litebert"):
        run_embed(model, table, resumed, precision="auto")
    assert "resuming after 8 rows" in caplog.text
    assert resumed.read_bytes() == (tmp_path / "whole" / f"v{suffix}").read_bytes()


def test_interrupted_embed_begins_again_on_another_device(model, table, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 4)
    on_cpu = embed_module._load
    with monkeypatch.context() as patch:
        patch.setattr(embed_module, "_load", lambda run: on_cpu(run.model_copy(update={"device": "cpu"})))
        interrupt(patch, lambda: run_embed(model, table, tmp_path / "out.npy", device="cuda"))
    run_embed(model, table, tmp_path / "out.npy", device="cpu")
    assert "the 8 predictions of an interrupted command are discarded" in caplog.text


def test_embed_on_the_device_that_auto_stands_for_is_the_same_output(model, table, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    run_embed(model, table, tmp_path / "out.npy")
    with caplog.at_level("INFO", "litebert"):
        run_embed(model, table, tmp_path / "out.npy", device="cpu")
    assert "out.npy: is complete" in caplog.text
    with pytest.raises(ConfigError, match="device: 'cuda' was asked for, but torch finds 0 CUDA devices"):
        run_embed(model, table, tmp_path / "out.npy", device="cuda")


def test_embed_of_unchanged_input_keeps_a_complete_file(model, table, tmp_path, caplog):
    output = tmp_path / "v.npy"
    run_embed(model, table, output)
    before = output.stat().st_ino
    with caplog.at_level("INFO", "litebert"):
        run_embed(model, table, output)
    assert "v.npy: is complete" in caplog.text
    assert output.stat().st_ino == before
    run_embed(model, table, output, embedding=EmbeddingSettings(pooling="cls"))
    assert VectorSpec.stored(output).embedding.pooling == "cls"


def test_embed_again_replaces_a_file_that_has_other_vectors_by_now(model, table, tmp_path):
    output = tmp_path / "v.npy"
    run_embed(model, table, output)
    vectors = np.load(output)
    np.save(output, np.zeros_like(vectors))
    run_embed(model, table, output)
    assert np.array_equal(np.load(output), vectors)


@pytest.mark.parametrize(
    ("content", "output", "options", "error", "message"),
    [
        ("text\nmusic\n", "in.csv", {}, ConfigError, r"'in\.csv' has none of the endings \.npy, \.jsonl, \.parquet"),
        ("", "o.npy", {}, DataError, r"in\.csv: the file is empty"),
        ("text\n", "o.npy", {}, DataError, r"in\.csv: no rows after the names of the columns"),
        ("sentence\nmusic\n", "o.npy", {}, DataError, "no column 'text'; it has 'sentence'"),
        ("text\nmusic\n", "o.npy", {"embedding": EmbeddingSettings(dimensions=17)}, ConfigError, "the 16 of the model"),
        ("text\nmusic\n", "o.npy", {"model": "out/of/place"}, CheckpointError, "out/of/place: no such directory"),
        ("text,embedding\nmusic,1\n", "o.jsonl", {}, DataError, "column 'embedding' is where"),
        ("text,embedding\nmusic,1\n", "o.parquet", {}, DataError, "column 'embedding' is where"),
    ],
)
def test_embed_rejects_invalid_input_and_writes_nothing(model, tmp_path, content, output, options, error, message):
    if output.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    source = tmp_path / "in.csv"
    source.write_text(content)
    with pytest.raises(error, match=message):
        embed(EmbedRun(**{"model": model, "input": source, "output": tmp_path / output, **options}))
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == ["in.csv"]


def test_embed_finds_a_late_column_of_the_vectors_before_it_embeds(model, tmp_path, monkeypatch):
    monkeypatch.setattr(Predictor, "load", lambda *arguments, **options: pytest.fail("loaded"))
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "music"}\n{"text": "film", "embedding": 1}\n')
    with pytest.raises(DataError, match=r"in\.jsonl:2: column 'embedding' is where"):
        run_embed(model, source, tmp_path / "out.jsonl")


def test_embed_rejects_its_input_as_output(model, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "music"}\n')
    with pytest.raises(ConfigError, match="is the input; choose another file"):
        run_embed(model, tmp_path / "in.jsonl", tmp_path / "in.jsonl")


def test_embed_to_parquet_names_the_extra_that_is_missing(model, table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'litebert\[data\]'"):
        run_embed(model, table, tmp_path / "out.parquet")


def test_embed_of_many_files_rejects_outputs_that_are_inputs(model, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "the film"}\n')
    run = EmbedRun(model=model, input=tmp_path / "*.jsonl", output=tmp_path, files=FileWorkers(output_suffix=".jsonl"))
    with pytest.raises(ConfigError, match=r"a\.jsonl is the input; choose another file"):
        embed(run)
