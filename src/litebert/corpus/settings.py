"""How a corpus is built. Before: a recipe or a command line. After: build.

How examples are drawn from it is example_settings.
"""

from typing import Literal

from pydantic import Field

from litebert.settings import Settings


class CorpusSettings(Settings):
    """How text files become a corpus directory."""

    sentences: Literal["split", "line"] = "split"
    """`split`: lines are paragraphs, cut into sentences by punctuation. `line`: every line is one sentence."""
    documents: Literal["blank_line", "file"] = "blank_line"
    """What ends a document in a text file: a blank line, or only the end of the file."""
    text_key: str = "text"
    """Key (JSON lines) or column (Parquet) that holds the text of a document."""
    held_out_fraction: float = Field(default=0.01, ge=0, lt=1)
    """Share of documents, chosen by a hash of their content, that are kept for evaluation."""
    drop_duplicates: bool = False
    """Keep only the first of documents with exactly the same lines; takes about 100 bytes of memory a document."""
    bad_bytes: Literal["replace", "error"] = "replace"
    """What to do with bytes that are not UTF-8: put U+FFFD in their place and count the lines, or stop."""
    bad_rows: Literal["error", "skip"] = "error"
    """What to do with rows of JSON lines or Parquet that hold no text: stop, or leave them out and count them."""
    longest_sentence: int = Field(default=10_000, gt=0)
    """Characters after which a sentence is cut at a space, so that no single line can exhaust the memory."""
    shard_bytes: int = Field(default=32 * 2**20, gt=0)
    """UTF-8 text a shard holds, about; a longer document is cut into several."""
