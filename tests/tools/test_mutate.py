"""The mutation check of tools/mutate.py; the mutations themselves are not run here."""

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = """
def first(x):
    return x + 1 if x > 1 else 1


class Second:
    def third(self, x):
        self.fourth([0, 0], key=1)
        return x and self
"""
KEYS = [
    "a.py first `x + 1 if x > 1 else 1`: condition negated",
    "a.py first `x + 1`: Add → Sub",
    "a.py first `x + 1`: 1 → 2",
    "a.py first `x > 1`: Gt → GtE",
    "a.py first `x > 1`: 1 → 2",
    "a.py first `x + 1 if x > 1 else 1`: 1 → 2",
    "a.py Second.third `self.fourth([0, 0], key=1)`: statement deleted",
    "a.py Second.third `[0, 0]`: 0 → 1",
    "a.py Second.third `[0, 0]`: 0 → 1 (2)",
    "a.py Second.third `self.fourth([0, 0], key=1)`: 1 → 2",
    "a.py Second.third `x and self`: And → Or",
]


@pytest.fixture
def mutate(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    import mutate

    return mutate


@pytest.fixture
def write(mutate, tmp_path, monkeypatch):
    """Writes the source file that is mutated."""
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    (tmp_path / mutate.SOURCE).mkdir(parents=True)
    return (tmp_path / mutate.SOURCE / "a.py").write_text


def test_equivalent_mutations_are_mutations_of_the_source(mutate):
    """Another key would count an equivalent mutation as one that survived."""
    found = {mutation.key for file in mutate.TARGETS for mutation in mutate.mutations_of(file)}
    assert not set(mutate.EQUIVALENT) - found


def test_mutations_have_keys_of_their_own(mutate):
    counts = Counter(mutation.key for file in mutate.TARGETS for mutation in mutate.mutations_of(file))
    assert [key for key, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("before", ["", "# a comment\n\nX = Y\n", "def other():\n    pass\n"])
def test_keys_of_mutations_stay_when_lines_move(mutate, write, before):
    write(before + SOURCE)
    assert [mutation.key for mutation in mutate.mutations_of("a.py")] == KEYS


@pytest.mark.parametrize(
    ("key", "old", "new"),
    [
        (KEYS[2], "x + 1", "x + 2"),
        (KEYS[0], "if x > 1", "if not x > 1"),
        (KEYS[6], "self.fourth([0, 0], key=1)", "pass"),
        (KEYS[8], "[0, 0]", "[0, 1]"),
    ],
)
def test_mutated_source_differs_in_the_node_of_its_key(mutate, write, key, old, new):
    write(SOURCE)
    [mutation] = [each for each in mutate.mutations_of("a.py") if each.key == key]
    assert mutate.mutated(SOURCE, mutation.node) == ast.unparse(ast.parse(SOURCE.replace(old, new)))
