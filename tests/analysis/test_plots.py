"""Plots: PNG files and SVG charts; without matplotlib, an error that names the extra."""

import re
import struct
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from litebert.analysis.curves import Curve
from litebert.analysis.plots import (
    Series,
    bars_figure,
    check_plotting,
    confusion_figure,
    example_counts,
    length_histograms,
    line_chart_svg,
    pretraining_curve,
)
from litebert.errors import CheckpointError, MissingExtraError

SVG = "{http://www.w3.org/2000/svg}"
BASELINES = {"mlm": 0.1, "sop": 0.5}


def curves(*names):
    return {name: Curve(name, (1, 2, 3), (0.1, 0.3, 0.2)) for name in names}


def size(path):
    """Width and height in the head of a PNG file."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xae\x42\x60\x82")
    return struct.unpack(">II", content[16:24])


@pytest.mark.parametrize(
    "names",
    [
        ("train/mlm_accuracy",),
        ("train/mlm_accuracy", "evaluation/mlm_accuracy"),
        ("train/mlm_accuracy", "train/sop_accuracy", "evaluation/sop_accuracy"),
    ],
)
@pytest.mark.parametrize("baselines", [BASELINES, {}])
def test_pretraining_curve_has_a_panel_per_task(tmp_path, names, baselines):
    pretraining_curve(curves(*names), baselines, tmp_path / "curve.png", title="A run")
    width, height = size(tmp_path / "curve.png")
    panels = 1 + ("train/sop_accuracy" in names)
    assert (width, height) == (660 * panels, 480)


def test_pretraining_curve_names_a_path_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"curve\.png: could not be written"):
        pretraining_curve(curves("train/mlm_accuracy"), {}, tmp_path / "file" / "curve.png", title="A run")


def test_plotting_without_matplotlib_names_the_extra(monkeypatch):
    check_plotting()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'litebert\[plot\]'"):
        check_plotting()


def test_dollar_signs_of_labels_are_no_formula():
    pytest.importorskip("matplotlib")
    figure = confusion_figure([[1, 2], [3, 4]], ["$10-$20", "$20_$30"])
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_last_bar_of_a_length_histogram_has_its_bin_alone(tmp_path, monkeypatch):
    """Lengths beyond the 99th percentile are counted below the plot."""
    axes = pytest.importorskip("matplotlib.axes")
    drawn = []
    monkeypatch.setattr(axes.Axes, "hist", lambda self, values, **options: drawn.append(options["weights"].sum()))
    lengths, counts = np.arange(1, 61), np.array([100] * 50 + [1] * 10)
    length_histograms({"sentence": (lengths, counts)}, tmp_path / "lengths.png", title="Lengths")
    assert drawn == [5000]


def test_length_histograms_and_example_counts_are_png_files(tmp_path):
    pytest.importorskip("matplotlib")
    lengths = {"sentence": (np.array([3, 5, 900]), np.array([200, 300, 1])), "document": (np.array([7]), np.array([1]))}
    length_histograms(lengths, tmp_path / "lengths.png", title="Lengths")
    example_counts(
        ngrams={1: 0.6, 2: 0.4},
        expected_ngrams={1: 0.7, 2: 0.3},
        shown={"[MASK]": 1.0},
        labels={"in order": 0.5, "swapped": 0.5},
        path=tmp_path / "examples.png",
        title="Examples",
    )
    for name in ("lengths.png", "examples.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def chart(*series, x_max=700.0, **options):
    options = {"title": "Loss", "x_label": "steps", "percent": False, **options}
    text = line_chart_svg(series, x_max=x_max, **options)
    return text, ElementTree.fromstring(text)


def line_points(svg, label):
    """Pixels of the line of a series."""
    (group,) = [element for element in svg.iter() if element.get("id") == label]
    numbers = [float(number) for number in re.findall(r"-?[0-9.]+", next(group.iter(f"{SVG}path")).get("d"))]
    return np.array(numbers).reshape(-1, 2)


def series(values, style, label="run"):
    return Series(label, np.arange(1, len(values) + 1), np.array(values), "#123456", style)


@pytest.mark.parametrize("style", ["measured", "exact", "validation"])
@pytest.mark.parametrize("values", [[1.0], [0.0, 0.0], [5.0, -3.0, 4.0], list(range(700))], ids=len)
def test_line_chart_is_svg_with_a_line_per_series(style, values):
    text, svg = chart(series(values, style), series(values, "exact", label="other"))
    assert svg.tag == f"{SVG}svg"
    points = line_points(svg, "run")
    assert (np.diff(points[:, 0]) >= 0).all()
    assert line_points(svg, "other").size
    assert text == chart(series(values, style), series(values, "exact", label="other"))[0]


def test_line_chart_of_measured_values_has_few_points():
    _, svg = chart(series(np.sin(np.arange(5000)), "measured"), x_max=5000.0)
    assert len(line_points(svg, "run")) <= 241


def test_line_chart_shows_its_reference():
    _, svg = chart(series([5.0, 6.0], "exact"), reference=0.0)
    ((_, y), *_) = line_points(svg, "reference")
    height = float(svg.get("viewBox").split()[3])
    assert height / 2 < y < height


def test_line_chart_ignores_early_values_for_its_y_axis():
    values = [1e6 if step < 20 else 2.0 - step / 1000 for step in range(1, 701)]
    text, _ = chart(series(values, "measured"))
    assert "1M" not in re.findall(r"<text[^>]*>([^<]+)</text>", text)
    assert any(label.startswith("1.") for label in re.findall(r"<text[^>]*>([^<]+)</text>", text))


def test_figure_is_an_image_in_a_notebook_and_no_backend_is_chosen(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    monkeypatch.delattr(matplotlib, "use")
    assert bars_figure({"accuracy": 0.5, "f1": 0.4})._repr_png_().startswith(b"\x89PNG")
