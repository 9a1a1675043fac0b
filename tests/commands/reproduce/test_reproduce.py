"""Tables run end to end on a toy corpus: reports, pictures, resumption, failures."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from filelock import FileLock

from litebert.cli.main import main
from litebert.commands.reproduce import worker
from litebert.commands.reproduce.reproduce import report_text, reproduce
from litebert.commands.reproduce.reproduce_settings import ReproduceRun
from litebert.commands.reproduce.tables.scales import load_scale
from litebert.commands.reproduce.tables.table_files import named_file
from litebert.commands.reproduce.worker import Job, run_job
from litebert.errors import CheckpointError, ConfigError, MissingExtraError
from support.data.benchmark_files import write_cola
from support.programs.forks import ForkedPopen
from support.runs.full_mode import trials

SCALE = {
    "about": "A toy.",
    "recipe": "tiny",
    "settings": {
        "init": "random",
        "sampling.max_length": 32,
        "sampling.pairing": "sop",
        "sampling.single_segment": False,
        "max_eval_examples": 16,
        "train.duration": "4 steps",
        "train.evaluate_every": "2 steps",
        "train.precision": "fp32",
        "train.device": "cpu",
    },
    "models": {
        "small": {
            "model.num_hidden_layers": 1,
            "model.hidden_size": 16,
            "model.num_attention_heads": 2,
            "model.intermediate_size": 32,
            "model.embedding_size": 8,
        }
    },
    "values": {"deep": 2},
    "tasks": {"cola": {"train.duration": "3 steps", "max_length": 16, "train.warmup": 0.1}},
    "finetune": {"train.evaluate_every": None, "train.device": "cpu"},
    "within": 1.0,
}
TABLE = {
    "title": "Depth",
    "measures": ["mlm_accuracy"],
    "rows": [
        {"name": "one layer", "model": "small", "paper": {"parameters": 12e6, "cola": 50.0}},
        {
            "name": "two layers",
            "model": "small",
            "set": {"model.num_hidden_layers": "$deep"},
            "start_from": "one layer",
        },
        {"name": "both", "ensemble_of": ["one layer", "two layers"]},
    ],
    "claims": [{"kind": "ordering", "about": "deeper", "metric": "cola", "greater": "two layers", "less": "one layer"}],
}
FIGURE = {
    "title": "Layers",
    "tasks": False,
    "figure": "layers",
    "rows": [{"name": "one layer", "model": "small"}],
    "claims": [{"kind": "exact", "about": "wrong", "preset": "tiny", "parameters": 1}],
}


@pytest.fixture(scope="module")
def inputs(corpus_directory, tmp_path_factory):
    """Settings of a run over a table and a figure of one's own."""
    directory = tmp_path_factory.mktemp("inputs")
    for name, content in (("scale", SCALE), ("depth", TABLE), ("layers", FIGURE)):
        (directory / f"{name}.yaml").write_text(yaml.safe_dump(content))
    return ReproduceRun(
        tables=(str(directory / "depth.yaml"), str(directory / "layers.yaml")),
        scale=str(directory / "scale.yaml"),
        corpus=corpus_directory,
        data=(write_cola(directory / "glue"),),
    )


@pytest.fixture(scope="module")
def finished(inputs, tmp_path_factory):
    """The output directory of a finished run, and its result."""
    out = tmp_path_factory.mktemp("reproduced") / "out"
    return out, reproduce(inputs, out)


def test_reproduce_reports_every_row_with_the_values_of_the_paper(finished):
    out, result = finished
    text = (out / "report.md").read_text()
    assert result.failed == ()
    assert "| one layer | 0.01M (12M) |" in text
    assert "(50.0) |" in text
    assert "| both | – |" in text  # an ensemble has no parameters of its own
    assert "| deeper | undecided |" in text
    assert "| one layer: cola | not held | 0.0, in the paper 50.0 |" in text
    assert result.claims == {"held": 0, "not held": 2, "undecided": 1}
    (picture,) = out.glob("*.png")
    assert picture.stat().st_size > 5000


def test_report_is_made_of_the_stored_results(finished):
    out, _ = finished
    content = json.loads((out / "results.json").read_text())
    assert report_text(content) == (out / "report.md").read_text()
    (depth, _) = content["tables"]
    assert depth["rows"][0]["values"].keys() >= {"parameters", "mlm_accuracy", "sop_accuracy", "cola"}


def test_cells_record_what_was_run(finished):
    out, _ = finished
    records = [json.loads(file.read_text()) for file in (out / "cells").iterdir()]
    kinds = sorted(record["kind"] for record in records)
    assert kinds == ["ensemble", "finetune", "finetune", "layers", "pretrain", "pretrain"]
    pretrained = [record for record in records if record["kind"] == "pretrain"]
    assert all(record["steps"] == 4 and len(record["curve"]) == 2 for record in pretrained)


def test_reproduce_runs_only_the_cells_without_a_result(finished, inputs, monkeypatch):
    out, first = finished
    before = {file: file.stat().st_mtime_ns for file in (out / "cells").iterdir()}
    next((out / "cells").glob("ensemble-*")).unlink()
    assert reproduce(inputs, out).claims == first.claims
    after = {file: file.stat().st_mtime_ns for file in (out / "cells").iterdir()}
    assert sum(after[file] != time_ for file, time_ in before.items()) == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_failed_cells_do_not_stop_the_others(inputs, tmp_path, jobs):
    table = tmp_path / "broken.yaml"
    rows = [
        {"name": "broken", "model": "small", "set": {"train.learning_rate": 1e30, "train.max_grad_norm": None}},
        {"name": "after it", "model": "small", "start_from": "broken"},
        {"name": "fine", "model": "small"},
    ]
    table.write_text(yaml.safe_dump({"title": "t", "tasks": False, "measures": ["mlm_loss"], "rows": rows}))
    scale = tmp_path / "scale.yaml"
    values = {**SCALE, "settings": {**SCALE["settings"], "train.max_consecutive_skipped_steps": 0}}
    scale.write_text(yaml.safe_dump(values))
    result = reproduce(inputs.replace(tables=(str(table),), scale=str(scale)), tmp_path / "out", jobs=jobs)
    assert len(result.failed) == 2
    assert "failed: pretrain-" in result.to_text()
    text = (tmp_path / "out" / "report.md").read_text()
    assert "| fine | 0.01M |" in text
    assert "| broken | 0.01M | – |" in text


def test_check_exits_with_1_where_a_claim_does_not_hold(finished, inputs, capsys):
    out, _ = finished
    words = [*inputs.tables, "--scale", inputs.scale, "--corpus", str(inputs.corpus), "--data", str(inputs.data[0])]
    assert main(["reproduce", *words, "--out", str(out)]) == 0
    assert main(["reproduce", *words, "--out", str(out), "--check"]) == 1
    assert "claims: 0 held, 2 not held, 1 undecided" in capsys.readouterr().out


def test_plan_prices_the_cells_that_are_not_finished(finished, inputs, capsys, tmp_path):
    out, _ = finished
    words = [*inputs.tables, "--scale", inputs.scale, "--corpus", str(inputs.corpus), "--data", str(inputs.data[0])]
    for directory, done in ((tmp_path / "new", 0), (out, 6)):
        assert main(["reproduce", *words, "--out", str(directory), "--plan", "--json"]) == 0
        priced = json.loads(capsys.readouterr().out)
        assert priced["cells"] == {"pretrain": 2, "finetune": 2, "ensemble": 1, "layers": 1}
        assert priced["finished"] == done
        assert (priced["flops"] == 0) == (done == 6)
    assert not (tmp_path / "new").exists()


def test_table_without_models_costs_nothing(inputs, tmp_path, capsys):
    words = ["reproduce", "table-14", "--corpus", str(inputs.corpus), "--out", str(tmp_path / "out")]
    assert main([*words, "--plan"]) == 0
    assert "cells: none; 0 finished" in capsys.readouterr().out
    assert main(words) == 0
    assert "Hyperparameters" in (tmp_path / "out" / "report.md").read_text()


def test_table_14_has_the_settings_of_the_recipes_beside_those_of_the_paper(inputs, tmp_path):
    out = tmp_path / "out"
    assert reproduce(inputs.replace(tables=("table-14",), scale="tiny"), out).claims["held"] == 1
    text = (out / "report.md").read_text()
    assert "| cola | 1e-05 (1e-05) | 16 (16) | 0 (0) | 0.1 (0.1) | 5336 (5336) | 320 (320) | 512 (512) |" in text
    assert "| the recipes of all tasks have the paper's settings | held | 84 settings are equal |" in text


def test_table_1_has_the_sizes_of_the_models_and_runs_nothing(inputs, tmp_path):
    out = tmp_path / "out"
    result = reproduce(inputs.replace(tables=("table-1",), scale="tiny"), out)
    assert result.claims == {"held": 6, "not held": 0, "undecided": 0}
    assert not (out / "runs").exists()
    text = (out / "report.md").read_text()
    assert "|  | parameters | layers | hidden size | embedding size |" in text
    assert "(18M) | 8 (24) | 160 (1024) | 32 (128) |" in text
    assert "| held | 108,490,752 without pooler |" in text


def test_report_keeps_the_tables_of_earlier_calls_in_the_order_of_the_paper(inputs, tmp_path):
    out = tmp_path / "out"
    for name in ("table-14", "table-1", "table-14"):
        reproduce(inputs.replace(tables=(name,), scale="tiny"), out)
    text = (out / "report.md").read_text()
    assert text.count("## Table 1: ") == text.count("## Table 14: ") == 1
    assert text.index("## Table 1: ") < text.index("## Table 14: ")


@pytest.mark.parametrize("content", ["", "{}", '{"tables": [{"name": "table-2"}]}'])
def test_damaged_report_is_written_anew(inputs, tmp_path, content):
    out = tmp_path / "out"
    (out / "cells").mkdir(parents=True)
    (out / "results.json").write_text(content)
    reproduce(inputs.replace(tables=("table-14",), scale="tiny"), out)
    assert [table["name"] for table in json.loads((out / "results.json").read_text())["tables"]] == ["table-14"]


def test_reproduce_refuses_results_of_other_labelled_files(finished, inputs, tmp_path):
    out, _ = finished
    other = write_cola(tmp_path / "other")
    with (other / "CoLA" / "dev.tsv").open("a") as stream:
        stream.write("src\t1\t\tone more\n")
    with pytest.raises(CheckpointError, match=r"data.json: the results in .* are of other files of cola than those"):
        reproduce(inputs.replace(data=(other,)), out)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"key": "x", "metrics": {}}'])
def test_damaged_result_of_a_cell_is_refused_with_its_file(finished, inputs, content):
    out, _ = finished
    file = next((out / "cells").glob("pretrain-*"))
    before = file.read_text()
    try:
        file.write_text(content)
        with pytest.raises(CheckpointError, match=rf"{file.name}: not the result of {file.stem}; remove it"):
            reproduce(inputs, out)
    finally:
        file.write_text(before)


def test_cell_whose_weights_are_trained_again_may_fail(finished, inputs, tmp_path, monkeypatch):
    """Its first result is there, but a model that needs its weights cannot start."""
    out = shutil.copytree(finished[0], tmp_path / "out", ignore=shutil.ignore_patterns("runs"))
    next((out / "cells").glob("ensemble-*")).unlink()
    monkeypatch.setitem(worker.RUNNERS, "pretrain", lambda job: 1 / 0)
    assert "ensemble" in reproduce(inputs, out).failed[-1]


def test_reproduce_names_what_has_no_data(inputs, tmp_path, capsys):
    words = ["reproduce", inputs.tables[0], "--scale", inputs.scale, "--corpus", str(inputs.corpus), "--plan"]
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    assert "left out, for lack of data: cola" in capsys.readouterr().out
    assert main([*words, "--out", str(tmp_path / "out"), "--data", str(tmp_path / "nowhere")]) == 2
    assert "nowhere is not a directory; give those that hold the files of the tasks" in capsys.readouterr().err


def test_output_that_is_a_file_is_refused(inputs, tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(CheckpointError, match="out: is a file, expected a directory"):
        reproduce(inputs, tmp_path / "out")


@pytest.mark.parametrize(
    ("table", "seeds", "package", "message"),
    [
        (0, 3, "scipy", r"testing claims .*litebert\[eval\]"),
        (1, 1, "matplotlib", r"plotting .*litebert\[plot\]"),
    ],
)
def test_reproduce_needs_what_the_report_needs_before_the_first_run(
    inputs, tmp_path, monkeypatch, table, seeds, package, message
):
    for module in [name for name in sys.modules if name.partition(".")[0] == package] or [package]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=message):
        reproduce(inputs.replace(tables=(inputs.tables[table],), seeds=seeds), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_paper_scale_is_for_planning_only(inputs, tmp_path):
    with pytest.raises(ConfigError, match=r"scale paper: is for --plan only .*a copy of its file without that line"):
        reproduce(inputs.replace(scale="paper"), tmp_path / "out")
    with pytest.raises(ConfigError, match=r"jobs: expected 1 to \d+, 32 for each core, found 0"):
        reproduce(inputs, tmp_path / "out", jobs=0)


def test_a_copy_of_the_paper_scale_without_its_line_can_be_run(tmp_path):
    text = named_file("scales", "paper").read_text()
    (tmp_path / "mine.yaml").write_text(text.replace("runs: false\n", ""))
    assert load_scale(str(tmp_path / "mine.yaml")) == load_scale("paper").replace(runs=True)


def start(inputs, out):
    words = [*inputs.tables, "--scale", inputs.scale, "--corpus", str(inputs.corpus), "--data", str(inputs.data[0])]
    command = [sys.executable, "-m", "litebert", "reproduce", *words, "--out", str(out), "--jobs", "2"]
    return ForkedPopen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_interrupted_reproduction_ends_with_the_same_report(finished, inputs, tmp_path, number):
    expected, _ = finished
    for trial in range(trials(1, 3)):
        out = tmp_path / f"out{trial}"
        process = start(inputs, out)
        while not list(out.glob("runs/*/metrics.jsonl")):
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(trial)
        os.kill(process.pid, number)
        assert process.wait() == (143 if number == signal.SIGTERM else -number)
        # A stopped command reports what is finished.
        assert (out / "report.md").exists() == (number == signal.SIGTERM)
        reproduce(inputs, out)
        assert (out / "report.md").read_text() == (expected / "report.md").read_text()


def processes_that_write_below(directory):
    found = []
    for output in Path("/proc").glob("[0-9]*/fd/1"):
        with suppress(OSError):  # it has ended, or belongs to someone else
            found += [int(output.parts[2])] if output.readlink().is_relative_to(directory) else []
    return found


def test_killed_worker_is_a_failed_cell_that_the_same_command_resumes(finished, inputs, tmp_path):
    expected, _ = finished
    out = tmp_path / "out"
    process = start(inputs, out)
    while not (workers := processes_that_write_below(out)):
        assert process.poll() is None
        time.sleep(0.1)
    for process_id in workers:
        os.kill(process_id, signal.SIGKILL)
    assert process.wait() == 1
    assert reproduce(inputs, out).failed == ()
    assert (out / "report.md").read_text() == (expected / "report.md").read_text()


def test_worker_refuses_a_cell_that_another_worker_still_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "LOCK_SECONDS", 0.1)
    job = Job("pretrain-1", "pretrain", {}, [], str(tmp_path / "run"), "corpus", str(tmp_path / "result.json"))
    with (
        FileLock(tmp_path / "run.lock"),
        pytest.raises(CheckpointError, match=r"run: another worker still writes to it after 0.1 seconds"),
    ):
        run_job(job)
    assert not (tmp_path / "result.json").exists()
