"""Settings for building a corpus; sampling/sampling_settings.py has those for drawing examples from it."""

from codecs import lookup
from encodings.aliases import aliases
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from litebert.errors import did_you_mean
from litebert.settings import Settings

InvalidUtf8 = Literal["replace_few", "replace", "error"]
"""What to do with bytes that the encoding does not have."""
_ASCII: Final = "\r\n {a"


def _text_encoding(name: str) -> str:
    """The name of an encoding that Python knows, in which lines end at the same byte as in ASCII; ValueError if not.

    Latin-1 is read as Windows-1252, as browsers do (WHATWG Encoding, section 4.2): files that are called Latin-1 have
    its quotation marks and dashes where Latin-1 has control characters, and Latin-1 decodes any bytes, so that no line
    of text in another encoding, such as Shift JIS, would count as damaged.
    """
    if name.lower().replace("_", "-") == "utf-8-sig":
        return "utf-8"  # a byte order mark is always removed
    try:
        b"\xff".decode(name, "replace")
        if lookup(name).name == "iso8859-1":
            return "cp1252"
        is_like_ascii = _ASCII.encode(name) == _ASCII.encode()
    except LookupError:
        similar = did_you_mean(name, set(aliases) - {name})
        raise ValueError(f"unknown encoding{similar}; expected one of Python's, such as utf-8 or cp1252") from None
    except ValueError:  # `idna`, for host names, replaces no bytes
        is_like_ascii = False
    if not is_like_ascii:
        raise ValueError("not an extension of ASCII; convert the files to UTF-8")
    return name


InvalidRows = Literal["error", "skip"]
"""What to do with rows without text."""
TextEncoding = Annotated[str, AfterValidator(_text_encoding)]


class CorpusSettings(Settings):
    """How text files become a corpus directory."""

    sentences: Literal["split", "line"] = "split"
    """`split`: lines are paragraphs, which are split by punctuation. `line`: every line is a sentence."""
    documents: Literal["blank_line", "line", "file"] = "blank_line"
    """What ends a document of a text file: a blank line, the end of each line, or only the end of the file."""
    text_key: str = "text"
    """Key (JSON lines) or column (Parquet, data sets) of the text of a document."""
    validation_fraction: float = Field(default=0.01, ge=0, lt=1)
    """Share of the documents in the validation split, chosen by a hash of their content; at least one document, if
    there are ten or more and their text fits into one shard."""
    min_document_chars: int = Field(default=0, ge=0)
    """Minimum number of characters of a document."""
    max_document_chars: int | None = Field(default=None, gt=0)
    """Maximum number of characters of a document; less than a quarter of `shard_bytes`."""
    min_sentences: int = Field(default=1, gt=0)
    """Minimum number of sentences of a document, or of each part of one that is cut; with 2, every document has an
    order to predict."""
    dedup_exact: bool = False
    """Keep only the first of documents with exactly the same lines; needs about 100 bytes of memory per document."""
    dedup_minhash_threshold: float | None = Field(default=None, ge=0.5, le=1)
    """Keep only the first of documents whose sets of five-word sequences have at least this Jaccard index, such as
    0.8; needs about 300 bytes of memory per document."""
    encoding: TextEncoding = "utf-8"
    """Encoding of text files and JSON lines, such as cp1252, cp1251, gbk or shift_jis: an extension of ASCII that
    Python knows. Latin-1 is read as cp1252."""
    invalid_utf8: InvalidUtf8 = "replace_few"
    """Bytes that are not UTF-8, or not `encoding`: `replace` them by U+FFFD and count the lines; `error`: stop.
    `replace_few`: stop if these are ten lines or more, and over 1 % of the lines, of a file or of those read so far."""
    invalid_rows: InvalidRows = "error"
    """Rows of JSON lines, Parquet or data sets without text: stop, or skip and count them."""
    max_sentence_chars: int = Field(default=10_000, gt=0)
    """Maximum number of characters of a sentence; a longer one is cut at a space."""
    shard_bytes: int = Field(default=32 * 2**20, gt=0)
    """Approximate size of a shard in bytes of UTF-8 text; a longer document is cut into parts."""

    @model_validator(mode="after")
    def _max_document_fits_into_a_shard(self) -> Self:
        # A character has at most four bytes, so the first part of a cut document already exceeds the maximum.
        if self.max_document_chars is not None and self.max_document_chars >= self.shard_bytes / 4:
            raise ValueError(
                f"max_document_chars {self.max_document_chars} must be less than a quarter of shard_bytes "
                f"{self.shard_bytes}; raise shard_bytes"
            )
        return self
