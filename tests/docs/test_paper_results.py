"""The page of the paper's tables and the claims in README.md are made of one JSON file, number by number."""

import json
from pathlib import Path

import pytest

from litebert.commands.reproduce.report import TableReport
from litebert.commands.reproduce.reproduce import write_reports

ROOT = Path(__file__).parents[2]
TABLE = TableReport(
    name="table-5",
    title="Pair objectives",
    note="",
    scale="tiny",
    metrics=["parameters", "mlm_loss", "sst-2"],
    rows=[
        {
            "name": "SOP",
            "paper": {"sst-2": 90.3},
            "values": {"parameters": [1e6], "mlm_loss": [5.1], "sst-2": [71.25]},
            "runs": ["pretrain-1"],
        }
    ],
    claims=[
        {"about": "SOP solves NSP", "state": "held", "seen": "61.0 against 50.0", "p_value": 0.012},
        {"about": "NSP solves SOP", "state": "undecided", "seen": "not measured", "p_value": None},
    ],
    figures=["figure-1.png"],
    left_out=["race"],
    gains=["sst-2: ensemble +0.5 points over its best member, +1.0 over the mean of its 3 members."],
)
CELL = {"kind": "pretrain", "seconds": 7200.0, "date": "2026-11-22", "processor": "EPYC", "commit": "0123456789ab"}


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    import make_paper_results

    return make_paper_results


@pytest.fixture
def root(tool, tmp_path):
    """A project whose pages were made of a small reproduction."""
    out, root = tmp_path / "out", tmp_path / "project"
    (out / "cells").mkdir(parents=True)
    write_reports([TABLE], out, title="Tables", about="A toy.")
    (out / "cells" / "one.json").write_text(json.dumps(CELL))
    (out / "figure-1.png").write_bytes(b"picture")
    (root / "docs" / "results").mkdir(parents=True)
    (root / "README.md").write_text(f"# x\n\n{tool.BEGIN}\n{tool.END}\n\n## y\n")
    tool.copy_results(out, root / "docs" / "results" / "paper-tiny")
    assert tool.update(root, check=False) == 0
    return root


def test_page_has_the_numbers_of_the_results(tool, root):
    page = (root / tool.PAGE).read_text()
    assert "Left out: race." in page
    assert "ensemble +0.5 points over its best member" in page
    assert "| SOP | 1.00M | 5.100 | 71.2 (90.3) |" in page
    assert "| SOP solves NSP | held | 61.0 against 50.0 | 0.012 |" in page
    assert "2026-11-22, EPYC, commits 0123456789; 1 pretrain in 2.0 hours" in page
    assert "](paper-tiny/figure-1.png)" in page
    assert (root / "docs" / "results" / "paper-tiny" / "figure-1.png").read_bytes() == b"picture"


def test_readme_has_the_count_and_the_page_a_line_for_each_claim(tool, root):
    readme, page = (root / "README.md").read_text(), (root / tool.PAGE).read_text()
    count = "1 held, 0 did not hold and 1 are undecided"
    assert f"{count} ([every claim with its verdict](docs/results/paper-tiny.md#every-claim))." in readme
    assert f"{count}; 1 of these have no test" in page
    assert "1 claims were tested over their seeds" in page
    assert "| table 5 | SOP solves NSP | held |\n| table 5 | NSP solves SOP | undecided |" in page
    assert readme.startswith("# x\n")
    assert readme.endswith("## y\n")


@pytest.mark.parametrize(
    ("page", "number", "other"), [("docs/results/paper-tiny", "71.2", "72.2"), ("README", "1 held", "2 held")]
)
def test_number_that_differs_from_the_results_is_found(tool, root, capsys, page, number, other):
    assert tool.update(root, check=True) == 0
    path = root / f"{page}.md"
    path.write_text(path.read_text().replace(number, other))
    assert tool.update(root, check=True) == 1
    assert capsys.readouterr().out.splitlines()[-1] == f"{page}.md: run `python tools/make_paper_results.py`"


def test_readme_without_a_place_for_the_claims_is_an_error(tool, root):
    (root / "README.md").write_text("# x\n")
    with pytest.raises(SystemExit, match="lacks the lines"):
        tool.update(root, check=True)


def test_page_of_this_project_is_that_of_its_results(tool):
    if not (ROOT / tool.PAGE).with_suffix("").joinpath("results.json").exists():
        pytest.skip("docs/results/paper-tiny/results.json does not exist yet: the tables were not run")
    assert tool.update(ROOT, check=True) == 0


def test_table_of_training_speeds_is_that_of_its_file(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from preset_speed import markdown

    results = json.loads((ROOT / "benchmarks" / "results" / "2026-11-22-preset-speed-cpu-512.json").read_text())
    assert markdown(results) in (ROOT / "docs" / "results" / "performance.md").read_text()
