"""The settings of `litebert adapt`. Imports no torch, so that wrong settings are refused at once."""

import glob
import re
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, model_validator

from litebert.settings import Settings

DocumentEnd = Literal["line", "blank_line", "file"]
_SETTING: Final = re.compile(r"[a-z_]+(\.[a-z_]+)*=[^/]*")


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
    """SETTING=VALUE …, settings of pretraining, such as train.duration="4 epochs" or train.learning_rate=0.0005; they
    may also stand among the texts."""

    @model_validator(mode="before")
    @classmethod
    def _separate_settings(cls, values: Any) -> Any:
        """Words of the form SETTING=VALUE among the texts are settings, unless they are files or match any."""
        if not isinstance(values, dict) or not isinstance(texts := values.get("texts"), list | tuple):
            return values
        words = [each for each in texts if _is_setting(str(each))]
        settings = (*values.get("settings", ()), *words)
        return {**values, "texts": tuple(each for each in texts if each not in words), "settings": settings}


def _is_setting(word: str) -> bool:
    is_file = Path(word).exists() or glob.glob(word)  # noqa: PTH207 - as `find_files` matches
    return bool(_SETTING.fullmatch(word)) and not is_file
