"""Pictures: a PNG for every curve there is; without matplotlib, how to get it."""

import struct
import sys

import numpy as np
import pytest

from litebert.analysis.curves import Curve
from litebert.analysis.plots import check_plotting, example_counts, length_histograms, pretraining_curve
from litebert.errors import CheckpointError, MissingExtraError

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
def test_a_png_is_drawn(tmp_path, names, baselines):
    pretraining_curve(curves(*names), baselines, tmp_path / "curve.png", title="A run")
    width, height = size(tmp_path / "curve.png")
    panels = 1 + ("train/sop_accuracy" in names)
    assert (width, height) == (660 * panels, 480)


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"curve\.png: could not be written"):
        pretraining_curve(curves("train/mlm_accuracy"), {}, tmp_path / "file" / "curve.png", title="A run")


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    check_plotting()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'litebert\[plot\]'"):
        check_plotting()


def test_lengths_and_counts_are_drawn(tmp_path):
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
