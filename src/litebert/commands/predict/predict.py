"""Answers for every row of a file, in its order. Before: a model directory and a file. After: a file with the answers.

A `.txt` file holds a text a line; CSV, TSV and JSONL rows keep their columns. The answer is whole or absent.
"""

import csv
import io
import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import Field

from litebert.commands.predict.predict_rows import Answer, answers_for
from litebert.commands.result import Result
from litebert.errors import ConfigError, DataError
from litebert.files import write_text
from litebert.inference.predictor import Answers, Predictor
from litebert.settings import Precision, Settings, validate_not_given
from litebert.tasks.readers.columns import Columns, SavedColumns, resolve_columns
from litebert.tasks.readers.tables import Row, Table, lines_of, read_table, read_text
from litebert.tasks.types.question_settings import Threshold

logger = logging.getLogger(__name__)

DEFAULT_TOP_K: Final = 5
"""Fillings of a mask, unless another number is asked for."""
READ_BY: Final[Mapping[str, Collection[Answers]]] = {
    "text_pair": ("classify", "label", "score", "choose", "answer"),
    "options": ("choose",),
    "top_k": ("fill_mask",),
}
"""Setting → the models that read it."""


class PredictRun(Settings):
    """Everything that decides a prediction."""

    model: Path
    """Model directory; it decides what is answered."""
    input: Path
    """A .txt file with a text a line, or a .csv, .tsv or .jsonl file with named columns."""
    output: Path
    """A .jsonl, .csv or .tsv file; the ending decides. An older one is replaced."""
    text: str | None = None
    """Column of the text or of the words, and the name that the lines of a .txt file get; null: as in training."""
    text_pair: str | None = None
    """Column of the second text of a pair, or of a question with options."""
    options: tuple[str, ...] = ()
    """Columns of the options of a multiple choice; empty finds them by their names."""
    top_k: int | None = Field(default=None, gt=0)
    """Fillings to give for each mask; null gives `DEFAULT_TOP_K`."""
    threshold: float | None = None
    """Null score above which a question has no answer; null takes the one kept with the model."""
    precision: Precision = "fp32"
    """Arithmetic of the model."""
    threads: int | None = Field(default=None, gt=0)
    """Threads of this process; null leaves the choice to torch."""


@dataclass(frozen=True)
class PredictResult(Result):
    """What was written."""

    output: Path
    rows: int
    answers: Answers
    threshold: Threshold | None
    """When a question has no answer; null from a model that never says so."""

    def to_text(self) -> str:
        """One line for a person."""
        by = f"; no-answer threshold {self.threshold.to_text()}" if self.threshold else ""
        return f"{self.output}: {self.rows:,} rows answered ({self.answers}{by})"


def predict(run: PredictRun) -> PredictResult:
    """Read `run.input`, answer each row and write `run.output`."""
    write = WRITERS.get(run.output.suffix)
    if write is None:
        raise ConfigError(f"output: {run.output.name!r} ends in none of {', '.join(WRITERS)}; the ending is the format")
    if run.output.resolve() == run.input.resolve():
        raise ConfigError(f"output: {run.output} is the input; write the answers elsewhere")
    table = _read(run)
    predictor = Predictor.load(run.model, precision=run.precision, threads=run.threads, threshold=run.threshold)
    _validate_unread_settings(run, predictor.answers)
    columns = Columns(text=run.text, text_pair=run.text_pair, options=run.options)
    columns = resolve_columns(columns, SavedColumns.stored(run.model), table)
    answers = answers_for(table, predictor, columns, top_k=run.top_k or DEFAULT_TOP_K)
    rows = [joined(table, row, answer) for row, answer in zip(table.rows, answers, strict=True)]
    write_text(run.output, write(run.output, rows))
    logger.info("%s: %d rows written", run.output, len(rows))
    return PredictResult(run.output, len(rows), predictor.answers, predictor.threshold)


def _validate_unread_settings(run: PredictRun, answers: Answers) -> None:
    given = {name: getattr(run, name) for name, readers in READ_BY.items() if answers not in readers}
    validate_not_given(given, f"a model that answers by {answers!r} reads no such thing; leave out what is named")


def _read(run: PredictRun) -> Table:
    if run.input.suffix != ".txt":
        return read_table(run.input)
    lines = lines_of(read_text(run.input))
    name = run.text or "text"
    rows = tuple(Row(number, {name: line}) for number, line in enumerate(lines, start=1))
    return Table(run.input, (name,), rows)


def joined(table: Table, row: Row, answer: Answer) -> Answer:
    """A row with its answer; DataError where it has a column of that name already."""
    for name in answer:
        if name in row.values:
            raise DataError(f"{table.path}:{row.line}: has a column {name!r}, where the answer goes; rename it")
    return {**row.values, **answer}


def _jsonl(path: Path, rows: Sequence[Answer]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _csv(path: Path, rows: Sequence[Answer]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(_records(rows))
    return buffer.getvalue()


def _tsv(path: Path, rows: Sequence[Answer]) -> str:
    records = _records(rows)
    for number, fields in enumerate(records):
        if any(sign in field for field in fields for sign in "\t\n\r"):
            raise DataError(f"{path}: row {number} holds a tab or a line end, which .tsv cannot; write .csv or .jsonl")
    return "".join("\t".join(fields) + "\n" for fields in records)


def _records(rows: Sequence[Answer]) -> list[list[str]]:
    """Header and rows as text, without what no single field can hold; .jsonl keeps it."""
    names = [name for name, value in rows[0].items() if not isinstance(value, dict | list)]
    return [names, *(["" if row.get(name) is None else str(row[name]) for name in names] for row in rows)]


WRITERS = {".jsonl": _jsonl, ".csv": _csv, ".tsv": _tsv}
