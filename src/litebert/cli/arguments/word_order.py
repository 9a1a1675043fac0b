"""Words of the command line: in the order that the parser reads, and options that a command does not have."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args, get_origin, get_type_hints

from litebert.cli.arguments.common import Overrides
from litebert.settings import Settings


def positional_first(words: Sequence[str], function: Callable[..., Any]) -> list[str]:
    """The arguments of the command `function`; where it has settings, all positional words come first.

    tyro takes positional words from one place of the line only, while users add settings to its end. After an option
    its value follows: no word after a flag, all up to the next option after one that takes several, else one.
    """
    if not _takes_settings(function) or "--" in words:
        return list(words)
    positional, options = positional_and_options(words, function)
    return [*positional, *options]


def _takes_settings(function: Callable[..., Any]) -> bool:
    hints = get_type_hints(function, include_extras=True).values()
    classes = (get_args(each)[0] for each in hints if hasattr(each, "__metadata__"))
    return Overrides in hints or any("settings" in getattr(each, "model_fields", ()) for each in classes)


def positional_and_options(words: Sequence[str], function: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """The positional words, and the options of the command `function` with their values."""
    takes = dict(_values_by_option(get_type_hints(function, include_extras=True)))
    positional: list[str] = []
    options: list[str] = []
    values = 0.0
    for word in words:
        if word.startswith("--"):
            name, equals, _ = word.partition("=")
            values = 0.0 if equals else takes.get(name.replace("_", "-"), 0.0)
            options.append(word)
        elif values:
            values -= 1
            options.append(word)
        else:
            positional.append(word)
    return positional, options


def unknown_options(words: Sequence[str], function: Callable[..., Any]) -> dict[str, list[str]]:
    """The options that the command `function` does not have, each with the words after it that may be its value."""
    known = dict(_values_by_option(get_type_hints(function, include_extras=True)))
    unknown: dict[str, list[str]] = {}
    values: list[str] = []
    for word in words[: words.index("--")] if "--" in words else words:
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            values = [value] if equals else []
            if name.replace("_", "-") not in known:
                unknown[name] = values
        elif "=" not in word:
            values.append(word)
    return unknown


def _values_by_option(fields: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Each option and how many words it takes at most; those of settings classes among the `fields` too."""
    for name, annotation in fields.items():
        kind = get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
        if isinstance(kind, type) and issubclass(kind, Settings):
            yield from _values_by_option({field: info.annotation for field, info in kind.model_fields.items()})
        else:
            several = any(get_origin(each) is tuple for each in (kind, *get_args(kind)))
            yield f"--{name.replace('_', '-')}", 0 if kind is bool else float("inf") if several else 1
