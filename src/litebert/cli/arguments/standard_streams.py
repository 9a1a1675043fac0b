"""`-` in place of a file of `predict`: standard input is read, predictions go to standard output."""

import codecs
import logging
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Final

from litebert.commands.many_files.file_arguments import is_pattern
from litebert.commands.predict.predict_settings import PredictRun
from litebert.errors import ConfigError, LitebertError, StoppedBySignalError

STREAM: Final = Path("-")
_BEGINNING: Final = 1024
"""Bytes that are looked at to tell JSON lines from texts."""
_ENDING: Final = ("SIGTERM", "SIGHUP")
"""Signals that end a process without its cleaning up, unless it handles them; Windows has no SIGHUP."""


@contextmanager
def files_for_streams(run: PredictRun) -> Iterator[PredictRun]:
    """`run` with temporary files in place of streams; at the end, the predictions go to standard output as JSON lines.

    ConfigError for a pattern of files, which has several outputs; StoppedBySignalError after a signal.
    """
    if STREAM not in (run.input, run.output):
        yield run
        return
    _validate_output(run)
    with _stopped_by_signals(run), TemporaryDirectory(prefix="litebert-") as directory:
        source = _input_file(Path(directory)) if run.input == STREAM else run.input
        output = Path(directory) / "stdout.jsonl" if run.output == STREAM else run.output
        names = {source: "standard input", output: "standard output"}
        with _named({path: name for path, name in names.items() if path.parent == Path(directory)}):
            yield run.model_copy(update={"input": source, "output": output})
        if run.output == STREAM:
            _write_to_standard_output(output)


def _validate_output(run: PredictRun) -> None:
    if run.task is not None:
        raise ConfigError("a benchmark is read from a directory and written to files; give both instead of -")
    if run.output == STREAM and is_pattern(run.input):
        raise ConfigError("output: the files of a pattern have an output each; give a directory instead of -")
    if run.output == STREAM and run.input.suffix == ".json":
        raise ConfigError("output: the predictions for a file of SQuAD are files in a directory; give one instead of -")


@contextmanager
def _stopped_by_signals(run: PredictRun) -> Iterator[None]:
    """Other signals interrupt as Ctrl-C does, so that the temporary files are removed; then StoppedBySignalError."""
    received = [signal.SIGINT]

    def interrupt(number: int, frame: FrameType | None) -> None:
        received.append(signal.Signals(number))
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in _ending_signals()}
    try:
        yield
    except (KeyboardInterrupt, StoppedBySignalError) as stopped:
        raise StoppedBySignalError(_message(run, received[-1], stopped), signal_number=received[-1]) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ending_signals() -> list[signal.Signals]:
    """Those that would end this process: under nohup SIGHUP does not, and only the main thread handles any."""
    if threading.current_thread() is not threading.main_thread():
        return []
    known = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
    return [number for number in known if signal.getsignal(number) not in (signal.SIG_IGN, None)]


def _message(run: PredictRun, number: signal.Signals, stopped: BaseException) -> str:
    """What was stopped, and how to continue; a file of predictions continues if its input is the same again."""
    if run.output == STREAM:
        return (
            f"standard output: stopped by {number.name}; predictions to a stream do not continue: run the command "
            "again, or give a file instead of -"
        )
    if isinstance(stopped, StoppedBySignalError):
        return f"{stopped} if standard input is the same again"
    return f"{run.output}: stopped by {number.name}; run the command again"


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


@contextmanager
def _named(names: Mapping[Path, str]) -> Iterator[None]:
    """Call files by these names in errors and in the log: whoever reads the message does not find the files."""

    def renamed(text: str) -> str:
        for path, name in names.items():
            text = text.replace(str(path), name)
        return text

    def rename(record: logging.LogRecord) -> bool:
        record.msg, record.args = renamed(record.getMessage()), ()
        return True

    handlers = list(logging.getLogger("litebert").handlers)  # filters of the logger do not see what its children log
    for handler in handlers:
        handler.addFilter(rename)
    try:
        yield
    except LitebertError as error:
        error.args = (renamed(str(error)),)
        raise
    finally:
        for handler in handlers:
            handler.removeFilter(rename)


def _write_to_standard_output(path: Path) -> None:
    """Write the bytes of a file: the encoding of a terminal may lack characters of the texts."""
    if not hasattr(sys.stdout, "buffer"):  # a replacement that takes text only
        sys.stdout.write(path.read_bytes().decode())
        return
    sys.stdout.flush()
    with path.open("rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()
