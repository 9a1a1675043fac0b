"""A line chart as SVG, drawn by hand so that nothing need be installed. Before: curves. After: `curve_page.py`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from html import escape
from statistics import fmean

WIDTH, HEIGHT = 460, 250
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 12, 30
MOST_POINTS = 240
"""Points of a drawn line."""
MARGIN = 0.06
"""Room above and below, as a share of the values' range."""
WINDOW = 0.04
"""Share of all points that a running mean is over."""
BEGINNING = 0.08
"""Share of a run whose values need not fit into the picture: losses begin far above where they matter."""

Format = Callable[[float], str]
Points = Sequence[tuple[float, float]]


class Kind(Enum):
    """How a line is drawn."""

    MEASURED = "mean"
    """What is measured at each step: its running mean over a band that holds the middle half."""
    EXACT = "exact"
    """What is known at each step: as it is."""
    RARE = "held-out"
    """What is measured now and then: dots, joined."""


@dataclass(frozen=True)
class Line:
    """One quantity of one run."""

    label: str
    points: Points
    """(x, y), by ascending x."""
    colour: str
    kind: Kind


@dataclass(frozen=True)
class Frame:
    """Where values lie in the picture."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def x(self, value: float) -> float:
        """Pixels from the left."""
        return LEFT + (value - self.x_low) / (self.x_high - self.x_low) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Pixels from the top."""
        return TOP + (self.y_high - value) / (self.y_high - self.y_low) * (HEIGHT - TOP - BOTTOM)


def chart(
    lines: Sequence[Line],
    *,
    title: str,
    y_format: Format,
    x_format: Format,
    x_high: float,
    reference: float | None = None,
) -> str:
    """An `<svg>` of at least one line, from x = 0 to `x_high`; `reference` is a value to compare with, drawn dashed."""
    drawn = [(line, _drawn(line)) for line in lines]
    bands = [bound for line in lines if line.kind is Kind.MEASURED for bound in _middle_half(line)]
    frame = _frame([*(points for _, points in drawn), *bands], x_high, reference)
    clip = "clip-" + "".join(letter if letter.isalnum() else "-" for letter in title)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">',
        f'<clipPath id="{clip}"><rect x="{LEFT - 4}" y="{TOP - 4}" width="{WIDTH - LEFT - RIGHT + 10}" '
        f'height="{HEIGHT - TOP - BOTTOM + 8}"/></clipPath>',
        *_grid(frame, y_format, x_format),
        f'<g clip-path="url(#{clip})">',
        *([_rule(frame, reference)] if reference is not None else []),
        *(_band(frame, line) for line in lines if line.kind is Kind.MEASURED),
        *(_path(frame, points, line) for line, points in drawn),
        *(_dots(frame, line, y_format, x_format) for line in lines if line.kind is Kind.RARE),
        "</g></svg>",
    ]
    return "".join(parts)


def running(points: Points, average: Callable[[Sequence[float]], float]) -> Points:
    """`average` over windows of WINDOW of all points, at most MOST_POINTS of them; the last is at the last x."""
    size = max(1, round(WINDOW * len(points)))
    values = [value for _, value in points]
    return [(points[end - 1][0], average(values[max(0, end - size) : end])) for end in _ends(len(points))]


def ticks(low: float, high: float, *, about: int = 4) -> list[float]:
    """Round values inside [low, high]: multiples of 1, 2 or 5 times a power of ten."""
    raw = (high - low) / about
    power = 10 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]


def _drawn(line: Line) -> Points:
    if line.kind is Kind.MEASURED:
        return running(line.points, fmean)
    return line.points if line.kind is Kind.RARE else [line.points[end - 1] for end in _ends(len(line.points))]


def _ends(number: int) -> list[int]:
    """At most MOST_POINTS + 1 of 1 … number, evenly spread, with both ends."""
    return sorted({number - round(index * (number - 1) / MOST_POINTS) for index in range(MOST_POINTS + 1)})


def _frame(lines: Sequence[Points], x_high: float, reference: float | None) -> Frame:
    """Room for every line, but for what runs off the picture while a run is beginning."""
    late = [y for points in lines for x, y in points if x >= BEGINNING * x_high or len(points) < 3]
    values = [*(late or [y for points in lines for _, y in points]), *([] if reference is None else [reference])]
    low, high = min(values), max(values)
    room = max((high - low or abs(high) or 1.0) * MARGIN, 1e-30)  # wide enough to divide by
    return Frame(0.0, x_high or 1.0, low - room, high + room)


def _grid(frame: Frame, y_format: Format, x_format: Format) -> list[str]:
    parts = []
    for value in ticks(frame.y_low, frame.y_high):
        y = frame.y(value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 3.5:.1f}" text-anchor="end">{y_format(value)}</text>')
    for value in ticks(frame.x_low, frame.x_high, about=5):
        x = frame.x(value)
        parts.append(f'<text class="tick" x="{x:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{x_format(value)}</text>')
    return parts


def _rule(frame: Frame, reference: float) -> str:
    y = frame.y(reference)
    return f'<line class="reference" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'


def _band(frame: Frame, line: Line) -> str:
    """The middle half of what was measured, around the running mean."""
    upper, lower = _middle_half(line)
    return f'<polygon points="{_pixels(frame, [*upper, *reversed(lower)])}" fill="{line.colour}" class="band"/>'


def _middle_half(line: Line) -> tuple[Points, Points]:
    """The upper and the lower quartile, running."""
    return running(line.points, partial(_quantile, share=0.75)), running(line.points, partial(_quantile, share=0.25))


def _quantile(values: Sequence[float], *, share: float) -> float:
    return sorted(values)[round(share * (len(values) - 1))]


def _path(frame: Frame, points: Points, line: Line) -> str:
    return f'<polyline fill="none" points="{_pixels(frame, points)}" stroke="{line.colour}" class="{line.kind.value}"/>'


def _dots(frame: Frame, line: Line, y_format: Format, x_format: Format) -> str:
    return "".join(
        f'<circle cx="{frame.x(x):.1f}" cy="{frame.y(y):.1f}" r="3" fill="{line.colour}">'
        f"<title>{escape(line.label)} at {x_format(x)}: {y_format(y)}</title></circle>"
        for x, y in line.points
    )


def _pixels(frame: Frame, points: Points) -> str:
    return " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in points)
