"""The files of a run that tell which rows were its development rows."""

from pathlib import Path
from typing import Any, Final

from litebert.files import write_json, write_text
from litebert.hub_datasets import is_dataset_name
from litebert.tasks.file_formats import format_of
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.output_formats import SUFFIXES, TableFormat
from litebert.tasks.read_labelled import rows_of
from litebert.tasks.readers.text_files import format_ending

ROWS: Final = "rows.json"


def write_dev_rows(directory: Path, train: LabelledData, dev: LabelledData) -> None:
    """Write `dev.csv` (.tsv, .jsonl, …), which `evaluate` reads, and `rows.json`.

    The file is `dev.jsonl` for Parquet, for a data set of the hub, and for a .tsv file whose rows .tsv cannot hold.
    `rows.json` has the line of each training and development row in the training file; its id where rows have no line.
    """
    suffix, text = _dev_text(dev)
    write_text(directory / f"dev{suffix}", text)
    parts = {"train": _row_names(train), "dev": _row_names(dev)}
    write_json(directory / ROWS, {"file": str(dev.path), **parts})


def _dev_text(dev: LabelledData) -> tuple[str, str]:
    """The ending and the text of the file."""
    source = dev.path
    if file_format := format_of(source, dev.task_type):
        return format_ending(source), file_format.part(source, dev)
    rows = [row.values for row in rows_of(dev)]
    # A carriage return inside a field is read, but other programs take it for the end of the line.
    has_returns = any("\r" in value for row in rows for value in row.values() if isinstance(value, str))
    ending = format_ending(source)
    is_table_of_text = ending in SUFFIXES and not is_dataset_name(source) and not (ending == ".tsv" and has_returns)
    suffix = ending if is_table_of_text else ".jsonl"
    return suffix, TableFormat(Path(f"dev{suffix}"), like=source).lines(rows)


def _row_names(data: LabelledData) -> list[Any]:
    return list(data.lines or [example.id for example in data.examples])
