"""Answers of an ensemble as files, as `predict` and the leaderboards have them. Before: `ensemble`. After: a file."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from litebert.commands.ensemble.ensemble_rows import Rows
from litebert.commands.ensemble.members import Predicted
from litebert.commands.predict.predict import WRITERS, joined
from litebert.commands.predict.predict_rows import tagged
from litebert.commands.predict.predict_words import WORD_ENDINGS, tagged_words
from litebert.errors import ConfigError
from litebert.files import write_text
from litebert.inference.prediction_types import Answer, Choice, Classification, TokenPrediction
from litebert.tasks.benchmarks.benchmarks import official_task
from litebert.tasks.benchmarks.submission_files import glue_file, race_file
from litebert.tasks.ensembling.averaging import Predictions
from litebert.tasks.ensembling.ensemble_predictions import question_answers
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.readers.conll import read_columns
from litebert.tasks.readers.label_columns import SEPARATOR
from litebert.tasks.task_type import Kind
from litebert.tasks.types.predictions import MULTI_LABEL_THRESHOLD
from litebert.tasks.types.squad_files import write_predictions

Named = dict[str, Any]


def check_output(output: Path, rows: Rows) -> None:
    """Raise ConfigError unless `output` is called as what will be in it; before anything slow."""
    if _is_squad(rows):
        if output.suffix:
            raise ConfigError(f"out: {output}, but answers to a SQuAD file are several files; give a directory")
        return
    endings = WORD_ENDINGS if _is_conll(rows) else tuple(WRITERS)
    if rows.official is not None:
        endings = (".json",) if official_task(rows.official).format == "race" else (".tsv",)
    if output.suffix not in endings:
        raise ConfigError(f"out: {output.name!r} ends in none of {', '.join(endings)}; the ending is the format")
    if output.resolve() == rows.data.path.resolve():
        raise ConfigError(f"out: {output} holds the rows; write the answers elsewhere")


def write_answers(output: Path, rows: Rows, predicted: Predicted, *, threshold: float) -> None:
    """Write the answers: a row each, or as the leaderboard of a published task takes them."""
    data = rows.data
    if _is_squad(rows):
        found = question_answers(predicted.predictions, data, predicted.encoded)
        write_predictions(output, data.examples, found, threshold=threshold)
        return
    if rows.official is not None:
        write_text(output, official_file(rows.official, data, predicted))
    elif _is_conll(rows):
        write_text(
            output, tagged_words(data.path, output, read_columns(data.path), _taggings(predicted.predictions, data))
        )
    else:
        answers = named_answers(predicted, data, threshold=threshold)
        write_text(output, WRITERS[output.suffix](output, _with_rows(rows, answers)))


def official_file(name: str, data: LabelledData, predicted: Predicted) -> str:
    """Answers to a part of a published task of GLUE or RACE, as its leaderboard takes them."""
    form = race_file if official_task(name).format == "race" else glue_file
    return form(_numbered(data), [each["prediction"] for each in _NAMED[data.kind](predicted.predictions, data)])


def named_answers(predicted: Predicted, data: LabelledData, *, threshold: float) -> list[Named]:
    """What `predict` adds to a row, for each row."""
    if data.kind in ("spans", "answerability"):
        found = question_answers(predicted.predictions, data, predicted.encoded)
        return [_reply(Answer.of(each, threshold=threshold)) for each in found]
    return _NAMED[data.kind](predicted.predictions, data)


def _is_squad(rows: Rows) -> bool:
    return rows.table is None and rows.data.kind in ("spans", "answerability")


def _is_conll(rows: Rows) -> bool:
    return rows.table is None and rows.data.kind == "tokens"


def _numbered(data: LabelledData) -> list[Any]:
    """The examples by number; rows of development files have none, so theirs is their place."""
    return [each if each.id is not None else replace(each, id=str(place)) for place, each in enumerate(data.examples)]


def _with_rows(rows: Rows, answers: list[Named]) -> list[Named]:
    assert rows.table is not None, "only rows of a table come back with their answers beside them"
    return [joined(rows.table, row, answer) for row, answer in zip(rows.table.rows, answers, strict=True)]


def _classes(predictions: Predictions, data: LabelledData) -> list[Named]:
    answers = [Classification.of(each.tolist(), data.labels or ()) for each in predictions]
    return [
        {"prediction": each.label, "probability": each.probability, "probabilities": each.probabilities}
        for each in answers
    ]


def _scores(predictions: Predictions, data: LabelledData) -> list[Named]:
    return [{"prediction": float(each[0])} for each in predictions]


def _sets(predictions: Predictions, data: LabelledData) -> list[Named]:
    answers = []
    for given in predictions:
        probabilities = dict(zip(data.labels or (), given.tolist(), strict=True))
        labels = [name for name, probability in probabilities.items() if probability >= MULTI_LABEL_THRESHOLD]
        answers.append({"prediction": SEPARATOR.join(labels), "labels": labels, "probabilities": probabilities})
    return answers


def _options(predictions: Predictions, data: LabelledData) -> list[Named]:
    answers = [Choice(int(each.argmax()), float(each.max()), tuple(each.tolist())) for each in predictions]
    return [
        {"prediction": each.letter, "probability": each.probability, "probabilities": list(each.probabilities)}
        for each in answers
    ]


def _tags(predictions: Predictions, data: LabelledData) -> list[Named]:
    return [tagged(each) for each in _taggings(predictions, data)]


def _taggings(predictions: Predictions, data: LabelledData) -> list[TokenPrediction]:
    return [
        TokenPrediction.of(example.words, given, data.labels or ())
        for example, given in zip(data.examples, predictions, strict=True)
    ]


def _reply(answer: Answer) -> Named:
    return {
        "prediction": answer.text,
        "start": answer.start,
        "end": answer.end,
        "probability": answer.probability,
        "no_answer_probability": answer.no_answer_probability,
        "candidates": [{"text": each.text, "probability": each.probability} for each in answer.candidates],
    }


_NAMED: Final[dict[Kind, Callable[[Predictions, LabelledData], list[Named]]]] = {
    "classification": _classes,
    "regression": _scores,
    "multi_label": _sets,
    "multiple_choice": _options,
    "tokens": _tags,
}
