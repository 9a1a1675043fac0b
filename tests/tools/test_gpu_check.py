"""tools/gpu_check.py at toy size on the CPU: every part runs, and the result of each is kept if another fails."""

import json
from pathlib import Path

import pytest

from support.models.tolerances import tolerance

pytestmark = pytest.mark.usefixtures("forked_python")

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def gpu_check(monkeypatch, tmp_path):
    """Runs the command; returns its exit status, the parts of its JSON, and its table."""
    monkeypatch.syspath_prepend(TOOLS)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    from gpu_check import main

    def run(*arguments: str) -> tuple[int, dict, str]:
        status = main(["--out", str(tmp_path), "--device", "cpu", "--tiny", *arguments])
        (report,) = tmp_path.glob("20*-*.json")
        return status, json.loads(report.read_text())["parts"], (tmp_path / "report.md").read_text()

    return run


def test_gpu_check_writes_the_results_of_every_part(gpu_check, tmp_path):
    pytest.importorskip("transformers")
    pytest.importorskip("matplotlib")
    status, parts, table = gpu_check()
    assert status == 0, parts
    assert parts["tests"]["result"] == {"passed": 0, "skipped": 1, "failed": []}
    (case,) = parts["speed"]["result"]["cases"]
    assert case["output_difference"] < tolerance()
    assert case["ratio"] > 0
    assert {row["library"] for row in case["rows"]} == {"litebert", "transformers"}
    for profile in parts["profile"]["result"].values():
        assert profile["seconds_a_step"] > 0
        assert profile["device_seconds_a_step"] is None
        assert profile["operations_by_host_time"][0]["calls"] > 0
    assert set(parts["profile"]["result"]) == {"night", "gpu-hour"}
    assert parts["training"]["result"]["result"]["steps"] == 2
    assert {"curve.png", "metrics.jsonl", "speed.log"} <= {path.name for path in tmp_path.iterdir()}
    assert "best litebert / best transformers" in table
    assert "| gpu-hour |" in table


def test_gpu_check_stops_and_records_parts_that_exceed_their_time(gpu_check):
    status, parts, table = gpu_check("--minutes", "0.0001")
    assert status == 1
    assert all(part["stopped"] and not part["ok"] for part in parts.values())
    assert table.count("STOPPED") == len(parts) == 4


def test_gpu_tests_that_cannot_start_are_an_error(tmp_path, monkeypatch):
    (tmp_path / "conftest.py").write_text("import a_package_that_is_not_installed\n")
    monkeypatch.syspath_prepend(TOOLS)
    from gpu_tests import run

    with pytest.raises(SystemExit, match="the tests did not run to their end"):
        run(tmp_path)
