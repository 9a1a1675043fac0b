"""Builds the site offline: docs/ and the log of experiments, with navigation, a link check and llms.txt.

Usage: python tools/build_site.py [OUT]          (default: build/site; `make docs`)
Needs the extra `docs`. Exit code 1 for a warning of Zensical or a dead link.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
STAGE = ROOT / "build" / "site-source"
SECTIONS = ("tutorials", "guides", "reference", "formats", "results", "decisions")
OTHER_PAGES = (
    "benchmarks/aims.md",
    "benchmarks/log.md",
    "benchmarks/results/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
)
"""Pages outside docs/ that its pages link to."""
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def main() -> int:
    out = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "build" / "site"
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", STAGE / "docs")
    for page in filter(lambda page: (ROOT / page).exists(), OTHER_PAGES):
        (STAGE / "docs" / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / page, STAGE / "docs" / page)
    pages = sorted((STAGE / "docs").rglob("*.md"))
    for page in pages:
        page.write_text(with_inner_links(page), encoding="utf-8")
    config = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    config = config.replace("[project]\n", f"[project]\nnav = {navigation()}\n", 1)
    (STAGE / "zensical.toml").write_text(config, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--clean", "--strict"]
    if subprocess.run(command, cwd=STAGE, check=False).returncode:
        return 1
    (STAGE / "site" / "llms.txt").write_text(llms_text(), encoding="utf-8")
    shutil.rmtree(out, ignore_errors=True)
    shutil.move(STAGE / "site", out)
    dead = dead_links(out)
    print("\n".join(dead) or f"{out}: {len(pages)} pages, no dead links")
    return int(bool(dead))


def with_inner_links(page: Path) -> str:
    """The text of a staged page: links to pages that the site has stay, those to other files become their text."""
    place = page.relative_to(STAGE / "docs")
    original = ROOT / (place if place.as_posix() in OTHER_PAGES else Path("docs") / place)

    def replace(match: re.Match[str]) -> str:
        mark, text, link = match.groups()
        path = link.partition("#")[0]
        if not path or "://" in link or (page.parent / path).is_file():
            return match[0]
        target = (original.parent / path).resolve()
        inside = target.relative_to(ROOT).as_posix() if target.is_relative_to(ROOT) else ""
        if inside in OTHER_PAGES or inside.startswith("docs/"):
            up = "../" * (len(place.parts) - 1)
            return f"{mark}[{text}]({up}{inside.removeprefix('docs/')}{link[len(path) :]})"
        return text

    return LINK.sub(replace, page.read_text(encoding="utf-8"))


def navigation() -> str:
    """The navigation as TOML: the pages of each folder, its README first, in the order of docs/README.md."""
    home = (STAGE / "docs" / "README.md").read_text(encoding="utf-8")
    parts = ['{ "Home" = "README.md" }']
    for section in SECTIONS:
        paths = [page.relative_to(STAGE / "docs").as_posix() for page in (STAGE / "docs" / section).glob("*.md")]
        # Pages without a link there come last: find gives -1.
        paths.sort(key=lambda path: (not path.endswith("README.md"), home.find(f"]({path})") % len(home), path))
        names = ", ".join(f'"{path}"' for path in paths)
        parts.append(f'{{ "{section.capitalize()}" = [{names}] }}')
    parts.append('{ "Glossary" = "glossary.md" }')
    return "[" + ", ".join(parts) + "]"


def llms_text() -> str:
    """A list of all pages with their first sentences, for language models (llmstxt.org)."""
    lines = ["# litebert", "", "> ALBERT in PyTorch: tokenizer, pretraining, fine-tuning, evaluation, prediction.", ""]
    for section in SECTIONS:
        lines += [f"## {section.capitalize()}", ""]
        for page in sorted((STAGE / "docs" / section).glob("*.md")):
            title, about = title_and_first_sentence(page.read_text(encoding="utf-8"))
            address = page.relative_to(STAGE / "docs").with_suffix("").as_posix().removesuffix("README")
            lines.append(f"- [{title}]({address.rstrip('/')}/): {about}")
        lines.append("")
    return "\n".join(lines)


def title_and_first_sentence(text: str) -> tuple[str, str]:
    """Heading and first sentence of a page."""
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    blocks = (block for block in FENCED.sub("", text).split("\n\n") if re.match(r"[A-Za-z`*\[]", block))
    sentence = " ".join(next(blocks, "").split()).split(". ")[0]
    return (title[1] if title else "?"), LINK.sub(r"\2", sentence)


def dead_links(site: Path) -> list[str]:
    """Links of the pages to files that the site does not have, as `page: link`."""
    offenders = []
    for page in sorted(site.rglob("*.html")):
        for link in re.findall(r'(?:href|src)="?([^"\s>]+)', page.read_text(encoding="utf-8")):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not parts.path or page.name == "404.html":
                continue
            target = (page.parent / unquote(parts.path)).resolve()
            if not (target.is_file() or (target / "index.html").is_file()):
                offenders.append(f"{page.relative_to(site)}: {link}")
    return offenders


if __name__ == "__main__":
    sys.exit(main())
