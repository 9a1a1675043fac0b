"""The default text of the quickstart: Python's reference topics and the docstrings of installed libraries.

Files are parsed with `ast`, never imported or executed.
"""

import ast
import importlib.util
import inspect
import logging
import re
import sysconfig
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LIBRARIES = ("numpy", "torch")
SKIPPED_FOLDERS = frozenset({"site-packages", "test", "tests", "testing", "idle_test", "lib2to3", "__pycache__"})
MIN_WORDS = 5
MIN_LETTER_SHARE = 0.6

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
    return len(text.split()) >= MIN_WORDS and letters >= MIN_LETTER_SHARE * len(text)


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
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    nodes.sort(key=lambda node: getattr(node, "lineno", 0))
    return [text for text in (ast.get_docstring(node, clean=False) for node in nodes) if text]
