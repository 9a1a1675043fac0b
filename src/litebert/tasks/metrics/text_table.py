"""Small tables for a terminal. Before: figures as texts. After: `evaluation`, the tables of a sweep."""

Rows = list[list[str]]
"""The names of the columns, then the rows, as many fields in each."""


def aligned(rows: Rows) -> str:
    """Columns of equal width, the first one to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *rest in rows:
        fields = [first.ljust(widths[0]), *(text.rjust(width) for text, width in zip(rest, widths[1:], strict=True))]
        lines.append("  ".join(fields).rstrip())
    return "\n".join(lines)
