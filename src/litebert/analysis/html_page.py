"""The template of HTML pages: self-contained, no scripts, nothing loaded from elsewhere."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
table { border-collapse: collapse; } td, th { padding: .25rem .7rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
p.note { color: #666; }
"""


def html_page(title: str, sections: Iterable[str], *, style: str) -> str:
    """A page with a heading and `sections`, which are HTML; `style` is added to the common style."""
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = f"{meta}<title>{escape(title)}</title><style>{STYLE}{style}</style>"
    body = "\n".join([f"<h1>{escape(title)}</h1>", *sections])
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def html_table(header: Sequence[str], rows: Iterable[Sequence[Any]], *, css_class: str = "figures") -> str:
    """A table of escaped texts."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = ["".join(f"<td>{escape(str(value))}</td>" for value in row) for row in rows]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f'<table class="{css_class}"><tr>{head}</tr>\n{body}\n</table>'
