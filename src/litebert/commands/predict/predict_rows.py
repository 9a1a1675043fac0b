"""An answer for each row of a table, by whatever the model can do. Before: `predict`. After: its output."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, Final

from litebert.errors import DataError
from litebert.inference.predictor import Answers, Predictor, TokenPrediction
from litebert.tasks.readers.choice_columns import option_columns, options_of
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.label_columns import SEPARATOR
from litebert.tasks.readers.question_tables import question_columns, unanswered_rows
from litebert.tasks.readers.tables import Table

Answer = dict[str, Any]
"""What is added to a row: `prediction`, and with it what the model was how sure of."""


def answers_for(table: Table, predictor: Predictor, columns: Columns, *, top_k: int) -> list[Answer]:
    """An answer for each row of `table`; `top_k` fillings for each mask."""
    if predictor.answers == "fill_mask":
        return _fillings(table, predictor, columns, top_k=top_k)
    return _ANSWERS[predictor.answers](table, predictor, columns)


def _classes(table: Table, predictor: Predictor, columns: Columns) -> list[Answer]:
    return [
        {"prediction": answer.label, "probability": answer.probability, "probabilities": answer.probabilities}
        for answer in predictor.classify(_texts(table, columns))
    ]


def _labels(table: Table, predictor: Predictor, columns: Columns) -> list[Answer]:
    return [
        {
            "prediction": SEPARATOR.join(answer.labels),
            "labels": list(answer.labels),
            "probabilities": answer.probabilities,
        }
        for answer in predictor.label(_texts(table, columns))
    ]


def _scores(table: Table, predictor: Predictor, columns: Columns) -> list[Answer]:
    return [{"prediction": score} for score in predictor.score(_texts(table, columns))]


def _choices(table: Table, predictor: Predictor, columns: Columns) -> list[Answer]:
    options = options_of(table, columns.options or option_columns(table))
    texts = table.texts(columns.names().text)
    questions = table.texts(columns.text_pair) if columns.text_pair else [None] * len(texts)
    return [
        {"prediction": answer.letter, "probability": answer.probability, "probabilities": list(answer.probabilities)}
        for answer in predictor.choose(list(zip(texts, questions, options, strict=True)))
    ]


def _tags(table: Table, predictor: Predictor, columns: Columns) -> list[Answer]:
    column, sentences = columns.names().text, []
    for row, text in zip(table.rows, table.texts(column, lists=True), strict=True):
        value = row.values[column]
        words = [str(word) for word in value] if isinstance(value, list) else text.split()
        if not words:
            raise DataError(f"{table.path}:{row.line}: field {column!r}: holds no words; remove the row")
        sentences.append(words)
    return [tagged(answer) for answer in predictor.tag(sentences)]


def tagged(answer: TokenPrediction) -> Answer:
    """What is added to a sentence."""
    return {
        "prediction": " ".join(answer.tags),
        "tags": list(answer.tags),
        "entities": [{"label": each.label, "text": each.text} for each in answer.entities],
    }


def _replies(table: Table, predictor: Predictor, columns: Columns) -> list[Answer]:
    questions = unanswered_rows(table, question_columns(table, columns))
    return [
        {
            "prediction": answer.text,
            "start": answer.start,
            "end": answer.end,
            "probability": answer.probability,
            "no_answer_probability": answer.no_answer_probability,
            "candidates": [{"text": each.text, "probability": each.probability} for each in answer.candidates],
        }
        for answer in predictor.answer_batch([(each.text, each.context) for each in questions])
    ]


_ANSWERS: Final[Mapping[Answers, Callable[[Table, Predictor, Columns], list[Answer]]]] = {
    "classify": _classes,
    "label": _labels,
    "score": _scores,
    "choose": _choices,
    "tag": _tags,
    "answer": _replies,
}


def _texts(table: Table, columns: Columns) -> list[Any]:
    """Texts, or pairs of texts."""
    texts = table.texts(columns.names().text)
    return list(zip(texts, table.texts(columns.text_pair), strict=True)) if columns.text_pair else texts


def _fillings(table: Table, predictor: Predictor, columns: Columns, *, top_k: int) -> list[Answer]:
    """For each row the best words, how probable they are together, and the `top_k` of every mask."""
    answers = []
    for row, text in zip(table.rows, table.texts(columns.names().text), strict=True):
        try:
            masks = predictor.fill_mask(text, top_k=top_k)
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
