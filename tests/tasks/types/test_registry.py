"""The registered task types and those of model directories."""

from dataclasses import replace
from pathlib import Path

import pytest

from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import MODELS
from litebert.model.io.model_spec import ModelSpec
from litebert.tasks.metrics.metrics import METRICS
from litebert.tasks.readers.columns import SavedTask
from litebert.tasks.types.classification.classification import CLASSIFICATION
from litebert.tasks.types.registry import get_task_type, register, task_type_of, task_types

SIZES = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
CONFIG = ModelConfig(vocab_size=10, embedding_size=4, **SIZES)
NOWHERE = Path("no such directory")


def spec(model, **options):
    return ModelSpec(model=model, config=CONFIG, **options)


def test_task_types_have_models_and_metrics_that_exist():
    assert {each.model for each in task_types()} <= set(MODELS)
    assert {name for each in task_types() for name in each.all_metrics} == set(METRICS)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (spec("ForSequenceClassification", labels=("a", "b")), "classification"),
        (spec("ForSequenceClassification", labels=("a",), problem_type="multi_label_classification"), "multi_label"),
        (spec("ForSequenceClassification", labels=("a",), problem_type="regression"), "regression"),
        (spec("ForSequenceClassification", labels=("a",)), "regression"),
        (spec("ForMultipleChoice"), "multiple_choice"),
        (spec("ForTokenClassification", labels=("O", "B-X")), "token_classification"),
        (spec("ForTokenClassification", labels=("O",)), "token_classification"),
        (spec("ForQuestionAnswering"), "extractive_qa"),
        (spec("ForQuestionAnsweringWithNoAnswer"), "extractive_qa_no_answer"),
    ],
)
def test_task_type_of_a_transformers_directory_follows_its_config(given, name):
    assert task_type_of(NOWHERE, given).name == name


def test_task_type_of_a_directory_is_the_saved_one(tmp_path):
    for name, content in SavedTask(task_type="multi_label", text="text", label="label").files().items():
        (tmp_path / name).write_bytes(content)
    assert task_type_of(tmp_path, spec("ForSequenceClassification", labels=("a", "b"))).name == "multi_label"


def test_task_type_of_a_model_without_a_fine_tuned_head_is_an_error():
    with pytest.raises(ConfigError, match="a ForMaskedLM has no fine-tuned head; give a model directory from"):
        task_type_of(NOWHERE, spec("ForMaskedLM"))


def test_unknown_task_type_is_an_error_with_a_suggestion():
    with pytest.raises(ConfigError, match="unknown 'clasification' \\(did you mean 'classification'\\?\\)"):
        get_task_type("clasification")


def test_registering_a_taken_name_is_an_error():
    with pytest.raises(ConfigError, match="'classification' is registered already"):
        register(replace(CLASSIFICATION, metrics=("f1",)))


def test_task_type_whose_results_name_no_columns_is_refused():
    class Score:
        pass

    with pytest.raises(ConfigError, match="task_type: Score has no `columns`; set them to the keys of"):
        register(replace(CLASSIFICATION, name="scores", inference=replace(CLASSIFICATION.inference, result=Score)))
    assert "scores" not in {each.name for each in task_types()}
