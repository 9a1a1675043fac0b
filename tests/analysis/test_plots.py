"""Pictures: a PNG for every curve there is; without matplotlib, how to get it."""

import struct
import sys

import pytest

from litebert.analysis.curves import Curve
from litebert.analysis.plots import check_plotting, pretraining_curve
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
