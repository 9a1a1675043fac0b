"""`-` in place of a file of `predict`: standard input is read, predictions go to standard output."""

import codecs
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from litebert.commands.many_files.file_workers import is_pattern
from litebert.commands.predict.predict_settings import PredictRun
from litebert.errors import ConfigError

STREAM: Final = Path("-")
_BEGINNING: Final = 1024
"""Bytes that are looked at to tell JSON lines from texts."""


@contextmanager
def files_for_streams(run: PredictRun) -> Iterator[PredictRun]:
    """`run` with temporary files in place of streams; at the end, the predictions go to standard output as JSON lines.

    ConfigError for a pattern of files, which has several outputs.
    """
    if STREAM not in (run.input, run.output):
        yield run
        return
    if run.task is not None:
        raise ConfigError("a benchmark is read from a directory and written to files; give both instead of -")
    if run.output == STREAM and is_pattern(run.input):
        raise ConfigError("output: the files of a pattern have an output each; give a directory instead of -")
    if run.output == STREAM and run.input.suffix == ".json":
        raise ConfigError("output: the predictions for a file of SQuAD are files in a directory; give one instead of -")
    with TemporaryDirectory(prefix="litebert-") as directory:
        source = _input_file(Path(directory)) if run.input == STREAM else run.input
        output = Path(directory) / "stdout.jsonl" if run.output == STREAM else run.output
        yield run.model_copy(update={"input": source, "output": output})
        if run.output == STREAM:
            with output.open(encoding="utf-8", newline="") as lines:
                sys.stdout.writelines(lines)


def _input_file(directory: Path) -> Path:
    """Standard input, to its end, as a file: JSON lines if it begins with `{`, otherwise one text a line.

    A byte order mark, as some shells write it, and spaces before it do not count.
    """
    first = sys.stdin.buffer.read(_BEGINNING)
    begins_with_object = first.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{")
    path = directory / ("stdin.jsonl" if begins_with_object else "stdin.txt")
    with path.open("wb") as file:
        file.write(first)
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path
