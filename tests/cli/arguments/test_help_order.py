"""The order of the options in the help."""

import re

import pytest

from litebert.cli.main import main

SHARED = ["precision", "device", "threads"]
"""What the commands that predict have in common."""


@pytest.mark.parametrize(
    ("command", "first"),
    [("evaluate", "data"), ("predict", "text"), ("embed", "text"), ("glue-submission", "task-dir")],
)
def test_own_options_of_a_command_come_before_those_that_it_shares(capsys, command, first):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    options = [each for each in re.findall(r"^. --([a-z-]+)", capsys.readouterr().out, re.MULTILINE) if each != "json"]
    assert options[0] == first
    assert [each for each in options if each in SHARED] == SHARED
