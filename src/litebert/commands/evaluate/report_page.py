"""An evaluation as an HTML page: scores, tables and the worst errors."""

from collections.abc import Sequence
from html import escape
from typing import Final

from litebert.analysis.html_page import html_page, html_table
from litebert.tasks.metrics.evaluation import Evaluation, Part
from litebert.tasks.metrics.metrics import Calibration
from litebert.tasks.types.task_type import ErrorExample

MAX_ERRORS: Final = 50
MAX_LABELS: Final = 40
"""Largest confusion matrix that is shown."""
MAX_TEXT_LENGTH: Final = 1500

_STYLE: Final = """
table.errors td, table.errors th { text-align: left; vertical-align: top; }
table.errors td { white-space: pre-line; overflow-wrap: anywhere; }
table.errors td:nth-child(n+2) { min-width: 8rem; }
td.correct { background: #e6f2e6; } td.wrong { background: #f8e8e6; }
"""


def report_page(title: str, evaluation: Evaluation, errors: Sequence[ErrorExample]) -> str:
    """The page as one HTML file."""
    sections = [
        html_table(("metric", "value"), ((name, f"{value:.4f}") for name, value in evaluation.metrics.items())),
        f"<p>{evaluation.examples:,} examples{_interval(evaluation)}.</p>",
        *_parts("By slice", evaluation.by_slice),
        *_parts("By label", evaluation.by_label),
        *_parts("By length", evaluation.by_length),
        *_confusion(evaluation),
        *_calibration(evaluation.calibration),
        *_worst_errors(errors),
    ]
    return html_page(title, sections, style=_STYLE)


def _interval(evaluation: Evaluation) -> str:
    if evaluation.accuracy_interval is None:
        return ""
    low, high = evaluation.accuracy_interval
    return f"; the accuracy lies between {low:.1%} and {high:.1%} (Wilson's 95 % interval)"


def _parts(title: str, parts: Sequence[Part]) -> list[str]:
    if not parts:
        return []
    names = list(parts[0].metrics)
    rows = ((part.name, f"{part.examples:,}", *(f"{part.metrics[name]:.4f}" for name in names)) for part in parts)
    return [f"<h2>{title}</h2>", html_table(("", "examples", *names), rows)]


def _confusion(evaluation: Evaluation) -> list[str]:
    labels, matrix = evaluation.labels, evaluation.confusion_matrix
    if labels is None or matrix is None or len(labels) > MAX_LABELS:
        return []
    header = "".join(f"<th>{escape(name)}</th>" for name in ("true \\ predicted", *labels))
    lines = []
    for row, (name, counts) in enumerate(zip(labels, matrix, strict=True)):
        styles = ["correct" if row == column else "wrong" if count else "" for column, count in enumerate(counts)]
        cells = (f'<td class="{style}">{count:,}</td>' for style, count in zip(styles, counts, strict=True))
        lines.append(f"<tr><td>{escape(name)}</td>{''.join(cells)}</tr>")
    return ["<h2>Confusion</h2>", f"<table><tr>{header}</tr>{''.join(lines)}</table>"]


def _calibration(calibration: Calibration | None) -> list[str]:
    if calibration is None:
        return []
    rows = (
        (f"{one.low:.1f} to {one.high:.1f}", f"{one.examples:,}", f"{one.confidence:.3f}", f"{one.accuracy:.3f}")
        for one in calibration.bins
    )
    note = (
        f'<p class="note">Predicted probability and accuracy. Expected calibration error: '
        f"{calibration.expected_error:.3f}.</p>"
    )
    return ["<h2>Calibration</h2>", note, html_table(("probability", "examples", "mean probability", "accuracy"), rows)]


def _worst_errors(errors: Sequence[ErrorExample]) -> list[str]:
    """The errors with the largest loss."""
    worst = sorted((error for error in errors if not error.is_correct), key=lambda error: -error.loss)
    note = f'<p class="note">{len(worst):,} of {len(errors):,} examples are wrong; the largest losses come first.</p>'
    shown = worst[:MAX_ERRORS]
    rows = ((_shorten(each.text), each.expected, each.predicted, f"{each.loss:.3f}", each.place) for each in shown)
    return [
        "<h2>Worst errors</h2>",
        note,
        html_table(("example", "expected", "predicted", "loss", "line or id"), rows, css_class="errors"),
    ]


def _shorten(text: str) -> str:
    """A long text without its middle; its end may be the options of a question."""
    half = MAX_TEXT_LENGTH // 2
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[:half]} […] {text[-half:]}"
