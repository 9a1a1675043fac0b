"""The torch-free table of task types has the functions of the task types themselves."""

import pytest

from litebert.runtime.onnx_tasks import ONNX_TASKS
from litebert.tasks.types.registry import get_task_type, task_types

WITHOUT_EXPORT = {"pronoun_resolution"}


def test_every_task_type_that_is_exported_has_a_row():
    assert set(ONNX_TASKS) == {each.name for each in task_types()} - WITHOUT_EXPORT


@pytest.mark.parametrize("name", ONNX_TASKS)
def test_examples_are_encoded_predicted_and_decoded_by_the_functions_of_the_task_type(name):
    exported, task_type = ONNX_TASKS[name], get_task_type(name)
    assert exported.method == task_type.card.method
    assert exported.encode is task_type.encode
    assert exported.predict is task_type.predict
    assert exported.decode is task_type.decode
    assert set(exported.settings) <= set(task_type.settings.model_fields)
