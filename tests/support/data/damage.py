"""Random damage of files: a flipped bit, a truncated file, a deleted file."""

import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


def flip_bit(path: Path, choice: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[choice.randrange(len(content))] ^= 1 << choice.randrange(8)
    path.write_bytes(content)


def truncate(path: Path, choice: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: choice.randrange(len(content))])


def delete(path: Path, choice: random.Random) -> None:
    path.unlink()


DAMAGES = [flip_bit, truncate, delete]


@contextmanager
def restored(path: Path) -> Iterator[None]:
    """Content and times of a file are set back at the end: checksums are kept by size and time."""
    content, status = path.read_bytes(), path.stat()
    try:
        yield
    finally:
        path.write_bytes(content)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def damaged_files(
    files: Sequence[Path], damage: Callable[[Path, random.Random], None], *, number: int
) -> Iterator[Path]:
    """`number` times one of the files, damaged; each is as before when the next one comes."""
    choice = random.Random(1)
    for _ in range(number):
        path = choice.choice(files)
        with restored(path):
            damage(path, choice)
            yield path
