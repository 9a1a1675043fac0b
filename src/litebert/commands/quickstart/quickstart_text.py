"""The text of a quickstart: training and validation documents, and labelled paragraphs from both.

The label of a paragraph is its source: a file, a part of a file, or a Python package. Whole documents are in the
validation split, for pretraining and for classification. The default text is Python's reference topics and the
docstrings of installed libraries, whose files are parsed with `ast`, never imported or executed.
"""

import ast
import hashlib
import importlib.util
import inspect
import json
import logging
import re
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.commands.runs.run_directory import Inside
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import find_files, read_documents
from litebert.errors import DataError
from litebert.files import distinct_names, write_text
from litebert.manifest import atomic_directory
from litebert.randomness import rng_for

LIBRARIES = ("numpy", "torch")
SKIPPED_FOLDERS = frozenset({"site-packages", "test", "tests", "testing", "idle_test", "lib2to3", "__pycache__"})
MIN_PROSE_WORDS = 5
MIN_LETTER_SHARE = 0.6

VALIDATION_SHARE = 0.06
MIN_DOCUMENTS = 40
"""Fewer documents are cut into blocks of consecutive lines, so that the validation split is not empty."""
PARTS_OF_ONE_FILE = 4
MAX_LABELS = 12
MAX_TRAIN_ROWS, MAX_DEV_ROWS = 50, 100
"""Labelled paragraphs per label: few, as in most small classification tasks, and balanced."""
MIN_WORDS = 8
STATEMENT_LISTS = ("body", "handlers", "orelse", "finalbody", "cases")
"""The attributes of nodes of a syntax tree that hold statements, or parts of a statement that hold them."""
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Page:
    """The prose of one source file or topic: its name, its package (the label) and its paragraphs in order."""

    name: str
    label: str
    paragraphs: tuple[str, ...]


def python_pages() -> Iterator[Page]:
    """Every page, in an order that depends on file names only; repeated paragraphs are left out.

    Libraries copy docstrings from function to function, and a validation page that repeats a training page would make
    the scores too high.
    """
    seen: set[str] = set()
    for name, label, docstrings in _raw_pages():
        paragraphs = [text for docstring in docstrings for text in prose_paragraphs(docstring)]
        fresh = tuple(text for text in dict.fromkeys(paragraphs) if text not in seen)
        seen.update(fresh)
        if fresh:
            yield Page(name, label, fresh)


def prose_paragraphs(docstring: str) -> list[str]:
    """The paragraphs of a docstring that are prose: no doctests, rulers or tables; with normalised white space."""
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(docstring))
    paragraphs = (" ".join(_prose_lines(block)) for block in blocks)
    return [text for text in (re.sub(r"\s+", " ", text).strip() for text in paragraphs) if _is_prose(text)]


def _prose_lines(block: str) -> Iterator[str]:
    for line in block.splitlines():
        text = line.strip()
        if text.startswith(">>>"):
            return  # A doctest: the rest of the block is code and its output.
        if text and not re.fullmatch(r"[-=~*^#+.|\s]+", text):
            yield text


def _is_prose(text: str) -> bool:
    letters = sum(character.isalpha() or character.isspace() for character in text)
    return len(text.split()) >= MIN_PROSE_WORDS and letters >= MIN_LETTER_SHARE * len(text)


def _raw_pages() -> Iterator[tuple[str, str, list[str]]]:
    standard_library = Path(sysconfig.get_paths()["stdlib"])
    for topic, text in _topics(standard_library / "pydoc_data" / "topics.py").items():
        yield f"topics/{topic}", "python reference", [text]
    roots = [("python", standard_library), *((name, _package_folder(name)) for name in LIBRARIES)]
    for library, root in roots:
        for path in sorted(root.rglob("*.py")):
            relative = path.relative_to(root).with_suffix("")
            if SKIPPED_FOLDERS.isdisjoint(path.relative_to(root).parts):
                # `torch/nn/modules/linear`: `torch.nn`; a module of the standard library is a label of its own.
                first = relative.parts[0].removeprefix("_") or relative.parts[0]
                yield f"{library}/{relative.as_posix()}", f"{library}.{first}", _docstrings(path)


def _topics(path: Path) -> dict[str, str]:
    """The reference topics, a dictionary literal in a generated file; empty if Python was installed without it."""
    if not path.exists():
        logger.warning("%s: missing; the text will not have Python's reference topics", path)
        return {}
    tree = ast.parse(path.read_bytes())
    literals = [node.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)]
    return {name: text for literal in literals for name, text in ast.literal_eval(literal).items()}


def _package_folder(name: str) -> Path:
    """Folder of an installed package, found without an import."""
    spec = importlib.util.find_spec(name)
    assert spec is not None, f"{name} is a dependency of litebert"
    assert spec.submodule_search_locations, f"{name} is a package"
    return Path(spec.submodule_search_locations[0])


def _docstrings(path: Path) -> list[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # invalid escape sequences in other people's code
            warnings.simplefilter("ignore", DeprecationWarning)
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        logger.info("%s: cannot be parsed by this version of Python; skipped", path)
        return []
    nodes = [tree, *sorted(_definitions(tree), key=lambda node: node.lineno)]
    return [text for text in (ast.get_docstring(node, clean=False) for node in nodes) if text]


def _definitions(tree: ast.Module) -> Iterator[Definition]:
    """All classes and functions; expressions, which are most of the nodes and hold none, are not visited."""
    waiting: list[ast.AST] = [tree]
    while waiting:  # not recursive: a chain of a thousand `elif` is nested as deeply
        node = waiting.pop()
        if isinstance(node, Definition):
            yield node
        waiting += [child for part in STATEMENT_LISTS for child in getattr(node, part, ())]


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
        Page(document.name, label, document.sentences)
        for path, label in zip(found, distinct_names(found), strict=True)
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
