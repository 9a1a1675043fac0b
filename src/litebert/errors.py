"""The errors a user can cause. Floor 0: every room raises these, `cli` turns them into one paragraph and an exit code.

A message says where, what was found, what was expected and what to do.
"""


class LitebertError(Exception):
    """Any failure that is explained to the user in a sentence instead of a traceback."""

    exit_code = 1


class ConfigError(LitebertError, ValueError):
    """A setting, an argument or a combination of them that cannot be."""

    exit_code = 2


class DataError(LitebertError, ValueError):
    """A text, a labelled file, a tokenizer or a corpus that cannot be read as what it should be."""

    exit_code = 3


class CheckpointError(LitebertError, RuntimeError):
    """A checkpoint, run directory or model directory that is missing, damaged or does not fit."""

    exit_code = 4


class StoppedBySignalError(LitebertError):
    """A run that saved its state and left because a signal asked it to; `signal_number` decides the exit code."""

    def __init__(self, message: str, *, signal_number: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal_number


class DivergedError(LitebertError):
    """A training run whose loss or gradient was not finite, or a spike, at too many steps in a row."""


class MissingExtraError(LitebertError, ImportError):
    """An optional dependency that is not installed."""

    exit_code = 2

    def __init__(self, package: str, *, extra: str, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the package {package!r}; install it with: pip install 'litebert[{extra}]'"
        )
