"""The command for borrowed GPUs, at toy size on the CPU: each part runs, and none is lost because another fails."""

import json
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def gpu_check(monkeypatch, tmp_path):
    """The command, giving its exit status, the parts of its JSON, and its table."""
    monkeypatch.syspath_prepend(TOOLS)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    from gpu_check import main

    def run(*arguments: str) -> tuple[int, dict, str]:
        status = main(["--out", str(tmp_path), "--device", "cpu", "--tiny", *arguments])
        (report,) = tmp_path.glob("20*-*.json")
        return status, json.loads(report.read_text())["parts"], (tmp_path / "report.md").read_text()

    return run


def test_every_part_leaves_its_figures(gpu_check, tmp_path):
    pytest.importorskip("transformers")
    pytest.importorskip("matplotlib")
    status, parts, table = gpu_check()
    assert status == 0, parts
    assert parts["tests"]["result"] == {"passed": 0, "skipped": 1, "failed": []}
    (case,) = parts["speed"]["result"]["cases"]
    assert case["output_difference"] < 1e-5
    assert case["ratio"] > 0
    assert {row["library"] for row in case["rows"]} == {"litebert", "transformers"}
    assert parts["training"]["result"]["result"]["steps"] == 2
    assert {"curve.png", "metrics.jsonl", "speed.log"} <= {path.name for path in tmp_path.iterdir()}
    assert "best litebert / best transformers" in table


def test_parts_that_run_out_of_time_are_stopped_and_recorded(gpu_check):
    status, parts, table = gpu_check("--minutes", "0.0001")
    assert status == 1
    assert all(part["stopped"] and not part["ok"] for part in parts.values())
    assert table.count("STOPPED") == len(parts) == 3
