"""The layout: small files, short directories, distinct file names, short test names. Each test lists offenders."""

import ast
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE, TESTS = ROOT / "src" / "litebert", ROOT / "tests"
SCRIPTS = sorted(path for place in ("benchmarks", "tools") for path in (ROOT / place).rglob("*.py"))
MODULES = sorted(SOURCE.rglob("*.py"))
MAX_LINES, MAX_MODULES, MAX_TEST_NAME = 350, 15, 88
SAME_NAME_ALLOWED = {
    "__init__.py": "every package has one",
    "curves.py": "the reader of metrics.jsonl in analysis/, and the command `analyze curves`",
    "tokenizer.py": "the class in tokenization/, and the command `tokenizer`",
}
MIRRORED = ("cli",)
"""Packages whose modules have the names of the command modules that they call."""
FAMILIES = ("tasks/types",)
"""Directories whose packages all have the same parts, so that the package tells one from another."""


def test_files_stay_small():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (*MODULES, *SCRIPTS)}
    offenders = [f"{path.relative_to(ROOT)}: {length} lines" for path, length in lengths.items() if length > MAX_LINES]
    assert not offenders, "split these files:\n" + "\n".join(offenders)


def test_directories_hold_at_most_15_modules():
    counts = Counter(
        path.parent
        for path in (*MODULES, *TESTS.rglob("*.py"), *SCRIPTS)
        if path.name not in ("__init__.py", "conftest.py")
    )
    offenders = [f"{folder.relative_to(ROOT)}: {n} modules" for folder, n in counts.items() if n > MAX_MODULES]
    assert not offenders, "make packages of:\n" + "\n".join(offenders)


def test_every_source_directory_is_a_package():
    folders = {path.parent for path in MODULES}
    assert not [folder.relative_to(SOURCE) for folder in folders if not (folder / "__init__.py").exists()]


def test_module_names_are_distinct():
    places: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        relative = path.relative_to(SOURCE).as_posix()
        if relative.startswith(tuple(f"{name}/" for name in MIRRORED)) or path.name in SAME_NAME_ALLOWED:
            continue
        family = next((f"{name}/*/{path.name}" for name in FAMILIES if relative.startswith(f"{name}/")), relative)
        if family not in places[path.name]:
            places[path.name].append(family)
    offenders = [f"{name}: {', '.join(found)}" for name, found in places.items() if len(found) > 1]
    assert not offenders, "give each module a name of its own:\n" + "\n".join(offenders)


def test_only_packages_say_what_comes_before_and_after_them():
    offenders = []
    for path in MODULES:
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if path.name != "__init__.py" and ("Before:" in docstring or "After:" in docstring):
            offenders.append(str(path.relative_to(SOURCE)))
    assert not offenders, "delete the lines Before: and After: of these modules:\n" + "\n".join(offenders)


def test_test_names_are_short():
    offenders = [
        f"{path.relative_to(TESTS)}:{node.lineno}: {node.name}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and len(node.name) > MAX_TEST_NAME
    ]
    assert not offenders, f"shorten to {MAX_TEST_NAME} characters:\n" + "\n".join(offenders)


def test_test_directories_mirror_the_source():
    """A directory of tests has the name of a package, or is one of the suites that span packages."""
    spanning = {
        "architecture",
        "core",
        "docs",
        "distributed",
        "end_to_end",
        "parity",
        "parity/golden",
        "tools",
    }
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("*.py") if path.parent != TESTS}
    names = {folder.as_posix() for folder in folders if folder.parts[0] != "support"}
    offenders = sorted(name for name in names - spanning if not (SOURCE / name).is_dir())
    assert not offenders, f"no package of src/litebert has these names: {offenders}"
