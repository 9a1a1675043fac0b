"""The passages of SQuAD and RACE as documents.

A corpus of their development sets is the intrinsic development set of the paper, which is in no pretraining corpus and
was not used to choose settings. Source: ALBERT section 4.1, "Intrinsic Evaluation".
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from litebert.corpus.readers.folders import files_below
from litebert.corpus.sources.writing import SourceReport, write_documents
from litebert.errors import ConfigError, DataError

Content = TypeVar("Content", bound=BaseModel)


class _Paragraph(BaseModel):
    context: str


class _Article(BaseModel):
    paragraphs: list[_Paragraph]


class _Squad(BaseModel):
    """a SQuAD file with data[].paragraphs[].context, such as train-v1.1.json"""

    data: list[_Article]


class _Race(BaseModel):
    """a RACE file with an article, as in RACE/dev/high"""

    article: str


def write_passages(squad: Sequence[Path], race: Sequence[Path], out: Path) -> SourceReport:
    """Write every different passage of SQuAD files and RACE directories once, as a document of its own."""
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
    for article in _parsed(path, _Squad).data:
        yield from (paragraph.context for paragraph in article.paragraphs)


def _race(path: Path) -> Iterator[str]:
    """Articles of a RACE directory such as `RACE/dev`, with all its levels; each file has one article."""
    files = sorted(file for file in files_below(path) if file.suffix == ".txt") if path.is_dir() else [path]
    if not files:
        raise DataError(f"{path}: no RACE files here; expected files ending in .txt, as in RACE/dev/high")
    yield from (_parsed(file, _Race).article for file in files)


def _parsed(path: Path, model: type[Content]) -> Content:
    try:
        return model.model_validate_json(path.read_bytes(), strict=True)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from None
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"])) or "the whole file"
        raise DataError(f"{path}: {where}: {problem['msg']}; expected {model.__doc__}; get a new copy") from None
