"""The rows of a file whose embeddings are nearest to some queries."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from litebert.commands.embed.embed import model_digest, texts_of
from litebert.commands.embed.embed_settings import SearchRun, has_columns
from litebert.commands.embed.vector_files import VectorSpec, read_vectors
from litebert.commands.model_loading.loaded_embedder import load_embedder
from litebert.commands.result import Result
from litebert.errors import ConfigError, DataError
from litebert.files import read_json_object, sha256, write_json, write_text
from litebert.inference.embeddings.approximate_search import ApproximateIndex
from litebert.inference.embeddings.embedding_settings import DEFAULT_EMBEDDING, EmbeddingSettings
from litebert.inference.embeddings.exact_search import Hit, exact_search
from litebert.inference.embeddings.text_embedder import TextEmbedder
from litebert.model.io.hub import model_directory
from litebert.tasks.output_formats import TableFormat
from litebert.tasks.readers.columns import Columns

SHOWN_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class Found:
    """A row that was found."""

    query: str
    rank: int
    """From 1."""
    score: float
    row: int
    """Of the input, from 1."""
    text: str

    def to_record(self) -> dict[str, Any]:
        """The columns of an output file."""
        return {name: getattr(self, name) for name in ("query", "rank", "score", "row", "text")}


@dataclass(frozen=True)
class SearchResult(Result):
    """The rows that were found, for each query in the order of the queries."""

    searched: int
    """Rows of the input."""
    queries: int
    found: tuple[Found, ...]
    output: Path | None = None

    def to_text(self) -> str:
        """A line for each row that was found, below its query; one line if there is a file."""
        if self.output is not None:
            return f"{self.output}: {len(self.found):,} rows found for {self.queries:,} queries in {self.searched:,}"
        lines = []
        for each in self.found:
            if each.rank == 1:
                lines.append(each.query)
            text = shorten(each.text, SHOWN_CHARACTERS, placeholder=" …")
            lines.append(f"  {each.rank:3}. {each.score:.4f}  row {each.row}: {text}")
        return "\n".join(lines)


def search(run: SearchRun) -> SearchResult:
    """Find the nearest rows of `run.input` for every query, and write `run.output` if it is given."""
    queries = _queries(run)
    model = model_directory(run.model)
    settings = run.embedding if run.vectors is None else _settings_of(run, run.vectors, model)
    embedder = load_embedder(model, settings, run)
    _validate_queries(queries, embedder)
    vectors = _embedded(run, embedder) if run.vectors is None else read_vectors(run.vectors)
    query_vectors, counts = embedder.vectors_and_counts([text for text, _ in queries])
    embedder.warn("queries", counts, texts=len(queries))
    hits = _nearest(run, query_vectors, vectors)
    texts = _texts_of_rows(run, {hit.index for each in hits for hit in each}, expected=len(vectors))
    found = tuple(
        Found(query, rank, hit.score, hit.index + 1, texts[hit.index])
        for (query, _), each in zip(queries, hits, strict=True)
        for rank, hit in enumerate(each, start=1)
    )
    if run.output is not None:
        write_text(run.output, TableFormat(run.output).lines([each.to_record() for each in found]))
    return SearchResult(len(vectors), len(queries), found, run.output)


def _queries(run: SearchRun) -> list[tuple[str, str]]:
    """The queries with the places they come from."""
    if run.queries is None:
        return [(text, f"query {number}") for number, text in enumerate(run.query, start=1)]
    return [
        (text, f"{run.queries}:{row.line}")
        for window in texts_of(run.queries, run.text).windows()
        for text, row in zip(window.examples, window.rows, strict=True)
    ]


def _validate_queries(queries: Sequence[tuple[str, str]], embedder: TextEmbedder) -> None:
    """Raise DataError for a query without a token, to which every row would be equally near."""
    tokens = embedder.tokenizer.encode_batch([text for text, _ in queries])
    for (text, place), ids in zip(queries, tokens, strict=True):
        if not ids:
            raise DataError(f"{place}: {text[:60]!r} has no tokens; write a query, or remove it")


def _settings_of(run: SearchRun, vectors: Path, model: Path) -> EmbeddingSettings:
    """The settings with which vectors were made; those of the run, if the file does not say them."""
    spec = VectorSpec.stored(vectors)
    if spec is None:
        return run.embedding
    if spec.model != model_digest(model):
        raise ConfigError(f"vectors: {vectors} was made with another model than {model}; embed the texts with it")
    if spec.texts != sha256(run.input):
        raise DataError(f"{vectors}: was made from other texts than {run.input} has now; embed them again")
    if has_columns(run.input) and spec.text not in (None, Columns(text=run.text).text_name):
        raise ConfigError(f"vectors: {vectors} was made from the column {spec.text!r}; name it (--text {spec.text})")
    if run.embedding.to_dict() not in (DEFAULT_EMBEDDING.to_dict(), spec.embedding.to_dict()):
        raise ConfigError(f"vectors: {vectors} was made with other settings; leave out --pooling, --dimensions, …")
    return spec.embedding


def _embedded(run: SearchRun, embedder: TextEmbedder) -> np.ndarray:
    parts, counts = [], Counter[str]()
    for window in texts_of(run.input, run.text).windows():
        vectors, own = embedder.vectors_and_counts(window.examples)
        parts.append(vectors)
        counts += own
    embedded = np.concatenate(parts)
    embedder.warn(str(run.input), counts, texts=len(embedded))
    return embedded


def _nearest(run: SearchRun, queries: np.ndarray, vectors: np.ndarray) -> list[list[Hit]]:
    spec = None if run.vectors is None else VectorSpec.stored(run.vectors)

    def validate() -> None:
        if run.vectors is not None and spec is not None and spec.vectors not in (None, sha256(run.vectors)):
            raise DataError(f"{run.vectors}: has changed since `litebert embed` wrote it; embed the texts again")

    if run.index is None:
        validate()
        return exact_search(queries, vectors, top_k=run.top_k)
    fingerprint = None if spec is None else spec.vectors or spec.fingerprint
    index = _index(run.index, vectors, fingerprint=fingerprint, validate=validate)
    return index.search(queries, top_k=run.top_k)


def _index(
    path: Path, vectors: np.ndarray, *, fingerprint: str | None, validate: Callable[[], None]
) -> ApproximateIndex:
    """The index of these vectors at `path`, built if there is none; `validate` reads their file where it must.

    A file beside it has the fingerprint of the vectors' file, if that has one, so that large files are not read. Other
    vectors are compared with those of the index, because another device or number of threads rounds them differently;
    where they agree, the fingerprint becomes that of these vectors.
    """
    description = path.with_name(f"{path.name}.json")
    if path.exists():
        index, saved = ApproximateIndex.load(path), {}
        if description.is_file():
            saved = read_json_object(description, if_missing="delete the index to build it again")
        is_known = fingerprint is not None and saved.get("vectors") == fingerprint and index.shape == vectors.shape
        if not is_known:
            validate()
        if not is_known and not index.holds(vectors):
            raise DataError(
                f"{path}: is an index of other vectors, as other texts, another model or another precision give them; "
                "delete it to build it again, or name another file"
            )
        if not is_known and fingerprint is not None:
            write_json(description, {"vectors": fingerprint})
        return index
    validate()
    index = ApproximateIndex.build(vectors)
    write_json(description, {"vectors": fingerprint})
    index.save(path)
    return index


def _texts_of_rows(run: SearchRun, rows: Collection[int], *, expected: int) -> dict[int, str]:
    """The texts of some rows of the input; DataError if it does not have the expected number of rows."""
    texts: dict[int, str] = {}
    start = 0
    for window in texts_of(run.input, run.text).windows():
        numbered = enumerate(window.examples, start=start)
        texts |= {index: text for index, text in numbered if index in rows}
        start += len(window.rows)
    if start != expected:
        raise DataError(f"{run.input}: has {start} rows, but {run.vectors} has {expected} vectors; embed it again")
    return texts
