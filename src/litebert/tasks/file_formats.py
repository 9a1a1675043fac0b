"""Formats of labelled files without named columns, such as `.json` of SQuAD and `.conll`; others are tables."""

from dataclasses import asdict
from pathlib import Path

from litebert.errors import ConfigError
from litebert.settings import validate_not_given
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.text_files import format_ending
from litebert.tasks.types.registry import get_task_type, task_types
from litebert.tasks.types.task_type import FileFormat, TaskType


def types_with_format(path: Path) -> list[TaskType]:
    """The task types that define the format of a file without named columns, such as `.json`."""
    formats = [(each, each.reader.file_format) for each in task_types()]
    return [each for each, file_format in formats if file_format and format_ending(path) in file_format.suffixes]


def format_of(path: Path, task_type: str | None = None) -> FileFormat | None:
    """The format of a file without named columns, that of `task_type` if several have one; None for a table."""
    formats = {each.name: each.reader.file_format for each in types_with_format(path)}
    return formats.get(task_type or "", next(iter(formats.values()), None))


def task_type_of_format(path: Path, file_format: FileFormat, task_type: str | None) -> tuple[TaskType, str]:
    """The task type of a file in a format, and why it is; ConfigError for another `task_type`."""
    ending, fitting = format_ending(path), types_with_format(path)
    if task_type is None:
        return fitting[0], f"{ending} file"
    asked = get_task_type(task_type)
    if asked not in fitting:
        names = " or ".join(each.name for each in fitting)
        raise ConfigError(f"{path}: a {ending} file has {names} data, not {asked.name}; {file_format.other_data}")
    return asked, "as set"


def validate_columns_apply(columns: Columns, *files: Path) -> None:
    """Raise ConfigError where columns are named, but none of `files` has named columns."""
    if all(format_of(file) for file in files):
        validate_not_given(asdict(columns), f"a {format_ending(files[0])} file has no named columns; leave them out")
