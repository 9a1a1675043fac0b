"""Predictions written window by window, in bounded memory and resumable.

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
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, get_args

from litebert.commands.fingerprint import fingerprint_of
from litebert.commands.model_arguments import ModelArguments
from litebert.errors import ConfigError, DataError, StoppedBySignalError
from litebert.files import fsync, locked, translate_os_errors, write_json
from litebert.settings import InferencePrecision
from litebert.tasks.encoded import NoTokensError
from litebert.tasks.output_formats import OutputError, OutputFormat
from litebert.tasks.results import DecodedPrediction

R = TypeVar("R", bound=ModelArguments)
"""Settings of a command."""
logger = logging.getLogger(__name__)


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

    results: Sequence[DecodedPrediction]
    text_counts: Mapping[str, int] = field(default_factory=dict)
    """How many rows are truncated or empty (`Encoded.text_counts`)."""

    @property
    def counts(self) -> Counter[str]:
        """The summed `DecodedPrediction.counts`, and `text_counts`."""
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
                    with row_named(source, window):
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
    return fingerprint_of({**settings, "output": output.name}, inputs=[source], models=models)


def _partial_files(output: Path) -> tuple[Path, Path]:
    """The predictions so far, and their state."""
    return output.with_name(f".{output.name}.partial"), output.with_name(f".{output.name}.state.json")


@contextmanager
def row_named(source: Path, window: Window) -> Iterator[None]:
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
            partial,
            state["rows"],
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


def _save_state(path: Path, file: BinaryIO, state: dict[str, Any]) -> None:
    """Write the state after everything it describes is on disk."""
    _fsync(file)
    write_json(path, {**state, "bytes": file.tell()})


def _fsync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
