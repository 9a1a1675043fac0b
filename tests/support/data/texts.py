"""Text files that tests write: simple prose by a small grammar, in documents."""

from pathlib import Path

from litebert.randomness import rng_for

SUBJECTS = ("the baker", "an old sailor", "her sister", "the teacher", "a small dog", "the gardener")
VERBS = ("carries", "finds", "paints", "remembers", "sells", "watches")
OBJECTS = ("the bread", "a red boat", "the letter", "an apple", "the garden", "a long song")
TIMES = ("in the morning", "at night", "before dinner", "after the rain", "on sundays")


def sentences(count: int, *, seed: int) -> list[str]:
    """Sentences that a small model can learn something about."""
    rng = rng_for(seed, "test sentences")
    parts = (SUBJECTS, VERBS, OBJECTS, TIMES)
    return [" ".join(str(rng.choice(part)) for part in parts).capitalize() + "." for _ in range(count)]


def write_documents(path: Path, *, documents: int, seed: int = 0, lines: int = 8) -> Path:
    """A text file: a sentence a line, an empty line between documents."""
    blocks = ["\n".join(sentences(lines, seed=1000 * seed + number)) for number in range(documents)]
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    return path
