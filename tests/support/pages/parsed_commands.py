"""Commands that are parsed but not run."""

import functools
import importlib
from collections.abc import Sequence

import pytest

from litebert.cli.main import COMMANDS, main


def code_of_parsing(words: Sequence[str]) -> int:
    """The exit code of a command line, without `litebert`, whose function does nothing."""
    names = sorted(COMMANDS, key=len, reverse=True)
    command = next(name for name in names if list(words[: len(name.split())]) == name.split())
    module, _, name = COMMANDS[command][0].partition(":")
    owner = importlib.import_module(f"litebert.cli.{module}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, functools.wraps(getattr(owner, name))(lambda *_, **__: None))
        return main(words)
