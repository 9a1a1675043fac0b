"""The passages of SQuAD and RACE as documents.

A corpus of their development sets is the intrinsic development set of the paper, which is in no pretraining corpus and
was not used to choose settings. Source: ALBERT section 4.1, "Intrinsic Evaluation".
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from litebert.corpus.sources.writing import SourceReport, validate_output, write_documents
from litebert.errors import ConfigError, DataError


def write_passages(squad: Sequence[Path], race: Sequence[Path], out: Path) -> SourceReport:
    """Write every different passage of SQuAD files and RACE directories once, as a document of its own."""
    validate_output(out)
    if not squad and not race:
        raise ConfigError("reading-comprehension: no input; give --squad files, --race directories, or both")
    counts: Counter[str] = Counter()
    return write_documents(_documents(squad, race, counts), out, counts)


def _documents(squad: Sequence[Path], race: Sequence[Path], counts: Counter[str]) -> Iterator[str | None]:
    seen: set[bytes] = set()
    for name, passages in (("SQuAD", map(_squad, squad)), ("RACE", map(_race, race))):
        for passage in (passage for source in passages for passage in source):
            counts[f"{name} passages"] += 1
            digest = hashlib.blake2b(" ".join(passage.split()).encode("utf-8", "replace"), digest_size=16).digest()
            if digest in seen:
                counts["duplicate passages"] += 1
                continue
            if not passage.strip():
                counts["passages without text"] += 1
                continue
            seen.add(digest)
            yield from passage.splitlines()
            yield None


def _squad(path: Path) -> Iterator[str]:
    """Contexts of a SQuAD file of version 1.1 or 2.0."""
    content = _json(path, _read(path))
    try:
        for number, article in enumerate(content["data"]):
            for index, paragraph in enumerate(article["paragraphs"]):
                yield _text(paragraph["context"], where=f"{path}: data[{number}].paragraphs[{index}].context")
    except (KeyError, TypeError):
        raise DataError(
            f"{path}: not a SQuAD file: expected data[].paragraphs[].context; give a file such as train-v1.1.json"
        ) from None


def _race(path: Path) -> Iterator[str]:
    """Articles of a RACE directory such as `RACE/dev`, with all its levels; each file has one article."""
    files = sorted(path.rglob("*.txt")) if path.is_dir() else [path]
    if not files:
        raise DataError(f"{path}: no RACE files here; expected files ending in .txt, as in RACE/dev/high")
    for file in files:
        row = _json(file, _read(file))
        if not isinstance(row, dict) or "article" not in row:
            raise DataError(f"{file}: not a RACE file: expected a JSON object with an article; give RACE/dev")
        yield _text(row["article"], where=f"{file}: article")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from None


def _json(path: Path, content: bytes) -> Any:
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}: not JSON ({error.msg}); get a new copy") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start + 1} is not UTF-8; get a new copy") from None


def _text(value: Any, *, where: str) -> str:
    if not isinstance(value, str):
        raise DataError(f"{where}: expected text, found {type(value).__name__}; get a new copy")
    return value
