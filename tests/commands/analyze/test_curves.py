"""The curves command: the page is written beside the first run or where it is asked for."""

import json

import pytest

from litebert.commands.analyze.curves import curves
from litebert.errors import ConfigError


def test_curves_page_is_in_the_first_run_or_at_the_given_path(tmp_path):
    line = {"step": 1, "train/learning_rate": 0.1, "train/mlm_loss": 2.0}
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_text(json.dumps(line) + "\n")
    runs = [tmp_path / "a", tmp_path / "b"]
    assert curves(runs, None).page == tmp_path / "a" / "curves.html"
    result = curves(runs, tmp_path / "page.html")
    assert result.page.is_file()
    assert result.to_text() == f"{tmp_path / 'page.html'}: curves of 2 run(s); open it in a browser"


def test_curves_refuses_a_page_that_is_no_html_file(tmp_path):
    with pytest.raises(ConfigError, match=r"out: 'notes\.txt', but the page is an HTML file"):
        curves([tmp_path], tmp_path / "notes.txt")
