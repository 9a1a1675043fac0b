"""Input files as windows of examples, and predictions written window by window, in bounded memory and resumable.

Beside the output lie `.NAME.partial`, the predictions so far, and `.NAME.state.json`, which says how far they are and
what they depend on. A command that was killed continues there if nothing of that has changed.
"""

import json
import logging
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self, TypeVar, get_args

from litebert.commands.fingerprint import fingerprint_of
from litebert.errors import ConfigError, DataError, StoppedBySignalError
from litebert.files import fsync, locked, translate_os_errors, write_json
from litebert.settings import InferencePrecision
from litebert.tasks.encoded import NoTokensError
from litebert.tasks.output_formats import OutputError, OutputFormat, table_output, validate_not_input
from litebert.tasks.read_labelled import types_with_format
from litebert.tasks.readers.columns import Columns, SavedTask, resolve_columns
from litebert.tasks.readers.tables import Row, Table, iter_tables
from litebert.tasks.readers.text_files import format_ending, iter_lines
from litebert.tasks.results import Result
from litebert.tasks.types.task_type import FileFormat, TaskType

R = TypeVar("R", bound=Any)
"""Settings of a command, with `precision`."""
logger = logging.getLogger(__name__)

ROWS_PER_WINDOW: Final = 4096
"""Rows that are in memory at once; a prediction does not depend on where a command was stopped."""

ReadInputs = Callable[[Table, Columns], Sequence[Any]]
WriteDirectory = Callable[[Path, Sequence[Any], Sequence[Any]], None]


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive rows of an input file."""

    rows: Sequence[Any]
    """As the output format takes them."""
    examples: Sequence[Any]
    """As the model takes them."""


@dataclass(frozen=True, slots=True)
class WindowResults:
    """What is predicted for a window."""

    results: Sequence[Result]
    text_counts: Mapping[str, int] = field(default_factory=dict)
    """How many rows are truncated or empty (`Encoded.text_counts`)."""

    @property
    def counts(self) -> Counter[str]:
        """The summed `Result.counts`, and `text_counts`."""
        counts = Counter(self.text_counts)
        for result in self.results:
            counts.update(result.counts)
        return counts


@dataclass(frozen=True, slots=True)
class Written:
    """What was written."""

    rows: int
    counts: dict[str, int]
    """The summed `WindowResults.counts`."""


def write_predictions(
    output: Path,
    output_format: OutputFormat,
    windows: Callable[[int], Iterator[Window]],
    predict: Callable[[Sequence[Any]], WindowResults],
    *,
    source: Path,
    fingerprint: str,
    precisions: Sequence[InferencePrecision] = (),
) -> Written:
    """Write the predictions for all windows of `source` to `output`, which is complete or absent.

    `windows` gives those after a number of rows; `fingerprint` changes with everything the predictions depend on;
    `precisions`, those of the models, are recorded for `recorded_precisions`.
    """
    partial, state_file = _partial_files(output)
    with _locked(output), translate_os_errors(output):
        state = _read_state(state_file, partial, fingerprint)
        if state:
            output_format.state.update(state["format"])
            logger.info("%s: resuming after %d rows", output, state["rows"])
        rows, counts = (state["rows"], Counter(state["counts"])) if state else (0, Counter[str]())
        try:
            with partial.open("r+b" if state else "wb") as file:
                file.seek(state["bytes"] if state else 0)
                file.truncate()
                for window in windows(rows):
                    with _row_named(source, window):
                        predicted = predict(window.examples)
                    content = output_format.render(window.rows, predicted.results)
                    file.write(content.encode() if isinstance(content, str) else content)
                    rows += len(predicted.results)
                    counts.update(predicted.counts)
                    state = {"fingerprint": fingerprint, "rows": rows, "counts": dict(counts)}
                    described = {**state, "precisions": list(precisions), "format": output_format.state}
                    _save_state(state_file, file, described)
                file.write(output_format.finish().encode())
                _fsync(file)
        except KeyboardInterrupt:
            raise StoppedBySignalError(
                f"{output}: stopped after {rows:,} rows; the same command continues there", signal_number=signal.SIGINT
            ) from None
        except Exception as error:
            # A corrected input is another input; other errors leave the predictions right, if there are any.
            if state is None or (isinstance(error, DataError) and not isinstance(error, OutputError)):
                partial.unlink(missing_ok=True)
                state_file.unlink(missing_ok=True)
            raise
        partial.replace(output)
        fsync(output.parent)
        state_file.unlink(missing_ok=True)
    return Written(rows, dict(counts))


def with_recorded_precision(run: R, output: Path, fingerprint: Callable[[R], str]) -> R:
    """`run`; where its precision is `auto`, with that of the predictions for `output` that a stopped command has left.

    Measurements differ, and predictions in another precision would be discarded. `fingerprint` is the one that
    `write_predictions` is given: those of another command are not continued.
    """
    if run.precision != "auto":
        return run

    def with_precision(precisions: Sequence[InferencePrecision]) -> R:
        return run.model_copy(update={"precision": precisions[0]})

    recorded = recorded_precisions(output, lambda found: fingerprint(with_precision(found)), models=1)
    return with_precision(recorded) if recorded else run


def recorded_precisions(
    output: Path, fingerprint: Callable[[Sequence[InferencePrecision]], str], *, models: int
) -> list[InferencePrecision] | None:
    """Those of the models that made the predictions for `output` that a stopped command has left.

    None where there are no such predictions, or where they are not continued: `fingerprint` is that of precisions.
    """
    partial, state_file = _partial_files(output)
    state = _stored_state(state_file, partial) or {}
    found = state.get("precisions", [])
    if len(found) != models or not set(found) <= set(get_args(InferencePrecision)):
        return None
    return found if state["fingerprint"] == fingerprint(found) else None


def output_fingerprint(source: Path, output: Path, models: Sequence[Path], settings: Mapping[str, Any]) -> str:
    """Digest of everything that the predictions for `source` depend on."""
    return fingerprint_of([source], models, {**settings, "output": output.name})


def _partial_files(output: Path) -> tuple[Path, Path]:
    """The predictions so far, and their state."""
    return output.with_name(f".{output.name}.partial"), output.with_name(f".{output.name}.state.json")


@contextmanager
def _row_named(source: Path, window: Window) -> Iterator[None]:
    """Raise DataError with the line of a row whose text has no tokens."""
    try:
        yield
    except NoTokensError as error:
        where = f"{source}:{window.rows[error.index].line}"
        raise DataError(f"{where}: a text of the row has no tokens; fill it, or remove the row") from None


@contextmanager
def _locked(output: Path) -> Iterator[None]:
    """Keep other processes from writing the same output; the lock file is removed at the end."""
    lock = output.with_name(f".{output.name}.lock")
    busy = ConfigError(f"output: another process is writing {output}; wait for it, or choose another file")
    with locked(lock, busy=busy):
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def _read_state(state_file: Path, partial: Path, fingerprint: str) -> dict[str, Any] | None:
    """The state of an interrupted command; None if there is none that continues with `fingerprint`."""
    state = _stored_state(state_file, partial)
    if state is None:
        return None
    if state.get("fingerprint") != fingerprint or partial.stat().st_size < state["bytes"]:
        logger.warning(
            "%s: the %d predictions of an interrupted command are discarded, because input, model, settings or device "
            "are others now",
            *(partial, state["rows"]),
        )
        return None
    return state


def _stored_state(state_file: Path, partial: Path) -> dict[str, Any] | None:
    if not state_file.exists() or not partial.exists():
        return None
    try:
        return json.loads(state_file.read_bytes())
    except ValueError:
        return None


def _save_state(path: Path, file: Any, state: dict[str, Any]) -> None:
    """Write the state after everything it describes is on disk."""
    _fsync(file)
    write_json(path, {**state, "bytes": file.tell()})


def _fsync(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def validate_output_directory(output: Path, suffix: str) -> None:
    """Raise ConfigError where predictions that are several files cannot be written."""
    if output.suffix or (output.exists() and not output.is_dir()):
        raise ConfigError(
            f"output: {output} is a file, but predictions for {suffix} files are several files; give a directory"
        )


@dataclass(frozen=True, kw_only=True)
class InputFile:
    """An input file without labels, or whose labels are ignored."""

    path: Path
    read_inputs: ReadInputs
    """The examples of a table."""
    columns: Columns
    saved: SavedTask | None
    """The task of the model, for the columns that are not named."""
    file_format: FileFormat | None = None
    """The task type's format, if the file has no named columns."""

    @classmethod
    def of(cls, path: Path, task_type: TaskType, columns: Columns, *, model: Path) -> Self:
        """The file as a model of this task type reads it; ConfigError if that has no such format."""
        has_format = bool(types_with_format(path))
        if has_format and task_type not in types_with_format(path):
            raise ConfigError(
                f"{path}: a model for {task_type.name} cannot read {format_ending(path)} files; give a table"
            )
        return cls(
            path=path,
            read_inputs=task_type.reader.read_inputs,
            columns=columns,
            saved=SavedTask.stored(model),
            file_format=task_type.reader.file_format if has_format else None,
        )

    @property
    def write_directory(self) -> WriteDirectory | None:
        """Writes predictions where they are several files, as for SQuAD."""
        return None if self.file_format is None else self.file_format.write_directory

    def validate_output(self, output: Path) -> None:
        """Raise ConfigError for an output that cannot be written."""
        if self.write_directory is None:
            self.output_format(output)
        else:
            validate_output_directory(output, format_ending(self.path))

    def predict_into(
        self,
        output: Path,
        predict: Callable[[Sequence[Any]], WindowResults],
        *,
        result: type[Result],
        models: Sequence[Path],
        settings: Mapping[str, Any],
        precisions: Sequence[InferencePrecision],
        validate: Callable[[Sequence[Any]], None] = lambda examples: None,
    ) -> Written:
        """Write the predictions for the whole file; they depend on the content of `models` and on `settings`.

        `result` is the class of what is predicted; `precisions` are those of the models, which `settings` has too.

        The file is read once before the predictions, so that a row that is invalid, that the output cannot hold, or for
        which `validate` raises DataError, does not end the command after hours.
        """
        if self.write_directory is None:
            self.validate_rows(output, result, validate)
            return write_predictions(
                *(output, self.output_format(output), self.windows, predict),
                source=self.path,
                fingerprint=output_fingerprint(self.path, output, models, settings),
                precisions=precisions,
            )
        examples = [example for window in self.windows() for example in window.examples]
        predicted = predict(examples)
        self.write_directory(output, examples, predicted.results)
        return Written(len(predicted.results), dict(+predicted.counts))

    def validate_rows(
        self, output: Path, result: type[Result], validate: Callable[[Sequence[Any]], None] = lambda examples: None
    ) -> None:
        """Raise OutputError for rows that `output` cannot hold, and what `validate` raises, before any is predicted."""
        if self.write_directory is None:
            output_format = self.output_format(output)
            for window in self.windows():
                with _row_named(self.path, window):
                    validate(window.examples)
                output_format.validate(window.rows, result.columns)

    def windows(self, skip: int = 0) -> Iterator[Window]:
        """The rows after the first `skip`, in windows."""
        if self.file_format is not None:
            examples = islice(self.file_format.iter_inputs(self.path), skip, None)
            while part := tuple(islice(examples, ROWS_PER_WINDOW)):
                yield Window(part, part)
            return
        columns = None
        for table in self._tables(skip):
            columns = columns or resolve_columns(self.columns, self.saved, table)
            yield Window(table.rows, self.read_inputs(table, columns))

    def output_format(self, output: Path) -> OutputFormat:
        """How predictions are written to the file `output`; ConfigError if it has a wrong ending or is the input."""
        validate_not_input(output, self.path)
        if self.file_format is not None and self.file_format.output_format is not None:
            return self.file_format.output_format(self.path, output)
        return table_output(self.path, output, label=self.saved.label if self.saved else None)

    def _tables(self, skip: int) -> Iterator[Table]:
        if format_ending(self.path) != ".txt":
            yield from iter_tables(self.path, rows_per_table=ROWS_PER_WINDOW, skip_rows=skip)
            return
        name = self.columns.text or "text"
        rows = (Row(number, {name: line}) for number, line in enumerate(iter_lines(self.path), start=1))
        rows = islice(rows, skip, None)
        while part := tuple(islice(rows, ROWS_PER_WINDOW)):
            yield Table(self.path, (name,), part)
