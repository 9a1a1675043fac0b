"""Answers for every row of a file, in its order. Before: a model directory and a file. After: a file with the answers.

A `.txt` file holds a text a line; CSV, TSV and JSONL rows keep their columns. The answer is whole or absent.
"""

import csv
import io
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from pydantic import Field

from litebert.errors import ConfigError, DataError
from litebert.files import write_text
from litebert.inference.predictor import Answers, Precision, Predictor
from litebert.runs.result import Result
from litebert.settings import Settings
from litebert.tasks.rows import Row, Table, lines_of, read_table, read_text

logger = logging.getLogger(__name__)

Answer = dict[str, Any]
"""What is added to a row: `prediction`, and with it what the model was how sure of."""


class PredictRun(Settings):
    """Everything that decides a prediction."""

    model: Path
    """Model directory; it decides whether masks are filled, texts classified or scored."""
    input: Path
    """A .txt file with a text a line, or a .csv, .tsv or .jsonl file with named columns."""
    output: Path
    """A .jsonl, .csv or .tsv file; the ending decides. An older one is replaced."""
    text: str = "text"
    """Column of the text; in a .txt file the name that its lines get."""
    text_pair: str | None = None
    """Column of the second text of a pair."""
    top_k: int = Field(default=5, gt=0)
    """Fillings to give for each mask."""
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

    def to_text(self) -> str:
        """One line for a person."""
        return f"{self.output}: {self.rows:,} rows answered ({self.answers})"


def predict(run: PredictRun) -> PredictResult:
    """Read `run.input`, answer each row and write `run.output`."""
    write = WRITERS.get(run.output.suffix)
    if write is None:
        raise ConfigError(f"output: {run.output.name!r} ends in none of {', '.join(WRITERS)}; the ending is the format")
    if run.output.resolve() == run.input.resolve():
        raise ConfigError(f"output: {run.output} is the input; write the answers elsewhere")
    table = _read(run)
    predictor = Predictor.load(run.model, precision=run.precision, threads=run.threads)
    answers = answers_for(table, predictor, run)
    rows = [_joined(table, row, answer) for row, answer in zip(table.rows, answers, strict=True)]
    write_text(run.output, write(run.output, rows))
    logger.info("%s: %d rows written", run.output, len(rows))
    return PredictResult(run.output, len(rows), predictor.answers)


def answers_for(table: Table, predictor: Predictor, run: PredictRun) -> list[Answer]:
    """An answer for each row of `table`."""
    if predictor.answers == "fill_mask":
        if run.text_pair:
            raise ConfigError("text_pair: this model fills masks in one text; leave it out")
        return _fillings(table, predictor, run)
    texts = _texts(table, run)
    if predictor.answers == "score":
        return [{"prediction": score} for score in predictor.score(texts)]
    return [
        {"prediction": answer.label, "probability": answer.probability, "probabilities": answer.probabilities}
        for answer in predictor.classify(texts)
    ]


def _texts(table: Table, run: PredictRun) -> list[Any]:
    """Texts, or pairs of texts."""
    texts = table.texts(run.text)
    return list(zip(texts, table.texts(run.text_pair), strict=True)) if run.text_pair else texts


def _fillings(table: Table, predictor: Predictor, run: PredictRun) -> list[Answer]:
    """For each row the best words, how probable they are together, and the `top_k` of every mask."""
    answers = []
    for row, text in zip(table.rows, table.texts(run.text), strict=True):
        try:
            masks = predictor.fill_mask(text, top_k=run.top_k)
        except DataError as error:
            raise DataError(f"{table.path}:{row.line}: {error}") from None
        best = [candidates[0] for candidates in masks]
        answers.append(
            {
                "prediction": " ".join(candidate.word for candidate in best),
                "probability": prod(candidate.probability for candidate in best),
                "masks": [{candidate.piece: candidate.probability for candidate in each} for each in masks],
            }
        )
    return answers


def _read(run: PredictRun) -> Table:
    if run.input.suffix != ".txt":
        return read_table(run.input)
    lines = lines_of(read_text(run.input))
    rows = tuple(Row(number, {run.text: line}) for number, line in enumerate(lines, start=1))
    return Table(run.input, (run.text,), rows)


def _joined(table: Table, row: Row, answer: Answer) -> Answer:
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
