"""One row a kind, and what a model directory answers."""

from typing import get_args

import pytest

from litebert.commands.finetune.objectives import OBJECTIVES
from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import MODELS
from litebert.model.io.model_spec import ModelSpec
from litebert.tasks.task_type import Kind
from litebert.tasks.types.registry import KINDS, kind_of

SIZES = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
CONFIG = ModelConfig(vocab_size=10, embedding_size=4, **SIZES)


def described(model, **options):
    return ModelSpec(model=model, config=CONFIG, **options)


def test_every_kind_has_a_row_a_model_and_an_objective():
    assert set(KINDS) == set(OBJECTIVES) == set(get_args(Kind))
    assert {row.model for row in KINDS.values()} <= set(MODELS)


@pytest.mark.parametrize(
    ("description", "kind"),
    [
        (described("ForSequenceClassification", labels=("a", "b")), "classification"),
        (
            described("ForSequenceClassification", labels=("a", "b"), problem_type="multi_label_classification"),
            "multi_label",
        ),
        (described("ForSequenceClassification", labels=("a",), problem_type="regression"), "regression"),
        (described("ForSequenceClassification", labels=("a",)), "regression"),
        (described("ForMultipleChoice"), "multiple_choice"),
        (described("ForTokenClassification", labels=("O", "B-X")), "tokens"),
    ],
)
def test_a_model_directory_says_what_it_answers(description, kind):
    assert kind_of(description, where="x") == kind


def test_a_model_without_a_head_for_it_answers_nothing():
    with pytest.raises(ConfigError, match="x: a ForMaskedLM has no labels; give a model directory from `finetune`"):
        kind_of(described("ForMaskedLM"), where="x")
