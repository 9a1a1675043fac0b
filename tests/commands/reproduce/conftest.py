"""Workers that start at once."""

import pytest

from support.programs.forks import forked_python


@pytest.fixture(scope="module", autouse=True)
def _forked_python():
    with forked_python():
        yield
