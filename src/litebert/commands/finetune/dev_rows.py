"""The held-out rows of a run, as a file in the format of the training file, and which row is in which part."""

from pathlib import Path
from typing import Any, Final

from litebert.files import write_json, write_text
from litebert.hub_datasets import is_dataset_name
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.output_formats import TableFormat
from litebert.tasks.read_labelled import read_any_table, types_with_format

ROWS: Final = "rows.json"


def write_dev_rows(directory: Path, train: LabelledData, dev: LabelledData) -> None:
    """Write `dev.csv` (.tsv, .jsonl, …), which `evaluate` reads, and `rows.json`, unless they exist.

    `rows.json` has the line of each training and development row in the training file; its id where rows have no line.
    """
    source = dev.path
    suffix = ".jsonl" if is_dataset_name(source) else source.suffix
    if (directory / ROWS).exists():
        return
    write_text(directory / f"dev{suffix}", _dev_text(dev, directory / f"dev{suffix}"))
    parts = {"train": _row_names(train), "dev": _row_names(dev)}
    write_json(directory / ROWS, {"file": str(source), **parts})


def _dev_text(dev: LabelledData, output: Path) -> str:
    source = dev.path
    if formats := types_with_format(source):
        assert formats[0].reader.file_format is not None
        return formats[0].reader.file_format.part(source, dev)
    dev_lines = set(dev.lines or ())
    return TableFormat(output).lines([row.values for row in read_any_table(source).rows if row.line in dev_lines])


def _row_names(data: LabelledData) -> list[Any]:
    return list(data.lines or [example.id for example in data.examples])
