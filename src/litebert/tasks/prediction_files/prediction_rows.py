"""A prediction file → its rows in the order of the labelled examples. Importing it loads no torch.

It is a table that `predict` writes (`output_formats`), or a plain one of another program: a row for each example, and
a column `prediction`. A `.json` file is an object of ids and predictions, as in SQuAD and RACE; a `.conll` file has
the labels in its last column.
"""

import json
import logging
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Self

from litebert.errors import DataError
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.readers.conll_columns import CONLL_SUFFIXES, iter_sentences
from litebert.tasks.readers.label_columns import label_positions, sorted_labels
from litebert.tasks.readers.tables import TABLE_ENDINGS, Row, Table, json_text, read_table, without_duplicates
from litebert.tasks.readers.text_files import format_ending, read_text
from litebert.tasks.results import LETTERS, PROBABILITIES, PROBABILITY_OF, SEPARATOR

logger = logging.getLogger(__name__)

JSON: Final = ".json"
PREDICTION_ENDINGS: Final = (*TABLE_ENDINGS, JSON, *CONLL_SUFFIXES)
PREDICTION: Final = "prediction"
ID: Final = "id"
INDEX: Final = "index"
SENTENCE: Final = "sentence"
WORD: Final = "word"


def is_prediction_file(source: str | Path) -> bool:
    """Whether a command that takes a model is given a prediction file: by the ending, unless it is a directory."""
    path = Path(source)
    return format_ending(path) in PREDICTION_ENDINGS and not path.is_dir()


def read_prediction_rows(path: Path) -> Table:
    """The rows of a prediction file; DataError where it is invalid."""
    if not path.exists():
        raise DataError(f"{path}: no such file; check the path")
    ending = format_ending(path)
    if ending == JSON:
        return _by_id(path)
    return _by_sentence(path) if ending in CONLL_SUFFIXES else _with_probabilities(read_table(path))


@dataclass(frozen=True, slots=True)
class ExampleRows:
    """Which rows of their file the examples are."""

    source: Path
    """The file of the examples."""
    all_ids: tuple[str | None, ...]
    """Id of each row of the file; None where it has none."""
    positions: tuple[int, ...]
    """Of each example among all rows of the file; the others are blank or have no label."""
    is_numbered: bool = False
    """Whether a column `index` has the position of an example, as in GLUE's format for the predictions of a split."""

    @classmethod
    def of(cls, data: LabelledData, table: Table | None) -> Self:
        """The rows of `data` in its table; None: its file is no table, so that every row is an example."""
        if table is None or data.lines is None:
            ids = tuple(each.id for each in data.examples)
            return cls(data.path, ids, (*range(len(ids)),), is_numbered=not any(ids))
        position_of = {row.line: position for position, row in enumerate(table.rows)}
        positions = tuple(position_of[line] for line in data.lines)
        ids = table.texts(ID) if ID in table.columns else [None] * len(table.rows)
        return cls(data.path, tuple(ids), positions)

    @property
    def ids(self) -> tuple[str | None, ...]:
        """Id of each example; None where it has none."""
        return tuple(self.all_ids[position] for position in self.positions)

    def order(self, predicted: Table) -> Table:
        """The rows of a prediction file in the order of the examples, by their ids or numbers if it has them.

        Otherwise the file has a row for each example, or for each row of the file, as `predict` writes. DataError where
        an example has no prediction or several.
        """
        # `predict` keeps a column `id` of the data, which may name something else, such as an author of several rows.
        if ID in predicted.columns and tuple(predicted.texts(ID)) not in (self.ids, self.all_ids):
            return replace(predicted, rows=tuple(self._matched(predicted)))
        rows, count = predicted.rows, len(self.positions)
        if len(rows) == count:
            is_numbered = self.is_numbered and INDEX in predicted.columns
            return replace(predicted, rows=self._by_number(predicted)) if is_numbered else predicted
        if len(rows) == len(self.all_ids):
            return replace(predicted, rows=tuple(rows[position] for position in self.positions))
        raise DataError(
            f"{predicted.path}:{rows[-1].line}: the last of {len(rows)} predictions, but {self.source} has {count} "
            f"examples; write one for each example, in their order, or a column {ID!r} in both files"
        )

    def _by_number(self, predicted: Table) -> tuple[Row, ...]:
        found = dict(zip(predicted.texts(INDEX), predicted.rows, strict=True))
        numbers = [str(position) for position in range(len(self.positions))]
        if missing := [number for number in numbers if number not in found]:
            raise DataError(
                f"{predicted.path}: field {INDEX!r}: no row has {missing[0]}, expected each number from 0 to "
                f"{numbers[-1]} once, the position of the example in {self.source}; correct it, or remove the column "
                "if the rows are in the order of the examples"
            )
        return tuple(found[number] for number in numbers)

    def _matched(self, predicted: Table) -> list[Row]:
        names = predicted.unique_texts(ID, advice="write one prediction for each")
        found = dict(zip(names, predicted.rows, strict=True))
        if all(each is None for each in self.ids):
            raise DataError(
                f"{predicted.path}: has a column {ID!r}, but the examples of {self.source} have no ids; remove the "
                "column if the rows are in the order of the examples"
            )
        if twice := [each for each, count in Counter(self.ids).items() if count > 1]:
            raise DataError(
                f"{self.source}: the id {twice[0]!r} is that of several examples, so the rows of {predicted.path} "
                f"cannot be matched by it; write one for each example, in their order, without a column {ID!r}"
            )
        if missing := [each for each in self.ids if each not in found]:
            raise DataError(
                f"{predicted.path}: no prediction for {len(missing)} of {len(self.ids)} examples of {self.source}, the "
                f"first with the id {missing[0]!r}, while its own first id is {names[0]!r}; add them (an empty one for "
                "a question without an answer)"
            )
        if others := found.keys() - set(self.ids):
            logger.warning("%s: %d predictions belong to no example of %s", predicted.path, len(others), self.source)
        return [found[str(each)] for each in self.ids]


def _with_probabilities(table: Table) -> Table:
    """The table, with the columns `probability_LABEL` of all labels also as one column `probabilities`.

    Columns of such names that are not those of the predicted labels belong to the data.
    """
    labels = {name.removeprefix(PROBABILITY_OF): name for name in table.columns if name.startswith(PROBABILITY_OF)}
    if len(labels) < 2 or PROBABILITIES in table.columns:
        return table
    if (other := _not_among(table, labels)) is not None:
        names = ", ".join(labels.values())
        logger.info("%s: not read: %s, as the prediction %r is none of these labels", table.path, names, other)
        return table

    def of_labels(values: Mapping[str, Any]) -> dict[str, Any]:
        return {label: _number(values[column]) for label, column in labels.items()}

    rows = (Row(row.line, {**row.values, PROBABILITIES: of_labels(row.values)}) for row in table.rows)
    return Table(table.path, (*table.columns, PROBABILITIES), tuple(rows))


def _not_among(table: Table, labels: Collection[str]) -> str | None:
    """A prediction that is not among `labels`, of which a row may have several; None without one.

    Options have probabilities by their letters, and are also predicted by their numbers.
    """
    known: Collection[str] = label_positions(sorted_labels(labels))
    if set(labels) == set(LETTERS[: len(labels)]):
        known = {*known, *map(str, range(len(labels)))}
    values = [row.values[PREDICTION] for row in table.rows] if PREDICTION in table.columns else []
    return next((name for value in values for name in _labels_of(value, known) if name not in known), None)


def _labels_of(value: Any, known: Collection[str]) -> list[str]:
    """The labels of a prediction: of a list, or of a text with `|` between them unless that is one label."""
    if isinstance(value, list):
        return [name for each in value for name in _labels_of(each, known)]
    text = "" if value is None else value.strip() if isinstance(value, str) else json_text(value)
    return [text] if text in known else [part.strip() for part in text.split(SEPARATOR) if text]


def _number(value: Any) -> Any:
    """The number that a cell of text holds, or the value itself."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def words_by_sentence(table: Table) -> Table:
    """A row for each sentence of a table of words, as `predict` writes for CoNLL columns; other tables unchanged."""
    if not {SENTENCE, WORD, PREDICTION} <= set(table.columns):
        return table
    sentences = (list(rows) for _, rows in groupby(table.rows, key=lambda row: row.values[SENTENCE]))
    columns = (WORD, PREDICTION)
    lists = (
        Row(words[0].line, {name: [word.values[name] for word in words] for name in columns}) for words in sentences
    )
    return Table(table.path, columns, tuple(lists))


def _by_id(path: Path) -> Table:
    """Rows of a JSON object of ids and predictions."""
    advice = "write one object of ids and predictions, or rows as JSON lines (.jsonl)"
    try:
        content = json.loads(read_text(path), object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: not valid JSON ({error}); {advice}") from None
    if not isinstance(content, dict) or not content:
        found = "an empty one" if content == {} else type(content).__name__
        raise DataError(f"{path}: expected an object with predictions, found {found}; {advice}")
    rows: list[dict[str, Any]] = [{ID: name, PREDICTION: value} for name, value in content.items()]
    return Table(path, (ID, PREDICTION), tuple(Row(number, row) for number, row in enumerate(rows, start=1)))


def _by_sentence(path: Path) -> Table:
    """Rows of a file of CoNLL columns, a sentence each, with its words and the labels of its last column."""
    sentences = iter_sentences(path, min_columns=2)
    positions = {WORD: 0, PREDICTION: -1}
    rows = (
        Row(lines[0].number, {name: [line.columns[at] for line in lines] for name, at in positions.items()})
        for lines in sentences
    )
    return Table(path, tuple(positions), tuple(rows))
