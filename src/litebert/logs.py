"""Logging to stderr, set up by the command line, and durations as text for log lines.

Other modules only call `logging.getLogger(__name__)`.
"""

import logging
import os
import sys
from typing import Final

from litebert.errors import ConfigError, suggestion

LEVELS = ("debug", "info", "warning", "error")
_YEAR: Final = 365 * 86_400


def log_to_stderr(level: str | None = None) -> None:
    """Write litebert's log records to stderr: in colour on a terminal, as plain lines elsewhere.

    Without `level` it is that of the environment variable LITEBERT_LOG, by default `info`.
    """
    level = level or os.environ.get("LITEBERT_LOG", "info")
    if level.lower() not in LEVELS:
        raise ConfigError(f"LITEBERT_LOG={level}: no such log level; {suggestion(level.lower(), LEVELS)}")
    logger = logging.getLogger("litebert")
    logger.handlers.clear()
    logger.addHandler(_handler())
    logger.setLevel(level.upper())
    logger.propagate = False


def _handler() -> logging.Handler:
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.logging import RichHandler

        return RichHandler(console=Console(stderr=True), show_path=False, log_time_format="%H:%M:%S")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    return handler


def readable_seconds(seconds: float) -> str:
    """The two largest units of a duration: `12.5 s`, `3 min 5 s`, `5 h 3 min`, `2 d 4 h`; or years, `1,200 years`."""
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    if seconds >= _YEAR:
        return f"{seconds / _YEAR:,.1f} years" if seconds < 10 * _YEAR else f"{seconds / _YEAR:,.0f} years"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    amounts = {"d": days, "h": hours, "min": minutes, "s": rest}
    present = [unit for unit in amounts if amounts[unit]]
    first = list(amounts).index(present[0])
    return " ".join(f"{amount} {unit}" for unit, amount in list(amounts.items())[first : first + 2] if amount)
