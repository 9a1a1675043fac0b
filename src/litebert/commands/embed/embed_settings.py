"""The settings of `litebert embed` and `litebert search`. Imports no torch, so that wrong ones are refused at once."""

from pathlib import Path
from typing import Final, Self

from pydantic import Field, model_validator

from litebert.commands.many_files.file_arguments import FileArguments, is_pattern, validate_one_file
from litebert.commands.model_arguments import ModelArguments
from litebert.inference.embeddings.embedding_settings import DEFAULT_EMBEDDING, EmbeddingSettings
from litebert.tasks.output_formats import SUFFIXES as TABLE_SUFFIXES
from litebert.tasks.output_formats import validate_not_input, validate_suffix
from litebert.tasks.readers.text_files import format_ending

VECTOR_SUFFIXES: Final = (".npy", ".jsonl", ".parquet")


class EmbedRun(FileArguments):
    """The settings of an embedding."""

    model: str
    """Model, run or export directory, pretrained or fine-tuned, or a name on the hub."""
    input: Path
    """A .txt file with one text a line, or a .csv, .tsv, .jsonl or .parquet file; or a quoted pattern."""
    output: Path
    """A .npy file with the vectors, or a .jsonl or .parquet file with the rows and a column `embedding`; for a pattern
    a directory, to which .npy files are written by default."""
    text: str | None = None
    """Column of the text (default: text)."""
    embedding: EmbeddingSettings = DEFAULT_EMBEDDING

    @model_validator(mode="after")
    def _check(self) -> Self:
        _validate_column(self.text, self.input)
        if is_pattern(self.input):
            return self
        validate_one_file(self.files)
        validate_suffix(self.output, VECTOR_SUFFIXES)
        validate_not_input(self.output, self.input)
        return self


class SearchRun(ModelArguments):
    """The settings of a search."""

    model: str
    """Model, run or export directory, pretrained or fine-tuned, or a name on the hub."""
    input: Path
    """The texts to search: a .txt file with one text a line, or a .csv, .tsv, .jsonl or .parquet file."""
    query: tuple[str, ...] = ()
    """Texts to find the nearest rows of."""
    queries: Path | None = None
    """A file of queries, in a format of INPUT."""
    vectors: Path | None = None
    """The .npy file that `litebert embed` has made of INPUT (default: the texts are embedded now)."""
    index: Path | None = None
    """Search approximately in this file, which is built if it does not exist (default: search exactly)."""
    output: Path | None = None
    """A .jsonl, .csv or .tsv file for the results (default: they are printed)."""
    text: str | None = None
    """Column of the texts and of the queries (default: text)."""
    top_k: int = Field(default=10, gt=0)
    """Results for each query."""
    embedding: EmbeddingSettings = DEFAULT_EMBEDDING

    @model_validator(mode="after")
    def _check(self) -> Self:
        if bool(self.query) == (self.queries is not None):
            raise ValueError("give either --query (texts) or --queries (a file)")
        _validate_column(self.text, self.input, *([self.queries] if self.queries else []))
        if self.output is not None:
            validate_suffix(self.output, TABLE_SUFFIXES)
            validate_not_input(self.output, self.input, *([self.queries] if self.queries else []))
        return self


def has_columns(path: Path) -> bool:
    """Whether the texts of a file, or of those of a pattern, have a column: those of a .txt file are its lines."""
    return format_ending(path) != ".txt"


def _validate_column(text: str | None, *files: Path) -> None:
    """Raise ValueError for the name of a column of which no file has any."""
    if text is not None and not any(map(has_columns, files)):
        raise ValueError("text: a .txt file has no columns; leave it out")
