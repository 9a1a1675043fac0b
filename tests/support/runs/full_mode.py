"""How often to try what is left to chance: quickly by default, to the figures of docs/reliability.md if asked.

LITEBERT_FULL_TESTS=1 pytest tests/training tests/distributed
"""

import os


def trials(quick: int, full: int) -> int:
    """`quick`, or `full` where the environment asks for it."""
    return full if os.environ.get("LITEBERT_FULL_TESTS") else quick
