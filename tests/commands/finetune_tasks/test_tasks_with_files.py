"""`all` in place of the names of benchmarks: those of which a directory has the files."""

from shutil import copytree

import pytest

from litebert.commands.finetune_tasks.finetune_tasks_settings import FinetuneTasksRun
from litebert.commands.finetune_tasks.tasks_with_files import with_all_tasks
from litebert.errors import ConfigError
from support.data.benchmark_files import write_cola, write_mnli


@pytest.fixture(scope="module")
def glue(tmp_path_factory):
    """A directory with both splits of CoLA and MNLI."""
    directory = write_mnli(write_cola(tmp_path_factory.mktemp("tasks") / "glue"))
    mnli = directory / "MNLI"
    if not (mnli / "train.tsv").exists():
        (mnli / "train.tsv").write_text((mnli / "dev_matched.tsv").read_text())
    return directory


def run_of(directory, **changes):
    given = {"tasks": ("all",), "model": "m", "task_dir": directory, "out": "out", **changes}
    return FinetuneTasksRun.parse(given, where="test").with_all_tasks()


def test_all_tasks_are_those_with_files(glue):
    assert run_of(glue).tasks == ("cola", "mnli")
    assert run_of(glue, recipes="small").tasks == ("cola", "mnli")
    assert run_of(glue, tasks=("mnli",)).tasks == ("mnli",)


def test_intermediate_task_is_none_of_all_tasks(glue):
    assert run_of(glue, intermediate="mnli").tasks == ("cola",)


def test_files_outside_the_folder_of_a_task_are_not_its_own(glue, tmp_path):
    (tmp_path / "MNLI").mkdir()
    for name in ("train.tsv", "dev.tsv", "dev_matched.tsv"):
        (tmp_path / name).write_text((glue / "MNLI" / "dev_matched.tsv").read_text())
    copytree(glue / "CoLA", tmp_path / "CoLA")
    assert run_of(tmp_path).tasks == ("cola",)


def test_all_tasks_without_the_intermediate_one_may_be_none(glue, tmp_path):
    copytree(glue / "MNLI", tmp_path / "MNLI")
    with pytest.raises(ConfigError, match="has the files of mnli alone, the intermediate task; add those of others"):
        run_of(tmp_path, intermediate="mnli")


def test_all_beside_a_name_is_an_error(glue):
    with pytest.raises(ConfigError, match="tasks: 'all' beside cola; give it alone, or name the tasks"):
        run_of(glue, tasks=("all", "cola"))


@pytest.mark.parametrize(
    ("directories", "message"), [((), "no directory is given"), (("empty",), "none is in .*empty")]
)
def test_all_tasks_of_a_directory_without_files_are_an_error(tmp_path, directories, message):
    found = [tmp_path / name for name in directories]
    with pytest.raises(ConfigError, match=rf"{message}; give the directory of the benchmarks \(--data\)"):
        with_all_tasks(("all",), found, recipes="paper", argument="--data")


def test_all_tasks_are_also_those_in_folders_of_the_hub(tmp_path):
    (tmp_path / "stsb").mkdir()
    for split in ("train", "validation"):
        (tmp_path / "stsb" / f"{split}-00000-of-00001.parquet").touch()
    assert with_all_tasks(("all",), [tmp_path], recipes="paper", argument="--task-dir") == ("sts-b",)
