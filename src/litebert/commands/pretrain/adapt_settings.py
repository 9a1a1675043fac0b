"""The settings of `litebert adapt`. Imports no torch, so that wrong settings are refused at once."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from litebert.settings import Settings

DocumentEnd = Literal["line", "blank_line", "file"]


class AdaptRun(Settings):
    """The settings of further pretraining on text of a domain."""

    model: str
    """Pretrained model or run directory, or a name on the hub."""
    texts: tuple[str, ...] = Field(min_length=1)
    """Files, globs or directories: .csv, .tsv, .jsonl and .parquet, in which a row is a document; .txt and .md; data
    sets of the hub as hf:OWNER/NAME. Equal documents are read once."""
    out: Path
    """Run directory to create or to resume."""
    text: str = "text"
    """Column of the text, key in JSON lines."""
    documents: DocumentEnd = "line"
    """What ends a document of a text file: the end of each line, a blank line, or only the end of the file."""
    settings: tuple[str, ...] = ()
    """SETTING=VALUE …, settings of pretraining, such as train.duration="4 epochs" or train.learning_rate=0.0005."""
