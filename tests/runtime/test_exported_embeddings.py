"""`litebert embed` and `litebert search` read export directories as they read model directories."""

import numpy as np
import pytest

from litebert.commands.embed.embed import embed
from litebert.commands.embed.embed_settings import EmbedRun, SearchRun
from litebert.commands.embed.search import search
from litebert.commands.model_arguments import ModelArguments
from litebert.commands.several_models.members import members_at
from litebert.errors import CheckpointError, ConfigError, DataError, NotFiniteError
from litebert.inference.embeddings.embedding_settings import EmbeddingSettings
from litebert.inference.predictor import Predictor
from litebert.runtime import Predictor as ExportedPredictor
from litebert.runtime.onnx_model import OnnxModel
from support.models.tolerances import close_to
from support.runs.interrupted_runs import interrupt

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

TEXTS = ["the film was good", "her play", "", "the music was awful " * 30, "an old actor", "the film was good again"]


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("text\n" + "".join(f'"{text}"\n' for text in TEXTS))
    return path


def vectors_of(model, rows, output, **options):
    settings = EmbeddingSettings(**{name: options.pop(name) for name in ("pooling", "max_length") if name in options})
    embed(EmbedRun(model=str(model), input=rows, output=output, embedding=settings, **options))
    return np.load(output)


@pytest.mark.parametrize("name", ["embedder", "masked", "classifier"])
@pytest.mark.parametrize("options", [{}, {"pooling": "cls"}, {"max_length": 8}])
def test_vectors_are_those_of_the_model_directory(saved, exported, rows, tmp_path, name, options):
    found = vectors_of(exported / name, rows, tmp_path / "export.npy", **options)
    assert found == close_to(vectors_of(saved[name], rows, tmp_path / "model.npy", **options))


def test_vectors_are_those_of_both_predictors(saved, exported, rows, tmp_path):
    found = vectors_of(exported / "embedder", rows, tmp_path / "export.npy")
    assert np.array_equal(found, ExportedPredictor.load(exported / "embedder").embed(TEXTS))
    assert found == close_to(Predictor.load(saved["embedder"], precision="fp32").embed(TEXTS))


def test_truncated_and_empty_texts_are_named_once(exported, rows, tmp_path, caplog):
    vectors_of(exported / "embedder", rows, tmp_path / "out.npy", max_length=16)
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 2
    assert "2 of 6 texts are longer than 16 tokens" in warnings[0]
    assert "1 of 6 texts are empty" in warnings[1]


@pytest.mark.parametrize("precision", ["fp32", "auto"])
def test_an_interrupted_command_resumes_to_the_same_bytes(exported, rows, tmp_path, monkeypatch, caplog, precision):
    monkeypatch.setattr("litebert.commands.row_files.input_file.ROWS_PER_WINDOW", 2)
    vectors_of(exported / "embedder", rows, tmp_path / "whole.npy")
    resumed = tmp_path / "resumed.npy"
    interrupt(monkeypatch, lambda: vectors_of(exported / "embedder", rows, resumed, precision=precision))
    with caplog.at_level("INFO", "litebert"):
        vectors_of(exported / "embedder", rows, resumed, precision=precision)
    assert "resuming after 4 rows" in caplog.text
    assert resumed.read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_search_finds_what_the_model_directory_finds(saved, exported, rows, tmp_path):
    embed(EmbedRun(model=str(exported / "embedder"), input=rows, output=tmp_path / "v.npy"))
    found = {}
    for name, options in (
        ("model", {"model": str(saved["embedder"])}),
        ("export", {"model": str(exported / "embedder")}),
        ("vectors", {"model": str(exported / "embedder"), "vectors": tmp_path / "v.npy"}),
    ):
        hits = search(SearchRun(input=rows, query=("the old film",), top_k=3, **options)).found
        found[name] = [each.row for each in hits], [each.score for each in hits]
    assert found["export"] == found["vectors"] == (found["model"][0], close_to(found["model"][1]))


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("embedder", {"device": "cuda"}, ConfigError, "embedder is an exported model, which runs on the processor"),
        ("embedder", {"precision": "int8"}, CheckpointError, "model_quantized.onnx; choose fp32, which it has"),
        ("embedder", {"precision": "bf16"}, ConfigError, "precision: 'bf16', expected one of fp32, int8"),
        ("embedder", {"max_length": 900}, ConfigError, "max_length: 900 is more than the 48 of the model"),
        ("chooser", {}, ConfigError, "export with as_model=SentenceEmbedder"),
    ],
)
def test_what_an_export_cannot_do_is_refused(exported, rows, tmp_path, name, options, error, message):
    with pytest.raises(error, match=message):
        vectors_of(exported / name, rows, tmp_path / "out.npy", **options)


def test_search_on_another_device_and_with_changed_vectors_is_refused(exported, rows, tmp_path):
    model, vectors = str(exported / "embedder"), tmp_path / "v.npy"
    with pytest.raises(ConfigError, match="embedder is an exported model, which runs on the processor"):
        search(SearchRun(model=model, input=rows, query=("film",), device="cuda"))
    found = vectors_of(model, rows, vectors)
    np.save(vectors, found[::-1])
    with pytest.raises(DataError, match=r"v\.npy: has changed since `litebert embed` wrote it; embed the texts again"):
        search(SearchRun(model=model, input=rows, query=("film",), vectors=vectors))


def test_threads_are_those_of_the_command(exported, rows, tmp_path, monkeypatch):
    asked, load = [], ExportedPredictor.load
    monkeypatch.setattr(ExportedPredictor, "load", lambda *a, **k: asked.append(k["threads"]) or load(*a, **k))
    vectors_of(exported / "embedder", rows, tmp_path / "out.npy", threads=1)
    members = members_at([str(exported / "classifier")], ModelArguments(threads=1))
    members[0].load()
    assert asked == [1, 1]


def test_numbers_that_are_not_finite_are_an_error(exported, rows, tmp_path, monkeypatch):
    run = OnnxModel.run
    monkeypatch.setattr(OnnxModel, "run", lambda *arguments: [each * float("nan") for each in run(*arguments)])
    with pytest.raises(NotFiniteError, match="embedder: scores that are not finite"):
        vectors_of(exported / "embedder", rows, tmp_path / "out.npy")
