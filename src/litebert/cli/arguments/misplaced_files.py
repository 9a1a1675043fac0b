"""Data files that were given without their option, such as `finetune reviews.csv`: what to write instead."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from litebert.cli.arguments.word_order import positional_and_options, unknown_options
from litebert.errors import ConfigError
from litebert.hub_datasets import is_dataset_name
from litebert.tasks.readers.tables import TABLE_ENDINGS
from litebert.tasks.readers.text_files import format_ending

_OPTIONS: Final = {
    "finetune": (0, ("--train", "--dev")),
    "sweep": (0, ("--train", "--dev")),
    "evaluate": (1, ("--data",)),
}
"""Command → how many positional words it has before settings that may be files, and the options for data files."""
_SETTINGS: Final = (".yaml", ".yml")


def validate_no_file_without_option(command: str, words: Sequence[str], function: Callable[..., Any]) -> None:
    """Raise ConfigError with the option to write if a positional word that `function` does not have is a data file."""
    # The word after an option that the command does not have may be its value: the parser names the option.
    if command not in _OPTIONS or {"-h", "--help", "--"} & {*words} or unknown_options(words, function):
        return
    first, known = _OPTIONS[command]
    positional, options = positional_and_options(words, function)
    given = {option.partition("=")[0] for option in options}
    free = [option for option in known if option not in given]
    for word in positional[first:]:
        if _is_data_file(word):
            advice = (
                f"did you mean {free[0]} {word}?" if free else f"{' and '.join(known)} are given already; remove it"
            )
            raise ConfigError(f"{word!r}: a data file without its option; {advice}")


def _is_data_file(word: str) -> bool:
    """Whether a word has the ending of a data file, or names a file that is no recipe."""
    path = Path(word)
    if "=" in word or path.suffix in ("", *_SETTINGS):
        return is_dataset_name(word)
    return format_ending(path) in (*TABLE_ENDINGS, ".json", ".conll") or path.is_file()
