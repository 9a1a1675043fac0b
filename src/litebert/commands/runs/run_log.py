"""The log file of a run: what litebert logs during it, with date and time."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from logging.handlers import MemoryHandler
from pathlib import Path

from litebert.errors import LitebertError

_FORMAT = logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S")


class _LogFile(logging.FileHandler):
    """Appends records to a file, which is created with the first one."""

    def __init__(self, path: Path) -> None:
        # Names of files that are not UTF-8 have lone surrogates.
        super().__init__(path, encoding="utf-8", errors="backslashreplace", delay=True)
        self.setFormatter(_FORMAT)

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record; the base class raises where it cannot open the file."""
        try:
            super().emit(record)
        except OSError:
            self.handleError(record)

    def close(self) -> None:
        """Close the file, without what could not be written."""
        with suppress(OSError):
            super().close()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # the name is that of the base class
        """Leave the record out: a disk that is full is reported by the checkpoints and the metrics."""


class RunLog(MemoryHandler):
    """Keeps the records of a run in memory until `write_to` names its file, then writes each at once.

    A run that fails before has written nothing.
    """

    def __init__(self) -> None:
        super().__init__(capacity=0, flushOnClose=False)
        self._file: _LogFile | None = None

    def write_to(self, path: Path) -> None:
        """Append the records so far and all later ones to `path`."""
        self._file = _LogFile(path)
        self.setTarget(self._file)
        self.flush()

    def close(self) -> None:
        """Close the file."""
        super().close()
        if self._file:
            self._file.close()


@contextmanager
def run_log() -> Iterator[RunLog]:
    """A log of everything that litebert logs inside, and of the error that ends it."""
    logger, log = logging.getLogger("litebert"), RunLog()
    logger.addHandler(log)
    try:
        yield log
    except LitebertError as error:
        # To the file alone: the command prints it.
        log.handle(logger.makeRecord(logger.name, logging.ERROR, __file__, 0, str(error), (), None))
        raise
    finally:
        logger.removeHandler(log)
        log.close()
