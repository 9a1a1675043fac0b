"""Predictions written window by window, in bounded memory and resumable.

Beside the output lie `.NAME.partial`, the predictions so far, and `.NAME.state.json`, which says how far they are and
what they depend on. A command that was killed continues there if nothing of that has changed.
"""

import hashlib
import json
import logging
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from litebert.errors import DataError, StoppedBySignalError
from litebert.files import MANIFEST, fsync, sha256, translate_os_errors, write_json
from litebert.tasks.output_formats import OutputFormat
from litebert.tasks.results import Result

logger = logging.getLogger(__name__)

ROWS_PER_WINDOW: Final = 4096
"""Rows that are in memory at once; a prediction does not depend on where a command was stopped."""


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive rows of an input file."""

    rows: Sequence[Any]
    """As the output format takes them."""
    examples: Sequence[Any]
    """As the model takes them."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was written."""

    rows: int
    counts: dict[str, int]
    """The summed `Result.counts`."""


def write_predictions(
    output: Path,
    output_format: OutputFormat,
    windows: Callable[[int], Iterator[Window]],
    predict: Callable[[Sequence[Any]], Sequence[Result]],
    *,
    fingerprint: str,
) -> Written:
    """Write the predictions for all windows to `output`, which is complete or absent.

    `windows` gives those after a number of rows; `fingerprint` changes with everything the predictions depend on.
    """
    partial, state_file = (output.with_name(f".{output.name}.{ending}") for ending in ("partial", "state.json"))
    state = _read_state(state_file, partial, fingerprint)
    if state:
        output_format.state.update(state["format"])
        logger.info("%s: resuming after %d rows", output, state["rows"])
    rows, counts = (state["rows"], Counter(state["counts"])) if state else (0, Counter[str]())
    with translate_os_errors(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial.open("r+b" if state else "wb") as file:
                file.seek(state["bytes"] if state else 0)
                file.truncate()
                for window in windows(rows):
                    results = predict(window.examples)
                    content = output_format.render(window.rows, results)
                    file.write(content.encode() if isinstance(content, str) else content)
                    rows += len(results)
                    for result in results:
                        counts.update(result.counts)
                    state = {"fingerprint": fingerprint, "rows": rows, "counts": dict(counts)}
                    _save_state(state_file, file, {**state, "format": output_format.state})
                file.write(output_format.finish().encode())
                _fsync(file)
        except KeyboardInterrupt:
            raise StoppedBySignalError(
                f"{output}: stopped after {rows:,} rows; the same command continues there", signal_number=signal.SIGINT
            ) from None
        except DataError:  # a corrected input is another input
            partial.unlink(missing_ok=True)
            state_file.unlink(missing_ok=True)
            raise
        partial.replace(output)
        fsync(output.parent)
        state_file.unlink(missing_ok=True)
    return Written(rows, dict(counts))


def fingerprint_of(inputs: Sequence[Path], models: Sequence[Path], settings: Mapping[str, Any]) -> str:
    """Digest of the content of input files and model directories and of the settings."""
    parts: list[Any] = [sha256(path) for path in inputs]
    for model in models:
        manifest = model / MANIFEST
        files = [manifest] if manifest.is_file() else sorted(path for path in model.rglob("*") if path.is_file())
        parts += [(path.name, sha256(path)) for path in files]
    text = json.dumps([parts, dict(settings)], default=str, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _read_state(state_file: Path, partial: Path, fingerprint: str) -> dict[str, Any] | None:
    """The state of an interrupted command; None if there is none that continues with `fingerprint`."""
    if not state_file.exists() or not partial.exists():
        return None
    try:
        state = json.loads(state_file.read_bytes())
    except ValueError:
        return None
    if state.get("fingerprint") != fingerprint or partial.stat().st_size < state["bytes"]:
        logger.warning(
            "%s: the %d predictions of an interrupted command are discarded, because input, model or settings are "
            "others now",
            *(partial, state["rows"]),
        )
        return None
    return state


def _save_state(path: Path, file: Any, state: dict[str, Any]) -> None:
    """Write the state after everything it describes is on disk."""
    _fsync(file)
    write_json(path, {**state, "bytes": file.tell()})


def _fsync(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())
