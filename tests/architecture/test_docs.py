"""The documentation matches the tree: links resolve, and the glossary has every setting."""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import litebert
from litebert.settings import Settings

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
NOT_SET_BY_USERS = {"ModelSpec", "HubOptions", "SavedColumns"}
"""Settings classes that read files of litebert's own, or arguments of one Python function."""


def heading_anchors(page: Path) -> set[str]:
    """Anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_links_resolve():
    offenders = []
    for page in PAGES:
        for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
            target, _, anchor = link.partition("#")
            if "://" in link:
                continue
            path = (page.parent / target).resolve() if target else page
            dead = not path.exists() or (anchor and path.suffix == ".md" and anchor not in heading_anchors(path))
            offenders += [f"{page.relative_to(ROOT)}: {link}"] if dead else []
    assert not offenders, "dead links:\n" + "\n".join(offenders)


def test_paths_of_pages_named_in_the_source_exist():
    offenders = [
        f"{path.relative_to(ROOT)}: {page}"
        for place in ("src", "tests", "benchmarks", "tools")
        for path in sorted((ROOT / place).rglob("*.py"))
        for page in re.findall(r"\b(?:docs|benchmarks)/[\w./-]+\.md\b", path.read_text(encoding="utf-8"))
        if not (ROOT / page).exists()
    ]
    assert not offenders, "these pages do not exist:\n" + "\n".join(offenders)


def test_glossary_has_every_setting():
    for module in walk_packages(litebert.__path__, "litebert."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    glossary = set(re.findall(r"\w+", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")))
    pending, offenders = list(Settings.__subclasses__()), []
    while pending:
        settings = pending.pop()
        pending += settings.__subclasses__()
        if settings.__module__.startswith("litebert.") and settings.__name__ not in NOT_SET_BY_USERS:
            offenders += [f"{settings.__name__}.{name}" for name in settings.model_fields if name not in glossary]
    assert not offenders, "add to docs/glossary.md:\n" + "\n".join(sorted(offenders))
