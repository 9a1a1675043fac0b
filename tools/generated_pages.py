"""Files that tools write from the code: written where they differ, or only compared."""

from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def write_or_check(
    pages: Mapping[Path, str], *, check: bool, root: Path = ROOT, command: str = "make reference"
) -> int:
    """Write the pages that differ and print their paths; with `check` only name `command`, which writes them.

    The exit code.
    """
    stale = [path for path, content in pages.items() if not path.exists() or path.read_text("utf-8") != content]
    for path in stale:
        if not check:
            path.write_text(pages[path], encoding="utf-8")
        print(f"{path.relative_to(root)}{f': run `{command}`' if check else ''}")
    return int(check and bool(stale))
