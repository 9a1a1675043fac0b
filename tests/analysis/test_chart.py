"""Charts by hand: what is drawn lies in the picture, ticks are round, means are means."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.analysis.chart import HEIGHT, LEFT, MOST_POINTS, RIGHT, WIDTH, Kind, Line, chart, running, ticks

NUMBERS = st.floats(-1e6, 1e6)
SERIES = st.lists(NUMBERS, min_size=1, max_size=700).map(lambda values: list(enumerate(values, start=1)))


def drawn(lines, **options):
    text = chart(lines, title="Loss & more", y_format=str, x_format=str, x_high=700, **options)
    return text, ElementTree.fromstring(text)


@pytest.mark.parametrize("kind", Kind)
@given(points=SERIES)
def test_every_line_is_drawn_within_the_width_with_few_points(kind, points):
    _, svg = drawn([Line("run", points, "#123456", kind)])
    (line,) = [element for element in svg.iter("polyline") if element.get("class") == kind.value]
    xs = [float(pair.split(",")[0]) for pair in line.get("points", "").split()]
    assert xs == sorted(xs)
    assert all(LEFT <= x <= WIDTH - RIGHT + 0.1 for x in xs)
    assert kind is Kind.RARE or len(xs) <= MOST_POINTS + 1


def test_rare_values_say_themselves():
    text, svg = drawn([Line("a <run>", [(1, 0.5), (2, 0.75)], "red", Kind.RARE)])
    assert [element.text for element in svg.iter("title")] == ["a <run> at 1: 0.5", "a <run> at 2: 0.75"]
    assert "Loss &amp; more" in text


def test_a_reference_is_in_the_picture():
    _, svg = drawn([Line("run", [(1, 5.0), (2, 6.0)], "red", Kind.EXACT)], reference=0.0)
    (rule,) = [element for element in svg.iter("line") if element.get("class") == "reference"]
    assert 0 < float(rule.get("y1", "nan")) < HEIGHT


def test_a_loss_that_begins_far_above_does_not_flatten_the_rest():
    points = [(step, 100.0 if step < 20 else 2.0 - step / 1000) for step in range(1, 701)]
    text, _ = drawn([Line("run", points, "red", Kind.MEASURED)])
    labels = [float(value) for value in re.findall(r'text-anchor="end">([-0-9.]+)<', text)]
    assert max(labels) < 60


@given(SERIES)
def test_a_running_mean_stays_between_the_extremes_and_ends_at_the_end(points):
    means = running(points, lambda values: sum(values) / len(values))
    low, high = min(y for _, y in points), max(y for _, y in points)
    assert all(low - 1e-6 * abs(low) - 1e-9 <= y <= high + 1e-6 * abs(high) + 1e-9 for _, y in means)
    assert means[-1][0] == points[-1][0]
    assert means[0][0] == points[0][0]


@given(st.floats(-1e5, 1e5), st.floats(1e-4, 1e5))
def test_ticks_are_few_round_and_inside(low, span):
    found = ticks(low, low + span)
    assert 1 <= len(found) <= 9
    assert all(low - 1e-6 * span <= tick <= low + span * (1 + 1e-6) for tick in found)
