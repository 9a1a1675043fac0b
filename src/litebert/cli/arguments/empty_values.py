"""Empty words of the command line, such as `--model "$MODEL"` with an unset variable: refused."""

from collections.abc import Sequence

from litebert.settings import validate_not_empty


def validate_no_empty_value(words: Sequence[str]) -> None:
    """Raise ConfigError if a word, or the value of an option, is empty; an empty path would be the working directory.

    Those of settings, `name=`, are refused where they are read.
    """
    for number, word in enumerate(words, start=1):
        option, equals, value = word.partition("=")
        if not word:
            before = words[number - 2] if number > 1 else ""
            option = before if before.startswith("--") else f"argument {number}"
            validate_not_empty(option, word, otherwise="leave it out")
        elif option.startswith("--") and equals:
            validate_not_empty(option, value, otherwise="leave it out")
