"""The errors that a user can cause; the command line prints them as one paragraph and returns their exit code.

A message says where, what was found, what was expected and what to do.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Any


class LitebertError(Exception):
    """Base of all errors with a message for the user instead of a traceback."""

    exit_code = 1
    on_every_rank = False
    """Whether each process of a run raises it; then only the first one prints it."""

    def __reduce__(self) -> tuple[Any, ...]:
        """For other processes; by default the constructor would be called with the message alone."""
        return _unpickled, (type(self), str(self), self.__dict__)


def _unpickled(kind: type[LitebertError], message: str, attributes: dict[str, Any]) -> LitebertError:
    error = kind.__new__(kind, message)
    error.__dict__.update(attributes)
    return error


class ConfigError(LitebertError, ValueError):
    """A wrong setting or argument, or a combination of them that is not possible."""

    exit_code = 2


class DataError(LitebertError, ValueError):
    """A text, labelled file, tokenizer or corpus that is missing, damaged or has the wrong format."""

    exit_code = 3


class CheckpointError(LitebertError, RuntimeError):
    """A checkpoint, run directory or model directory that is missing, damaged or does not match."""

    exit_code = 4


class NotFiniteError(CheckpointError):
    """A model whose outputs are infinite or NaN."""

    def __init__(self, place: object) -> None:
        super().__init__(f"{place}: scores that are not finite; its weights have diverged, or need another --precision")


class StoppedBySignalError(LitebertError):
    """A run that saved its state and ended because of a signal; the exit code is 128 + `signal_number`."""

    on_every_rank = True

    def __init__(self, message: str, *, signal_number: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal_number


class DivergedError(LitebertError):
    """A training run whose loss or gradient was not finite, or a spike, at too many steps in a row."""

    on_every_rank = True


class MissingExtraError(LitebertError, ImportError):
    """An optional dependency that is not installed."""

    exit_code = 2

    def __init__(self, package: str, *, extra: str, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the package {package!r}; install it with: pip install 'litebert[{extra}]'"
        )


def import_extra(module: str, *, extra: str, needed_for: str, package: str | None = None) -> Any:
    """A module of an optional `package`, by default of its own name; MissingExtraError if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        package = package or module.partition(".")[0]
        raise MissingExtraError(package, extra=extra, needed_for=needed_for) from None


def suggestion(name: str, known: Iterable[str]) -> str:
    """`did you mean 'tiny'?` for the similar names among `known`, else `expected one of …`."""
    names = list(known)
    similar = similar_names(name, names)
    return f"did you mean {' or '.join(map(repr, similar))}?" if similar else f"expected one of {', '.join(names)}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'tiny'?)` for the similar names among `known`, else nothing."""
    similar = similar_names(name, known)
    return f" (did you mean {' or '.join(map(repr, similar))}?)" if similar else ""


def similar_names(name: str, known: Iterable[str]) -> list[str]:
    """At most three of the `known` names: those with the initials `name` (`lr`: `learning_rate`), or that begin with
    it, or that contain it as a word, or else the one that is spelt most alike.
    """
    names = list(known)
    words = {each: each.split("_") for each in names}
    initials = [each for each in names if "".join(word[:1] for word in words[each]) == name]
    beginning = [each for each in names if name and each.startswith(name)]
    containing = [each for each in names if name in words[each]]
    return initials or beginning[:3] or containing[:3] or get_close_matches(name, names, n=1)
