"""The mutation check of tools/mutate.py; the mutations themselves are not run here."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_equivalent_mutations_are_mutations_of_the_source(monkeypatch):
    """A key whose line has moved would count an equivalent mutation as one that survived."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    import mutate

    found = {
        f"{file}:{node.lineno}:{node.col_offset} {description}"
        for file in mutate.TARGETS
        for node in ast.walk(ast.parse((ROOT / mutate.SOURCE / file).read_text(encoding="utf-8")))
        if isinstance(node, ast.expr | ast.stmt)
        for description, _ in mutate._changes(node)
    }
    assert set(mutate.EQUIVALENT) <= found
