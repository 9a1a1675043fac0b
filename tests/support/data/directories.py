"""What a directory holds, for tests that compare directories."""

import hashlib
from pathlib import Path


def content(directory: Path) -> dict[str, str]:
    """Path → SHA-256 of every file below a directory."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
