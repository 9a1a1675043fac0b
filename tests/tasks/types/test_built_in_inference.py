"""The torch-free table of how the built-in task types predict."""

import pytest

from litebert.serving.served_tasks import SERVED_TASKS
from litebert.tasks.types.built_in_inference import BUILT_IN_INFERENCE
from litebert.tasks.types.registry import get_task_type, task_types

WITHOUT_EXPORT = {"pronoun_resolution"}


def test_every_task_type_is_in_the_table_or_is_not_exported():
    assert set(BUILT_IN_INFERENCE) == {each.name for each in task_types()} - WITHOUT_EXPORT


@pytest.mark.parametrize("name", BUILT_IN_INFERENCE)
def test_a_task_type_predicts_as_the_table_says(name):
    inference, task_type = BUILT_IN_INFERENCE[name], get_task_type(name)
    assert task_type.inference is inference
    assert set(inference.settings) <= set(task_type.settings.model_fields)


@pytest.mark.parametrize("name", BUILT_IN_INFERENCE)
def test_the_server_calls_the_method_of_the_task_type(name):
    method = BUILT_IN_INFERENCE[name].method
    assert SERVED_TASKS[name].operation.method == ("answer_batch" if method == "answer" else method)
