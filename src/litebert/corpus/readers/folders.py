"""The files of a directory of text."""

import os
from collections.abc import Iterator
from pathlib import Path

from litebert.errors import DataError


def _refuse(error: OSError) -> None:
    raise DataError(f"{error.filename}: cannot be read ({error.strerror}); change its permissions or name other files")


def files_below(directory: Path) -> Iterator[Path]:
    """The files below a directory that are not hidden, also behind links to directories, each directory once.

    A directory that is there itself and behind a link is met where it is itself. DataError for one that cannot be read.
    """
    met, links = set[Path](), [directory]
    while links:
        for folder, folders, files in os.walk(links.pop(0), onerror=_refuse):
            if (real := Path(folder).resolve()) in met:
                folders.clear()
                continue
            met.add(real)
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            links += [Path(folder, name) for name in folders if Path(folder, name).is_symlink()]
            visible = (Path(folder, name) for name in files if not name.startswith("."))
            yield from filter(Path.is_file, visible)
