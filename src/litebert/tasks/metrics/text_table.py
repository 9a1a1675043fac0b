"""Tables as aligned text."""

Rows = list[list[str]]
"""The header and the rows, all with equally many fields."""


def aligned(rows: Rows) -> str:
    """Columns of equal width, the first left-aligned and the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *rest in rows:
        fields = [first.ljust(widths[0]), *(text.rjust(width) for text, width in zip(rest, widths[1:], strict=True))]
        lines.append("  ".join(fields).rstrip())
    return "\n".join(lines)


def markdown_table(rows: Rows) -> str:
    """The table in Markdown; the first row is its header."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines[:1], "|" + " --- |" * len(rows[0]), *lines[1:]]) if rows else ""
