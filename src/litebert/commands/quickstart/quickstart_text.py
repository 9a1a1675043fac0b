"""The text of a quickstart: training and validation documents, and labelled paragraphs from both.

The label of a paragraph is its source: a file, a part of a file, or a Python package. Whole documents are in the
validation split, for pretraining and for classification.
"""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.commands.quickstart.python_docs import Page, python_pages
from litebert.commands.run_directory import Inside
from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import find_files, read_documents
from litebert.errors import DataError
from litebert.files import atomic_directory, write_text
from litebert.randomness import rng_for

VALIDATION_SHARE = 0.06
MIN_DOCUMENTS = 40
"""Fewer documents are cut into blocks of consecutive lines, so that the validation split is not empty."""
PARTS_OF_ONE_FILE = 4
MAX_LABELS = 12
MAX_TRAIN_ROWS, MAX_DEV_ROWS = 50, 100
"""Labelled paragraphs per label: few, as in most small classification tasks, and balanced."""
MIN_WORDS = 8

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SplitText:
    """Training and validation documents, and the labels that both have."""

    train: list[Page]
    validation: list[Page]
    labels: list[str]


@dataclass(frozen=True)
class TextFiles:
    """The text files of a quickstart."""

    path: Path
    train = Inside("train.jsonl")
    """Training documents, as JSON lines with `name` and `text`."""
    validation = Inside("validation.jsonl")
    """Validation documents, in the same format."""
    labelled_train = Inside("labelled-train.jsonl")
    """Paragraphs of training documents with `label`."""
    labelled_dev = Inside("labelled-dev.jsonl")
    """Paragraphs of validation documents with `label`."""

    def write(self, text: SplitText, *, seed: int) -> None:
        """Write the four files; the labelled paragraphs are chosen at random."""
        with atomic_directory(self.path) as temporary:
            files = TextFiles(temporary)
            for path, pages in ((files.train, text.train), (files.validation, text.validation)):
                _write(path, ({"name": page.name, "text": "\n".join(page.paragraphs)} for page in pages))
            _write(files.labelled_train, _rows(text.train, text.labels, max_rows=MAX_TRAIN_ROWS, seed=seed))
            _write(files.labelled_dev, _rows(text.validation, text.labels, max_rows=MAX_DEV_ROWS, seed=seed))
        logger.info("text: %d training documents, %d validation documents", len(text.train), len(text.validation))


def split_text(files: Sequence[str]) -> SplitText:
    """Split the documents of `files`, or of the Python documentation without files, into training and validation.

    Raises:
        DataError: There are fewer than two labels with training and validation paragraphs.
    """
    pages = _pages_of_files(files) if files else list(python_pages())
    names = _validation_names(pages, every_label=bool(files))
    train, validation = ([page for page in pages if (page.name in names) is part] for part in (False, True))
    return SplitText(train, validation, _labels(train, validation))


def _pages_of_files(files: Sequence[str]) -> list[Page]:
    """The documents of files; the label of a document is its file or, with a single file, the part of the file."""
    found = find_files(files)
    counts: Counter[str] = Counter()
    pages = [
        Page(document.name, path.name, document.sentences)
        for path in found
        for document in read_documents([path], CorpusSettings(), counts)
    ]
    if len(pages) < MIN_DOCUMENTS:
        lines = max(1, sum(len(page.paragraphs) for page in pages) // (2 * MIN_DOCUMENTS))
        pages = [block for page in pages for block in _blocks(page, lines=lines)]
    if len(found) == 1:
        pages = [
            Page(page.name, f"part {1 + PARTS_OF_ONE_FILE * index // len(pages)}", page.paragraphs)
            for index, page in enumerate(pages)
        ]
    return pages


def _blocks(page: Page, *, lines: int) -> list[Page]:
    """A document, cut into documents of `lines` paragraphs."""
    starts = range(0, len(page.paragraphs), lines)
    return [Page(f"{page.name}+{start}", page.label, page.paragraphs[start : start + lines]) for start in starts]


def _validation_names(pages: Sequence[Page], *, every_label: bool) -> set[str]:
    """The validation documents, chosen by a hash of their text.

    `every_label` adds one document of each label that has several suitable documents but none in the validation split.
    """
    names = {page.name for page in pages if _hash(page) < VALIDATION_SHARE * 2**64}
    by_label: dict[str, list[Page]] = {}
    for page in pages:
        if every_label and _paragraphs(page):
            by_label.setdefault(page.label, []).append(page)
    for candidates in by_label.values():
        if len(candidates) > 1 and names.isdisjoint(page.name for page in candidates):
            names.add(min(candidates, key=_hash).name)
    return names


def _hash(page: Page) -> int:
    return int.from_bytes(hashlib.blake2b("\n".join(page.paragraphs).encode(), digest_size=8).digest(), "little")


def _labels(train: Sequence[Page], validation: Sequence[Page]) -> list[str]:
    """The labels with the most training paragraphs, among those that also have validation paragraphs."""
    train_rows: Counter[str] = Counter()
    for page in train:
        train_rows[page.label] += len(_paragraphs(page))
    validation_labels = {page.label for page in validation if _paragraphs(page)}
    common = [label for label, rows in train_rows.most_common() if rows and label in validation_labels]
    if len(common) < 2:
        raise DataError(
            f"text: {len(common)} labels have training and validation paragraphs of {MIN_WORDS} words or more "
            f"({len(train) + len(validation)} documents), expected two or more; give more text or more files"
        )
    return sorted(common[:MAX_LABELS])


def _paragraphs(page: Page) -> list[str]:
    return [text for text in page.paragraphs if len(text.split()) >= MIN_WORDS]


def _rows(pages: Sequence[Page], labels: Sequence[str], *, max_rows: int, seed: int) -> list[dict[str, str]]:
    """At most `max_rows` random paragraphs of each label."""
    rows = []
    for label in labels:
        candidates = [
            {"text": text, "label": label, "document": page.name}
            for page in pages
            if page.label == label
            for text in _paragraphs(page)
        ]
        chosen = rng_for(seed, "quickstart rows", label).permutation(len(candidates))[:max_rows]
        rows += [candidates[index] for index in sorted(chosen)]
    return rows


def _write(path: Path, rows: Iterable[dict[str, str]]) -> None:
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
