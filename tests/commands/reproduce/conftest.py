"""Workers that start at once."""

import pytest

from support.forks import forked_workers


@pytest.fixture(scope="module", autouse=True)
def _forked_workers():
    with forked_workers():
        yield
