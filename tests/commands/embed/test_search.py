"""Search in the embeddings of a file."""

import csv

import numpy as np
import pytest

from litebert.commands.embed.embed import embed
from litebert.commands.embed.embed_settings import EmbedRun, SearchRun
from litebert.commands.embed.search import search
from litebert.commands.row_files import input_file
from litebert.errors import ConfigError, DataError
from litebert.inference import predictor
from litebert.inference.embeddings.approximate_search import ApproximateIndex
from litebert.inference.embeddings.embedder import Embedder
from litebert.inference.embeddings.embedding_settings import EmbeddingSettings
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForMaskedLM
from litebert.randomness import rng_for
from support.models.tolerances import close_to


@pytest.fixture
def vectors(model, table, tmp_path):
    embed(EmbedRun(model=model, input=table, output=tmp_path / "v.npy", embedding=EmbeddingSettings(pooling="cls")))
    return tmp_path / "v.npy"


def test_search_finds_a_row_by_its_own_text(model, table, texts, monkeypatch):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 4)
    result = search(SearchRun(model=model, input=table, query=(texts[6], texts[1]), top_k=3))
    assert (result.searched, result.queries, len(result.found)) == (len(texts), 2, 6)
    assert [(each.row, each.text) for each in result.found if each.rank == 1] == [(7, texts[6]), (2, texts[1])]
    assert result.found[0].score == close_to(1.0)
    assert [each.rank for each in result.found] == [1, 2, 3, 1, 2, 3]


def test_search_in_a_file_of_vectors_uses_the_settings_they_were_made_with(model, table, texts, vectors):
    found = search(SearchRun(model=model, input=table, query=texts[:1], vectors=vectors)).found
    own = search(SearchRun(model=model, input=table, query=texts[:1], embedding=EmbeddingSettings(pooling="cls"))).found
    assert [each.score for each in found] == close_to([each.score for each in own])


def test_an_index_is_not_built_of_vectors_that_have_changed(model, table, texts, vectors, tmp_path):
    pytest.importorskip("usearch")
    whole = np.load(vectors)
    run = SearchRun(model=model, input=table, query=texts[:1], vectors=vectors, index=tmp_path / "i.usearch", top_k=1)
    np.save(vectors, whole[::-1])
    with pytest.raises(DataError, match=r"v\.npy: has changed since `litebert embed` wrote it"):
        search(run)
    assert not run.index.exists()
    np.save(vectors, whole)
    assert search(run).found[0].row == 1


def test_search_writes_a_row_for_each_result(model, table, texts, tmp_path):
    (tmp_path / "queries.csv").write_text(f'text\n"{texts[3]}"\n"{texts[4]}"\n')
    run = SearchRun(model=model, input=table, queries=tmp_path / "queries.csv", output=tmp_path / "found.csv", top_k=2)
    result = search(run)
    with run.output.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["query", "rank", "score", "row", "text"]
    assert [row["row"] for row in rows] == [str(each.row) for each in result.found]
    assert result.to_text() == f"{run.output}: 4 rows found for 2 queries in 15"


def test_search_without_an_output_shows_ranked_texts(model, table, texts):
    lines = search(SearchRun(model=model, input=table, query=texts[:1], top_k=1)).to_text().splitlines()
    assert lines == [texts[0], f"    1. 1.0000  row 1: {texts[0]}"]


def test_approximate_search_builds_its_index_once_and_finds_the_same(model, table, texts, vectors, tmp_path):
    pytest.importorskip("usearch")
    run = SearchRun(model=model, input=table, query=tuple(texts[:4]), vectors=vectors, index=tmp_path / "i", top_k=2)
    exact = search(run.replace(index=None)).found
    built = search(run)
    before = run.index.stat().st_mtime_ns
    for result in (built, search(run)):
        assert [each.score for each in result.found] == close_to([each.score for each in exact])
    assert run.index.stat().st_mtime_ns == before


def test_search_rejects_an_index_of_other_vectors_and_a_damaged_one(model, table, texts, vectors, tmp_path):
    pytest.importorskip("usearch")
    run = SearchRun(model=model, input=table, query=texts[:1], vectors=vectors, index=tmp_path / "i")
    search(run)
    embed(EmbedRun(model=model, input=table, output=vectors, embedding=EmbeddingSettings(dimensions=4)))
    with pytest.raises(DataError, match="is an index of other vectors"):
        search(run)
    run.index.write_bytes(b"abc" * 100)
    with pytest.raises(DataError, match="not an index of usearch"):
        search(run)


def test_search_rejects_vectors_of_other_texts_models_or_settings(
    model, table, texts, vectors, tmp_path, tiny_tokenizer, small_config
):
    run = SearchRun(model=model, input=table, query=texts[:1], vectors=vectors)
    with pytest.raises(ConfigError, match="was made with other settings"):
        search(run.replace(embedding={"pooling": "mean"}))
    other = save_model(ForMaskedLM(small_config, seed=5), tmp_path / "m", extra_files=tiny_tokenizer.files())
    with pytest.raises(ConfigError, match="was made with another model"):
        search(run.replace(model=str(other)))
    table.write_text(table.read_text().replace("film", "music"))
    with pytest.raises(DataError, match="was made from other texts"):
        search(run)


def test_search_warns_of_truncated_rows_and_queries(model, tmp_path, caplog):
    (tmp_path / "rows.txt").write_text("good " * 50 + "\ngood\n")
    run = SearchRun(model=model, input=tmp_path / "rows.txt", query=("good", "bad " * 50, "bad " * 60))
    search(run.replace(embedding=EmbeddingSettings(max_length=8)))
    messages = [record.message for record in caplog.records if "truncated" in record.message]
    ending = "texts are longer than 8 tokens, max_length, and were truncated"
    assert messages == [f"{tmp_path / 'rows.txt'}: 1 of 2 {ending}", f"queries: 2 of 3 {ending}"]


def test_search_finds_rows_beside_an_empty_one_and_names_an_empty_query(model, tmp_path, caplog):
    (tmp_path / "rows.csv").write_text('text\ngood\n" "\nmusic\n')
    run = SearchRun(model=model, input=tmp_path / "rows.csv", query=("music",), top_k=1)
    assert [each.row for each in search(run).found] == [3]
    assert f"{tmp_path / 'rows.csv'}: 1 of 3 texts are empty or have no tokens" in caplog.text
    with pytest.raises(DataError, match=r"rows\.csv:3: ' ' has no tokens; write a query"):
        search(run.replace(query=(), queries=tmp_path / "rows.csv"))


def test_search_rejects_vectors_without_a_row_for_each_text(model, table, texts, tmp_path):
    run = SearchRun(model=model, input=table, query=texts[:1], vectors=tmp_path / "own.npy")
    for array, message in [
        (np.zeros((3, 16), np.float32), "has 15 rows, but .* has 3 vectors"),
        (np.zeros((15, 16)), "expected a float32 array of two dimensions"),
    ]:
        np.save(run.vectors, array)
        with pytest.raises(DataError, match=message):
            search(run)
    np.save(run.vectors, np.zeros((15, 4), np.float32))
    with pytest.raises(ConfigError, match="they have 4 dimensions, the queries 16"):
        search(run)
    run.vectors.write_bytes(b"text")
    with pytest.raises(DataError, match="cannot be read as an array"):
        search(run)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ConfigError, "give either --query"),
        ({"query": ("a",), "queries": "in.csv"}, ConfigError, "give either --query"),
        ({"query": ("a",), "device": "cuda"}, ConfigError, "device: 'cuda' was asked for, but torch finds 0 CUDA"),
        ({"query": (" ",)}, DataError, "query 1: ' ' has no tokens"),
        ({"query": ("music",), "output": "o.txt"}, ConfigError, r"has none of the endings \.jsonl, \.csv, \.tsv"),
    ],
)
def test_search_rejects_invalid_queries_and_outputs(model, table, monkeypatch, options, error, message):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(error, match=message):
        search(SearchRun(model=model, input=table, **options))


@pytest.mark.parametrize("from_file", [True, False])
def test_search_rejects_an_index_of_texts_that_have_changed(model, table, texts, vectors, tmp_path, from_file):
    pytest.importorskip("usearch")
    run = SearchRun(model=model, input=table, query=texts[:1], index=tmp_path / "i")
    run = run.replace(vectors=vectors) if from_file else run
    search(run)
    lines = table.read_text().splitlines()
    table.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    if from_file:
        embed(EmbedRun(model=model, input=table, output=vectors, embedding=EmbeddingSettings(pooling="cls")))
    with pytest.raises(DataError, match="is an index of other vectors"):
        search(run)


def test_search_compares_the_vectors_of_an_index_without_a_digest(model, table, texts, vectors, tmp_path):
    pytest.importorskip("usearch")
    run = SearchRun(model=model, input=table, query=texts[:1], vectors=vectors, index=tmp_path / "i")
    found = search(run).found
    (tmp_path / "i.json").unlink()
    assert search(run).found == found
    embed(EmbedRun(model=model, input=table, output=vectors))
    with pytest.raises(DataError, match="is an index of other vectors"):
        search(run)


@pytest.fixture
def rounding(monkeypatch):
    """A CUDA device whose vectors differ from those of the processor by `rounding["relative"]`."""
    own, difference = Embedder.vectors_and_counts, {"relative": 0.0}

    def of_device(embedder, texts):
        vectors, counts = own(embedder, texts)
        noise = rng_for(0, "device").standard_normal(vectors.shape).astype(np.float32)
        noise *= difference["relative"] / np.linalg.norm(noise, axis=1, keepdims=True)
        return vectors + noise, counts

    monkeypatch.setattr(predictor, "usable_device", lambda device, precision: "cpu")
    monkeypatch.setattr(Embedder, "vectors_and_counts", of_device)
    return difference


@pytest.fixture(params=[True, False], ids=["from a file", "embedded"])
def searches(request, model, table, texts, tmp_path, rounding):
    """A search with an index that was built on the processor, and the same one with vectors of another device."""
    pytest.importorskip("usearch")
    on_cpu = SearchRun(model=model, input=table, query=texts[:2], index=tmp_path / "i", device="cpu", top_k=3)
    on_gpu = on_cpu.replace(device="cuda")
    if not request.param:
        return on_cpu, lambda: on_gpu

    def from_file():
        embed(EmbedRun(model=model, input=table, output=tmp_path / "v.npy", device="cuda"))
        return on_gpu.replace(vectors=tmp_path / "v.npy")

    return on_cpu, from_file


def test_search_uses_the_index_of_another_device_where_the_vectors_agree(searches, rounding, monkeypatch):
    on_cpu, on_gpu = searches
    expected = search(on_cpu).found
    rounding["relative"] = 1e-5
    run = on_gpu()
    assert [each.row for each in search(run).found] == [each.row for each in expected]
    if run.vectors:  # the fingerprint of the file is that of the index from now on: nothing is compared again
        monkeypatch.setattr(ApproximateIndex, "holds", None)
        search(run)


def test_search_refuses_the_index_of_vectors_that_differ_by_more_than_rounding(searches, rounding):
    on_cpu, on_gpu = searches
    search(on_cpu)
    rounding["relative"] = 3e-4  # as by one other word in a long text
    with pytest.raises(DataError, match="is an index of other vectors, as other texts, another model or another prec"):
        search(on_gpu())


def test_index_of_vectors_without_a_digest_is_not_taken_for_that_of_an_earlier_file(model, table, vectors, tmp_path):
    pytest.importorskip("usearch")
    run = SearchRun(model=model, input=table, query=("the film",), vectors=vectors, index=tmp_path / "i")
    search(run)
    run.index.unlink()
    search(run.replace(vectors=None))  # with another pooling
    with pytest.raises(DataError, match="is an index of other vectors"):
        search(run)


def test_search_in_vectors_of_lines_reads_the_named_column_of_the_queries(model, tmp_path):
    (tmp_path / "t.txt").write_text("the film\nthe play\n")
    (tmp_path / "q.csv").write_text("n,title\n1,the play\n")
    embed(EmbedRun(model=model, input=tmp_path / "t.txt", output=tmp_path / "v.npy"))
    files = {"input": tmp_path / "t.txt", "queries": tmp_path / "q.csv", "vectors": tmp_path / "v.npy"}
    assert search(SearchRun(model=model, text="title", **files)).found[0].text == "the play"


@pytest.mark.parametrize(
    ("settings", "source", "others"),
    [
        (EmbedRun, "t.txt.gz", {"output": "v.npy"}),
        (EmbedRun, "texts/*.txt", {"output": "vectors"}),
        (SearchRun, "t.txt.gz", {"query": ["a"]}),
        (SearchRun, "t.txt.gz", {"queries": "q.txt"}),
    ],
)
def test_column_of_files_without_columns_is_refused(settings, source, others):
    with pytest.raises(ConfigError, match=r"text: a \.txt file has no columns; leave it out"):
        settings(model="m", input=source, text="title", **others)


def test_search_rejects_vectors_of_another_column(model, tmp_path):
    (tmp_path / "t.csv").write_text("title,text\nthe film,the music\nthe play,the story\n")
    embed(EmbedRun(model=model, input=tmp_path / "t.csv", output=tmp_path / "v.npy", text="title"))
    given = {"model": model, "input": tmp_path / "t.csv", "query": ("the film",), "vectors": tmp_path / "v.npy"}
    with pytest.raises(ConfigError, match=r"made from the column 'title'; name it \(--text title\)"):
        search(SearchRun(**given))
    assert search(SearchRun(**given, text="title")).found[0].text == "the film"


@pytest.mark.parametrize("name", ["t.csv", "q.csv"])
def test_search_rejects_an_output_that_is_an_input(model, tmp_path, name):
    for file in ("t.csv", "q.csv"):
        (tmp_path / file).write_text("text\nthe film\n")
    with pytest.raises(ConfigError, match=f"{name} is the input; choose another file"):
        SearchRun(model=model, input=tmp_path / "t.csv", queries=tmp_path / "q.csv", output=tmp_path / name)
