"""How a corpus is built. Before: a recipe or a command line. After: build.

How examples are drawn from it is example_settings.
"""

from typing import Literal, Self

from pydantic import Field, model_validator

from litebert.settings import Settings


class CorpusSettings(Settings):
    """How text files become a corpus directory."""

    sentences: Literal["split", "line"] = "split"
    """`split`: lines are paragraphs, cut into sentences by punctuation. `line`: every line is one sentence."""
    documents: Literal["blank_line", "file"] = "blank_line"
    """What ends a document in a text file: a blank line, or only the end of the file."""
    text_key: str = "text"
    """Key (JSON lines) or column (Parquet) that holds the text of a document."""
    validation_fraction: float = Field(default=0.01, ge=0, lt=1)
    """Share of documents, chosen by a hash of their content, that are kept for evaluation."""
    min_document_chars: int = Field(default=0, ge=0)
    """Characters a document must have at least."""
    max_document_chars: int | None = Field(default=None, gt=0)
    """Characters a document may have at most; less than a quarter of `shard_bytes`."""
    min_sentences: int = Field(default=1, gt=0)
    """Sentences a document must have at least; two, so that every document has an order to predict."""
    dedup_exact: bool = False
    """Keep only the first of documents with exactly the same lines; takes about 100 bytes of memory a document."""
    dedup_minhash_threshold: float | None = Field(default=None, ge=0.5, le=1)
    """Keep only the first of documents of which this share of all five-word sequences is the same, such as 0.8;
    takes about 300 bytes of memory a document."""
    invalid_utf8: Literal["replace", "error"] = "replace"
    """What to do with bytes that are not UTF-8: put U+FFFD in their place and count the lines, or stop."""
    invalid_rows: Literal["error", "skip"] = "error"
    """What to do with rows of JSON lines or Parquet that hold no text: stop, or leave them out and count them."""
    max_sentence_chars: int = Field(default=10_000, gt=0)
    """Characters after which a sentence is cut at a space, so that no single line can exhaust the memory."""
    shard_bytes: int = Field(default=32 * 2**20, gt=0)
    """UTF-8 text a shard holds, about; a longer document is cut into several."""

    @model_validator(mode="after")
    def _longest_document_is_seen_whole(self) -> Self:
        # A character has at most four bytes: a document that is cut is longer than any limit, at its first part.
        if self.max_document_chars is not None and self.max_document_chars >= self.shard_bytes / 4:
            raise ValueError(
                f"max_document_chars {self.max_document_chars} must be less than a quarter of shard_bytes "
                f"{self.shard_bytes}; raise shard_bytes"
            )
        return self
