"""Files that a new fine-tuning run would not find."""

import pytest

from litebert.commands.finetune.data.missing_inputs import validate_inputs_exist
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.errors import DataError
from support.data.benchmark_files import write_cola
from support.data.labelled_files import write_opinions

TRAIN = {"duration": "1 steps", "learning_rate": 0.1}


def run_on(data):
    return FinetuneRun.parse({"model": "m", "data": data, "train": TRAIN}, where="test")


@pytest.fixture
def rows(tmp_path):
    return str(write_opinions(tmp_path / "rows.csv"))


def test_missing_file_is_named(tmp_path, rows):
    for data in ({"train": "absent.csv"}, {"train": rows, "dev": "absent.csv"}):
        with pytest.raises(DataError, match=r"^absent\.csv: no such file; check the path"):
            validate_inputs_exist(run_on(data), tmp_path / "new")


def test_missing_benchmark_is_named(tmp_path):
    data = {"task": "cola", "directory": str(tmp_path / "absent")}
    with pytest.raises(DataError, match=r"absent: found neither CoLA/train\.tsv"):
        validate_inputs_exist(run_on(data), tmp_path / "new")


def test_files_that_exist_and_names_on_the_hub_are_accepted(tmp_path, rows):
    for data in ({"train": rows}, {"train": "hf:owner/name"}):
        validate_inputs_exist(run_on(data), tmp_path / "new")
    validate_inputs_exist(run_on({"task": "cola", "directory": str(write_cola(tmp_path))}), tmp_path / "new")


def test_run_that_was_begun_needs_no_files(tmp_path):
    (tmp_path / "settings.yaml").write_text("command: finetune")
    validate_inputs_exist(run_on({"train": "absent.csv"}), tmp_path)
