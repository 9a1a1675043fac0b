"""Pronouns and candidates in the columns of a table: the spans of SuperGLUE's WSC, or pairs of sentences."""

import re
from collections.abc import Sequence
from typing import Any, Final

from litebert.errors import DataError
from litebert.tasks.labelled_data import Example
from litebert.tasks.readers.columns import Columns, group_and_slice
from litebert.tasks.readers.label_columns import non_empty_labels
from litebert.tasks.readers.tables import Row, Table
from litebert.tasks.types.pronoun_resolution.pronoun_examples import (
    LABELS,
    PronounExample,
    Span,
    pronoun_examples,
    with_others,
)
from litebert.tasks.types.task_type import ReadOptions, ReadResult

SPANS: Final = "target"
"""Column of SuperGLUE's WSC with the spans: span1 is the candidate, span2 the pronoun."""
_TARGETS: Final = {"0": 0, "1": 1, "false": 0, "true": 1}


def guess_spans(table: Table, columns: Columns) -> str | None:
    """Why the rows are those of SuperGLUE's WSC: the first has the spans of a phrase and of a pronoun."""
    spans = table.rows[0].values.get(SPANS)
    is_wsc = isinstance(spans, dict) and "span2_index" in spans
    return f"the column {SPANS!r} holds the spans of a phrase and of a pronoun" if is_wsc else None


def read_pronouns(table: Table, columns: Columns, options: ReadOptions) -> ReadResult:
    """The labelled rows."""
    targets = []
    for row, value in zip(table.rows, non_empty_labels(table, columns.label_name), strict=True):
        if value.lower() not in _TARGETS:
            raise DataError(
                f"{table.path}:{row.line}: field {columns.label_name!r}: unknown label {value!r}; expected 0 or 1, or "
                "true or false"
            )
        targets.append(_TARGETS[value.lower()])
    examples = _examples(table, columns, targets)
    return ReadResult(examples=examples, labels=LABELS, lines=[row.line for row in table.rows])


def read_pronoun_inputs(table: Table, columns: Columns) -> list[PronounExample]:
    """The rows without labels."""
    return _examples(table, columns, [None] * len(table.rows))


def _examples(table: Table, columns: Columns, targets: Sequence[int | None]) -> list[PronounExample]:
    texts, (groups, slices) = table.texts(columns.text_name), group_and_slice(table, columns)
    others = [
        {"target": target, "group": group, "slice": slice_}
        for target, group, slice_ in zip(targets, groups, slices, strict=True)
    ]
    if guess_spans(table, columns):
        found = [
            PronounExample(text=text, **_spans(table, row, text), **values)
            for row, text, values in zip(table.rows, texts, others, strict=True)
        ]
        return with_others(found)
    if columns.text_pair is None:
        raise DataError(
            f"{table.path}: neither the column {SPANS!r} of SuperGLUE's WSC nor a second text; name the column of the "
            "sentence that repeats the pronoun's (--text-pair)"
        )
    seconds = table.texts(columns.text_pair)
    for row, second in zip(table.rows, seconds, strict=True):
        if not second.strip():
            raise DataError(f"{table.path}:{row.line}: field {columns.text_pair!r}: blank; write the second sentence")
    pairs = zip(texts, seconds, others, strict=True)
    return pronoun_examples([Example(text=text, text_pair=pair, **values) for text, pair, values in pairs])


def _spans(table: Table, row: Row, text: str) -> dict[str, Any]:
    """The pronoun and the candidate of a row of SuperGLUE's WSC."""
    spans, where = row.values[SPANS], f"{table.path}:{row.line}: field {SPANS!r}"
    try:
        pronoun = _characters(text, int(spans["span2_index"]), str(spans["span2_text"]))
        candidate = str(spans["span1_text"])
        if not candidate.strip():
            raise ValueError("span1_text is blank")
        return {"pronoun": pronoun, "candidate": candidate}
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{where}: {error}; expected span1_text, span2_text and span2_index, the number of a word from 0"
        ) from None


def _characters(text: str, index: int, phrase: str) -> Span:
    """The characters of a phrase that begins in the word at `index`; words are separated by white space."""
    words = list(re.finditer(r"\S+", text))
    if not 0 <= index < len(words):
        raise ValueError(f"{len(words)} words, none at {index}")
    start = text.find(phrase, words[index].start())
    if not words[index].start() <= start < words[index].end():
        raise ValueError(f"{phrase!r} is not the word at {index}, {words[index][0]!r}")
    return start, start + len(phrase)
