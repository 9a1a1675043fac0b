"""CoNLL-U, the format of Universal Dependencies: one word a line in ten columns, a blank line after each sentence.

Comments (`#`), ranges of words that are written together (`1-2`) and empty nodes (`1.1`) are no words.
Source: https://universaldependencies.org/format.html
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from litebert.errors import DataError
from litebert.tasks.readers.text_files import iter_lines

CONLLU: Final = ".conllu"
_COLUMNS: Final = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_READ: Final = {"text": "FORM", "label": "UPOS", **{name.lower(): name for name in ("UPOS", "XPOS", "FEATS", "DEPREL")}}
"""Name of a list of a sentence → column of the file."""
_WORD: Final = re.compile(r"\d+")
_NO_WORD: Final = re.compile(r"#.*|\d+-\d+\t.*|\d+\.\d+\t.*")
_NOTHING: Final = "_"

Sentence = dict[str, list[str]]
"""Its words (`text`) and what they are annotated with: `label` (UPOS), `upos`, `xpos`, `feats` and `deprel`."""


def iter_sentences(path: Path) -> Iterator[tuple[int, Sentence]]:
    """Line of the first word, and the sentence, without what the first sentence has no annotation of."""
    names: list[str] = []
    for line, words in _sentences(path):
        names = names or [name for name, column in _READ.items() if _is_annotated(words, column)]
        yield line, {name: [_value(word, _READ[name]) for word in words] for name in names}
    if not names:
        raise DataError(f"{path}: no sentences; write a word a line, in the {len(_COLUMNS)} columns of CoNLL-U")


def _sentences(path: Path) -> Iterator[tuple[int, list[Sequence[str]]]]:
    words: list[Sequence[str]] = []
    first = 0
    for number, text in enumerate(chain(iter_lines(path), [""]), start=1):
        if not text.strip() and words:
            yield first, words
            words = []
        if fields := _fields(text, where=f"{path}:{number}"):
            first = first if words else number
            words.append(fields)


def _fields(text: str, *, where: str = "") -> Sequence[str]:
    """The columns of a word's line; none for another line. DataError for a line that is not CoNLL-U."""
    if not text.strip() or _NO_WORD.fullmatch(text):
        return ()
    fields = text.split("\t")
    if len(fields) != len(_COLUMNS):
        raise DataError(
            f"{where}: {len(fields)} columns, expected the {len(_COLUMNS)} of CoNLL-U with tabs between them; name a "
            "file with a word and its label in each line .conll"
        )
    if not _WORD.fullmatch(fields[0]):
        raise DataError(f"{where}: field 'ID': {fields[0]!r}, expected a number, a range (1-2) or an empty node (1.1)")
    if not _value(fields, "FORM").strip():
        raise DataError(f"{where}: field 'FORM': the word is empty; fill it")
    return fields


def _is_annotated(words: Sequence[Sequence[str]], column: str) -> bool:
    return column == "FORM" or any(_value(word, column) not in ("", _NOTHING) for word in words)


def _value(word: Sequence[str], column: str) -> str:
    """What the column says of a word; the empty text for no annotation, but `_` for a word without features."""
    value = word[_COLUMNS.index(column)]
    return "" if value == _NOTHING and column not in ("FORM", "FEATS") else value


def with_label(text: str, label: str, *, column: str | None) -> str | None:
    """The line of a word with `label` in a column by its name here, UPOS by default; None for another line."""
    fields = list(_fields(text))
    if not fields:
        return None
    fields[_COLUMNS.index(_READ.get(column or "", "UPOS"))] = label
    return "\t".join(fields)
