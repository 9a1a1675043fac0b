"""Messages of errors in the terms of a Python caller: rows in memory and arguments by their names."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from litebert.errors import LitebertError
from litebert.tasks.readers.labelled_rows import SKIP_ADVICE

_WITH_VALUE: Final = re.compile(r"--(encoding|invalid-utf8) ([\w-]+)")
_OPTION: Final = re.compile(r"--(text-pair|text|label|options|task-type|dev|encoding)\b")


@contextmanager
def in_terms_of_python(places: Mapping[Path, str]) -> Iterator[None]:
    """Reword the errors inside; `places` are the files, or names of files, that stand for rows in memory."""
    try:
        yield
    except LitebertError as error:
        error.args = (_reworded(str(error), places),)
        raise


def _reworded(message: str, places: Mapping[Path, str]) -> str:
    for place, name in places.items():
        line = rf"(?<![\w./]){re.escape(str(place))}:(\d+)"
        if re.search(line, message):
            message = re.sub(line, rf"{name}: row \1 (counted from 1)", message).replace("(line", "(row")
        message = message.replace(str(place), name)
    message = message.replace(SKIP_ADVICE, '(unlabelled_rows="skip")')
    message = _WITH_VALUE.sub(lambda match: f'{_argument(match[1])}="{match[2]}"', message)
    return _OPTION.sub(lambda match: f"{_argument(match[1])}=", message)


def _argument(option: str) -> str:
    return option.replace("-", "_")
