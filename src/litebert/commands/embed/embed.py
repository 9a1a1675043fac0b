"""Embeddings of every row of a file, in its order."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.commands.embed.embed_settings import VECTOR_SUFFIXES, EmbedRun
from litebert.commands.embed.vector_files import (
    Embedding,
    NpyFormat,
    VectorSpec,
    read_vectors,
    spec_file,
    validate_parquet,
    write_parquet,
)
from litebert.commands.fingerprint import fingerprint_of
from litebert.commands.many_files.file_arguments import is_pattern
from litebert.commands.many_files.file_workers import (
    FileJob,
    FilesWritten,
    file_tasks,
    with_kept_precision,
    write_files,
)
from litebert.commands.model_loading.loaded_embedder import load_embedder
from litebert.commands.model_loading.loaded_pipeline import device_of
from litebert.commands.result import Result
from litebert.commands.row_files.input_file import InputFile
from litebert.commands.row_files.resumable_output import WindowResults, with_recorded_precision, write_predictions
from litebert.files import sha256
from litebert.inference.embeddings.text_embedder import TextEmbedder
from litebert.model.io.hub import model_directory
from litebert.tasks.output_formats import OutputFormat, RowFormat, validate_not_input, validate_suffix
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.tables import Row, Table

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class EmbedResult(Result):
    """What was written."""

    output: Path
    rows: int
    dimensions: int

    def to_text(self) -> str:
        """One line."""
        return f"{self.output}: {self.rows:,} embeddings of {self.dimensions:,} dimensions written"


def embed(run: EmbedRun) -> EmbedResult | FilesWritten:
    """Embed every row of `run.input`, or of the files that match it, and write `run.output`.

    Memory is bounded; a command that was killed resumes where it stopped, to the same bytes.
    """
    model = model_directory(run.model)
    run = run.replace(model=str(model), device=device_of(model, run))
    if is_pattern(run.input):
        return _embed_files(run)
    _number_of_rows(run)  # an invalid input is found before the model is loaded
    run = _with_recorded_precision(run)
    return _embed_file(run, _load(run))


def _embed_files(run: EmbedRun) -> FilesWritten:
    suffix = run.files.output_suffix or ".npy"
    tasks = file_tasks(run.input, run.output, lambda path: f"{path.stem}{suffix}")
    validate_suffix(tasks[0].output, VECTOR_SUFFIXES)
    for task in tasks:
        validate_not_input(task.output, task.source)
    job = FileJob(run=with_kept_precision(run), load=_load, work=_embed_file, fingerprint=fingerprint)
    return write_files(tasks, job)


def _with_recorded_precision(run: EmbedRun) -> EmbedRun:
    """`run`; where its precision is `auto`, with that of the vectors that it has written or begun to write."""
    vectors = _vectors_file(run.output)
    stored = VectorSpec.stored(vectors) if run.precision == "auto" and vectors.exists() else None
    if stored is not None and stored.precision is not None:
        recorded = run.model_copy(update={"precision": stored.precision})
        if fingerprint(recorded) == stored.fingerprint:
            return recorded
    return with_recorded_precision(run, vectors, lambda each: partial_fingerprint(each, fingerprint(each)))


def _vectors_file(output: Path) -> Path:
    """A Parquet file cannot be continued after a stop, so the vectors are first written to a file of their own."""
    return output.with_name(f".{output.name}.npy") if output.suffix == ".parquet" else output


def _load(run: EmbedRun) -> TextEmbedder:
    return load_embedder(Path(run.model), run.embedding, run)


def _embed_file(run: EmbedRun, embedder: TextEmbedder) -> EmbedResult:
    run = run.model_copy(update={"precision": embedder.precision})  # never `auto`, whose vectors may be others
    writer = VectorWriter(run, embedder, _number_of_rows(run), vector_spec(run))
    writer.write()
    logger.info("%s: %d embeddings written", run.output, writer.rows)
    return EmbedResult(run.output, writer.rows, writer.embedder.dimensions)


def _number_of_rows(run: EmbedRun) -> int:
    """The rows of the input, which is read once; DataError if it is invalid."""
    rows = 0
    row_format = RowFormat(run.input, run.output) if run.output.suffix == ".jsonl" else None
    for window in texts_of(run.input, run.text).windows():
        if row_format is not None:
            row_format.validate(window.rows, Embedding)
        if run.output.suffix == ".parquet":
            validate_parquet(run.input, window.rows)
        rows += len(window.rows)
    return rows


def fingerprint(run: EmbedRun) -> str:
    """Digest of everything that the vectors of a run depend on; complete ones stay on another device."""
    settings = run.model_dump(exclude={"model", "input", "output", "files", "device"})
    return fingerprint_of(settings, inputs=[run.input], models=[Path(run.model)])


def partial_fingerprint(run: EmbedRun, complete: str) -> str:
    """Digest for the vectors so far, which another device would continue with other numbers; with `fingerprint`."""
    return fingerprint_of({"complete": complete, "device": run.device})


def vector_spec(run: EmbedRun) -> VectorSpec:
    """What the vectors of a run depend on."""
    digest, column = model_digest(Path(run.model)), Columns(text=run.text).text_name
    return VectorSpec(
        fingerprint=fingerprint(run),
        model=digest,
        texts=sha256(run.input),
        text=column,
        embedding=run.embedding,
        precision=run.precision,
    )


def model_digest(model: Path) -> str:
    """Digest of the files of a model directory."""
    return fingerprint_of(models=[model])


@dataclass(frozen=True)
class VectorWriter:
    """Writes the output of a run in the format of its suffix."""

    run: EmbedRun
    embedder: TextEmbedder
    rows: int
    spec: VectorSpec

    def write(self) -> None:
        """Write `run.output`."""
        output = self.run.output
        if output.suffix == ".npy":
            self._write_npy(output)
        elif output.suffix == ".jsonl":
            self._write(output, RowFormat(self.run.input, output))
        else:
            self._write_parquet(output)

    def _write_parquet(self, output: Path) -> None:
        vectors = _vectors_file(output)
        self._write_npy(vectors)

        def windows() -> Iterator[Sequence[Row]]:
            return (window.rows for window in texts_of(self.run.input, self.run.text).windows())

        write_parquet(output, windows, read_vectors(vectors))
        vectors.unlink()
        spec_file(vectors).unlink()

    def _write_npy(self, output: Path) -> None:
        """Write the vectors alone, unless they are there from a command that was stopped later."""
        stored = VectorSpec.stored(output) if output.exists() else None
        if stored is not None and self._is_complete(output, stored):
            logger.info("%s: is complete", output)
            return
        spec_file(output).unlink(missing_ok=True)
        self._write(output, NpyFormat(rows=self.rows, dimensions=self.embedder.dimensions))
        self.spec.replace(vectors=sha256(output)).write(output)

    def _is_complete(self, output: Path, stored: VectorSpec) -> bool:
        """Whether the file has the vectors that it would get: those that were written, of all that they depend on."""
        return stored.fingerprint == self.spec.fingerprint and stored.vectors in (None, sha256(output))

    def _write(self, output: Path, output_format: OutputFormat) -> None:
        windows = texts_of(self.run.input, self.run.text).windows
        written = write_predictions(
            output,
            output_format,
            windows,
            self._embeddings,
            source=self.run.input,
            fingerprint=partial_fingerprint(self.run, self.spec.fingerprint),
            precisions=[self.run.precision],
        )
        self.embedder.warn(str(self.run.input), written.counts, texts=written.rows)

    def _embeddings(self, texts: Sequence[str]) -> WindowResults:
        vectors, counts = self.embedder.vectors_and_counts(texts)
        return WindowResults([Embedding(vector) for vector in vectors], counts)


def texts_of(path: Path, column: str | None) -> InputFile:
    """The texts of a file."""

    def texts(table: Table, columns: Columns) -> Sequence[str]:
        return table.texts(columns.text_name)

    return InputFile(path=path, read_inputs=texts, columns=Columns(text=column), saved=None)
