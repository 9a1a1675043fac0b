"""Predictions of a file, scored as those of a model."""

from dataclasses import replace
from pathlib import Path

import pytest

from litebert.errors import ConfigError
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.scored_predictions import FilePredictions, left_out_note
from litebert.tasks.types.classification.classification import CLASSIFICATION
from litebert.tasks.types.registry import register, unregister


def test_task_type_without_a_reader_of_predictions_refuses_files():
    register(replace(CLASSIFICATION, name="own", predictions=None))
    data = LabelledData(Path("dev.csv"), "own", (), ("a", "b"), "")
    try:
        with pytest.raises(ConfigError, match=r"p\.csv: the task type 'own' reads no prediction files; give a model"):
            FilePredictions.read(Path("p.csv"), data, label="label", table=None)
    finally:
        unregister("own")


def test_nothing_that_is_left_out_has_no_note():
    assert left_out_note(()) == []
