"""An evaluation as an HTML page: scores, tables and the worst errors."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

from litebert.tasks.metrics.calibration import Calibration
from litebert.tasks.metrics.evaluation import Evaluation, Part
from litebert.tasks.types.task_type import ErrorExample

MAX_ERRORS: Final = 50
MAX_LABELS: Final = 40
"""Largest confusion matrix that is shown."""
MAX_TEXT_LENGTH: Final = 1500

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
table { border-collapse: collapse; } td, th { padding: .25rem .7rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child, table.errors td, table.errors th { text-align: left; vertical-align: top; }
table.errors td { white-space: pre-line; overflow-wrap: anywhere; }
table.errors td:nth-child(n+2) { min-width: 8rem; }
td.correct { background: #e6f2e6; } td.wrong { background: #f8e8e6; }
p.note { color: #666; }
"""


def report_page(title: str, evaluation: Evaluation, errors: Sequence[ErrorExample]) -> str:
    """The page as one HTML file."""
    sections = [
        _table(("metric", "value"), ((name, f"{value:.4f}") for name, value in evaluation.metrics.items())),
        f"<p>{evaluation.examples:,} examples{_interval(evaluation)}.</p>",
        *_parts("By slice", evaluation.by_slice),
        *_parts("By label", evaluation.by_label),
        *_parts("By length", evaluation.by_length),
        *_confusion(evaluation),
        *_calibration(evaluation.calibration),
        *_worst_errors(errors),
    ]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    body = "\n".join([f"<h1>{escape(title)}</h1>", *sections])
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


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
    return [f"<h2>{title}</h2>", _table(("", "examples", *names), rows)]


def _confusion(evaluation: Evaluation) -> list[str]:
    labels, matrix = evaluation.labels, evaluation.confusion_matrix
    if labels is None or matrix is None or len(labels) > MAX_LABELS:
        return []
    header = "".join(f"<th>{escape(name)}</th>" for name in ("true \\ predicted", *labels))
    lines = []
    for row, (name, counts) in enumerate(zip(labels, matrix, strict=True)):
        cells = "".join(_cell(count, is_correct=row == column) for column, count in enumerate(counts))
        lines.append(f"<tr><td>{escape(name)}</td>{cells}</tr>")
    return ["<h2>Confusion</h2>", f"<table><tr>{header}</tr>{''.join(lines)}</table>"]


def _cell(count: int, *, is_correct: bool) -> str:
    name = "correct" if is_correct else "wrong" if count else ""
    return f'<td class="{name}">{count:,}</td>'


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
    return ["<h2>Calibration</h2>", note, _table(("probability", "examples", "mean probability", "accuracy"), rows)]


def _worst_errors(errors: Sequence[ErrorExample]) -> list[str]:
    """The errors with the largest loss."""
    worst = sorted((error for error in errors if not error.is_correct), key=lambda error: -error.loss)
    note = f'<p class="note">{len(worst):,} of {len(errors):,} examples are wrong; the largest losses come first.</p>'
    shown = worst[:MAX_ERRORS]
    rows = ((_shorten(each.text), each.expected, each.predicted, f"{each.loss:.3f}") for each in shown)
    return ["<h2>Worst errors</h2>", note, _table(("example", "expected", "predicted", "loss"), rows, style="errors")]


def _shorten(text: str) -> str:
    """A long text without its middle; its end may be the options of a question."""
    half = MAX_TEXT_LENGTH // 2
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[:half]} […] {text[-half:]}"


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]], *, style: str = "scores") -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = ["".join(f"<td>{escape(str(value))}</td>" for value in row) for row in rows]
    return f'<table class="{style}"><tr>{head}</tr>\n' + "\n".join(f"<tr>{line}</tr>" for line in lines) + "\n</table>"
