"""Predictions as users see them."""

import inspect
import json

import pytest

from litebert.tasks.output_formats import TableFormat
from litebert.tasks.results import (
    Candidate,
    Choice,
    Classification,
    Entity,
    FilledMasks,
    MultiLabelPrediction,
    Regression,
    TokenPrediction,
)
from litebert.tasks.types.extractive_qa.span_scores import Answer
from litebert.tasks.types.registry import task_types


@pytest.mark.parametrize(
    "result",
    [
        Classification("good", 0.9, {"bad": 0.1, "good": 0.9}),
        Regression(0.5),
        Choice(0, 0.9, (0.9, 0.1)),
        TokenPrediction(("O",), (), (0.9,), ((0, 1),)),
        FilledMasks(((Candidate("a", 0.9),),)),
        Answer("", 0, 0, 0.0, None, ()),
    ],
    ids=lambda result: type(result).__name__,
)
def test_columns_of_a_result_are_those_of_its_record(result):
    assert tuple(result.to_record()) == result.columns
    assert tuple(result.to_table_row()) == tuple(each for each in result.columns if each not in result.nested_columns)
    assert not any(isinstance(value, list | dict) for value in result.to_table_row().values())


def test_every_label_of_a_text_has_a_column_with_its_probability():
    prediction = MultiLabelPrediction(("loud",), {"long": 0.1, "loud": 0.9})
    assert tuple(prediction.to_record()) == prediction.columns
    assert prediction.to_table_row() == {"prediction": "loud", "probability_long": 0.1, "probability_loud": 0.9}


def test_entities_are_readable_in_a_table():
    found = (Entity("PER", "Ada \n Lovelace", 0, 14, 0.9), Entity("LOC", "London", 18, 24, 0.5))
    prediction = TokenPrediction(
        ("B-PER", "I-PER", "O", "B-LOC"), found, (0.9,) * 4, ((0, 3), (6, 14), (15, 17), (18, 24))
    )
    assert prediction.to_table_row()["entities"] == "PER: Ada Lovelace; LOC: London"


@pytest.mark.parametrize("task_type", task_types(), ids=lambda each: each.name)
def test_results_of_a_task_type_are_those_that_it_decodes(task_type):
    returned = inspect.signature(task_type.inference.decode).return_annotation
    assert returned in (task_type.inference.result, task_type.inference.result.__name__)


def test_json_lines_have_null_for_what_json_has_no_number_for(tmp_path):
    output = tmp_path / "out.jsonl"
    text = TableFormat(output).lines([{"text": "a", "f": float("nan"), "deep": [{"g": float("inf")}, 1.5]}])
    assert json.loads(text, parse_constant=pytest.fail) == {"text": "a", "f": None, "deep": [{"g": None}, 1.5]}
