"""The text of a quickstart: training and held-out documents, and labels that the text itself carries.

Before: the documentation on this machine, or the user's files. After: `quickstart`, which reads the files written here
like anybody's text. A document is held out whole, for pretraining and for the classifier alike.
"""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.commands.quickstart.python_docs import Page, python_pages
from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import find_files, read_documents
from litebert.errors import DataError
from litebert.files import atomic_directory, write_text
from litebert.randomness import rng_for

HELD_OUT_SHARE = 0.06
FEWEST_DOCUMENTS = 40
"""With fewer than this, documents are cut into blocks of neighbouring lines, so that some can be held out."""
PARTS_OF_ONE_FILE = 4
MOST_FAMILIES = 12
MOST_TRAIN_ROWS, MOST_DEV_ROWS = 50, 100
"""Labelled paragraphs a family: few, as for most who need a classifier, and alike for all, so that no class rules."""
FEWEST_WORDS = 8

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SplitText:
    """Documents to train on and documents that training never sees, and the families that both have."""

    train: list[Page]
    held_out: list[Page]
    families: list[str]


@dataclass(frozen=True)
class TextFiles:
    """Where the text of a quickstart lies."""

    directory: Path

    @property
    def train(self) -> Path:
        """Documents to train on, as JSON lines with `name` and `text`."""
        return self.directory / "train.jsonl"

    @property
    def held_out(self) -> Path:
        """Documents to evaluate on."""
        return self.directory / "held-out.jsonl"

    @property
    def labelled_train(self) -> Path:
        """Paragraphs of training documents with `label`."""
        return self.directory / "labelled-train.jsonl"

    @property
    def labelled_dev(self) -> Path:
        """Paragraphs of held-out documents with `label`."""
        return self.directory / "labelled-dev.jsonl"

    def write(self, text: SplitText, *, seed: int) -> None:
        """Write all four; which paragraphs are labelled is drawn by chance."""
        with atomic_directory(self.directory) as temporary:
            inside = TextFiles(temporary)
            for path, pages in ((inside.train, text.train), (inside.held_out, text.held_out)):
                _write(path, ({"name": page.name, "text": "\n".join(page.paragraphs)} for page in pages))
            _write(inside.labelled_train, _rows(text.train, text.families, most=MOST_TRAIN_ROWS, seed=seed))
            _write(inside.labelled_dev, _rows(text.held_out, text.families, most=MOST_DEV_ROWS, seed=seed))
        logger.info("text: %d documents to train on, %d held out", len(text.train), len(text.held_out))


def split_text(files: Sequence[str]) -> SplitText:
    """The documents of `files`, or without any the documentation on this machine, some of them held out.

    Raises DataError where there are too few to hold some out, or fewer than two families to tell apart.
    """
    pages = _pages_of_files(files) if files else list(python_pages())
    held_out = _held_out_names(pages, every_family=bool(files))
    train, kept = ([page for page in pages if (page.name in held_out) is part] for part in (False, True))
    return SplitText(train, kept, _families(train, kept))


def _pages_of_files(files: Sequence[str]) -> list[Page]:
    """The documents of the user's files; a document's family is the file it is in or, with one file, the part of it."""
    found = find_files(files)
    counts: Counter[str] = Counter()
    pages = [
        Page(document.name, path.name, document.sentences)
        for path in found
        for document in read_documents([path], CorpusSettings(), counts)
    ]
    if len(pages) < FEWEST_DOCUMENTS:
        pages = [block for page in pages for block in _blocks(page, lines=_lines_per_block(pages))]
    if len(found) == 1:
        pages = [
            Page(page.name, f"part {1 + PARTS_OF_ONE_FILE * place // len(pages)}", page.paragraphs)
            for place, page in enumerate(pages)
        ]
    return pages


def _lines_per_block(pages: Sequence[Page]) -> int:
    return max(1, sum(len(page.paragraphs) for page in pages) // (2 * FEWEST_DOCUMENTS))


def _blocks(page: Page, *, lines: int) -> list[Page]:
    """A document as several of `lines` paragraphs each."""
    starts = range(0, len(page.paragraphs), lines)
    return [Page(f"{page.name}+{start}", page.family, page.paragraphs[start : start + lines]) for start in starts]


def _held_out_names(pages: Sequence[Page], *, every_family: bool) -> set[str]:
    """The documents to hold out, by a hash of their text, so that none is chosen to suit.

    `every_family` holds one out of each family that has several with paragraphs to label, where chance holds out none.
    """
    names = {page.name for page in pages if _hash(page) < HELD_OUT_SHARE * 2**64}
    families: dict[str, list[Page]] = {}
    for page in pages:
        if every_family and _paragraphs(page):
            families.setdefault(page.family, []).append(page)
    for family in families.values():
        if len(family) > 1 and names.isdisjoint(page.name for page in family):
            names.add(min(family, key=_hash).name)
    return names


def _hash(page: Page) -> int:
    return int.from_bytes(hashlib.blake2b("\n".join(page.paragraphs).encode(), digest_size=8).digest(), "little")


def _families(train: Sequence[Page], held_out: Sequence[Page]) -> list[str]:
    """The families with most text, of those that are on both sides."""
    training: Counter[str] = Counter()
    for page in train:
        training[page.family] += len(_paragraphs(page))
    elsewhere = {page.family for page in held_out if _paragraphs(page)}
    common = [family for family, rows in training.most_common() if rows and family in elsewhere]
    if len(common) < 2:
        raise DataError(
            f"the text: {len(train) + len(held_out)} documents, of which {len(common)} sources have paragraphs of "
            f"{FEWEST_WORDS} words both to train on and to hold out, expected two or more; give more text or more files"
        )
    return sorted(common[:MOST_FAMILIES])


def _paragraphs(page: Page) -> list[str]:
    return [text for text in page.paragraphs if len(text.split()) >= FEWEST_WORDS]


def _rows(pages: Sequence[Page], families: Sequence[str], *, most: int, seed: int) -> list[dict[str, str]]:
    """At most `most` paragraphs of each family, drawn by chance."""
    rows = []
    for family in families:
        own = [
            {"text": text, "label": family, "document": page.name}
            for page in pages
            if page.family == family
            for text in _paragraphs(page)
        ]
        chosen = rng_for(seed, "quickstart rows", family).permutation(len(own))[:most]
        rows += [own[index] for index in sorted(chosen)]
    return rows


def _write(path: Path, rows: Iterable[dict[str, str]]) -> None:
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
