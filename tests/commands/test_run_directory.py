"""The run directory: made once, found again by the same settings, refused to everybody else."""

import json
import platform
import subprocess
from dataclasses import dataclass

import pytest

from litebert.commands import run_directory as directory
from litebert.commands.compute import Compute
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.result import Result
from litebert.commands.run_directory import FREE, RunDirectory, environment, package_version, processor_name
from litebert.errors import ConfigError
from litebert.settings import Settings, read_yaml, write_yaml
from litebert.training.train_settings import TrainSettings


@dataclass(frozen=True)
class Finished(Result):
    steps: int

    def to_text(self) -> str:
        return f"{self.steps} steps"


class Inner(Settings):
    rate: float = 0.1
    """A number."""
    depth: int = 2
    """Another."""


class Plan(Settings):
    seed: int = 0
    """A number."""
    microbatch_size: int = 8
    """A number on which nothing depends."""
    inner: Inner = Inner()
    """Settings in settings."""
    more: Inner | None = None
    """Settings that need not be there."""


def opened(path, kind="pretrain", allowed=(), **changes):
    """Found again, or made."""
    plan = Plan(**changes)
    run = RunDirectory.open(path, plan, kind=kind, allowed=allowed)
    run.begin(plan, kind=kind)
    return run


def test_settings_and_environment_are_written_first(tmp_path):
    run = opened(tmp_path / "run", seed=3)
    assert read_yaml(run.settings_file) == {
        "kind": "pretrain",
        "seed": 3,
        "microbatch_size": 8,
        "inner": {"rate": 0.1, "depth": 2},
        "more": None,
    }
    assert json.loads((run.path / "environment.json").read_text())["python"] == platform.python_version()


def test_nothing_is_made_before_the_run_begins(tmp_path):
    RunDirectory.open(tmp_path / "run", Plan(), kind="pretrain")
    assert not (tmp_path / "run").exists()


def test_it_is_found_again_and_left_as_it_is(tmp_path):
    before = opened(tmp_path / "run").settings_file.stat().st_mtime_ns
    assert opened(tmp_path / "run").settings_file.stat().st_mtime_ns == before


@pytest.mark.parametrize("left_by_a_killed_process", [["settings.yaml"], []])
def test_a_process_killed_while_making_it_can_be_started_again(tmp_path, left_by_a_killed_process):
    run = opened(tmp_path / "run")
    for file in run.path.iterdir():
        if file.name not in left_by_a_killed_process:
            file.unlink()
    assert opened(tmp_path / "run").settings_file.exists()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"seed": 1}, r"\(seed\)"),
        ({"inner": {"rate": 0.2}}, r"\(inner\.rate\)"),
        ({"kind": "finetune"}, r"\(kind\)"),
        ({"seed": 1, "inner": {"rate": 0.2}}, r"\(inner\.rate, seed\)"),
    ],
)
def test_other_settings_are_refused_and_named(tmp_path, changes, named):
    opened(tmp_path / "run")
    with pytest.raises(ConfigError, match=named):
        opened(tmp_path / "run", **changes)


def forget(run: RunDirectory, *names: str) -> None:
    """Leave the settings as a version wrote them that did not know these."""
    values = read_yaml(run.settings_file)
    for name in names:
        *outer, last = name.split(".")
        del (values[outer[0]] if outer else values)[last]
    run.settings_file.write_text(write_yaml(values))


@pytest.mark.parametrize("name", ["seed", "inner", "inner.rate"])
def test_a_run_from_before_a_setting_existed_is_found_again(tmp_path, name):
    run = opened(tmp_path / "run")
    run.finish(Finished(3))
    forget(run, name)
    before = run.settings_file.read_bytes()
    assert opened(tmp_path / "run").result(Finished) == Finished(3)
    assert run.settings_file.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "changes", "named"),
    [
        ("seed", {"seed": 1}, r"\(seed\)"),
        ("inner", {"inner": {"rate": 0.2}}, r"\(inner\.rate\)"),
        ("inner.depth", {"inner": {"depth": 3}}, r"\(inner\.depth\)"),
        ("more", {"more": {}}, r"\(more\.depth, more\.rate\)"),
    ],
)
def test_another_value_than_the_default_of_such_a_setting_is_refused(tmp_path, name, changes, named):
    forget(opened(tmp_path / "run"), name)
    with pytest.raises(ConfigError, match=named):
        opened(tmp_path / "run", **changes)


def test_nothing_is_not_the_default_of_something(tmp_path):
    """Settings that were left out, and are now given at the defaults of their class."""
    opened(tmp_path / "run")
    with pytest.raises(ConfigError, match=r"\(more\.depth, more\.rate\)"):
        opened(tmp_path / "run", more={})


def test_somebody_elses_directory_or_file_is_not_touched(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    for path in (tmp_path, tmp_path / "thesis.tex"):
        with pytest.raises(ConfigError, match="exists and is not a run directory"):
            opened(path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_empty_directory_is_welcome(tmp_path):
    assert opened(tmp_path).settings_file.exists()


def test_the_result_is_there_once_the_run_is_finished(tmp_path):
    run = opened(tmp_path / "run")
    assert run.result(Finished) is None
    run.finish(Finished(steps=3))
    assert run.result(Finished) == Finished(steps=3)


def test_the_paths_of_a_run(tmp_path):
    run = RunDirectory(tmp_path)
    names = {path.name for path in (run.settings_file, run.metrics, run.model, run.result_file)}
    assert names == {"settings.yaml", "metrics.jsonl", "model", "result.json"}


def test_the_environment_names_versions_machine_and_commit():
    found = environment()
    assert found["packages"]["numpy"]
    assert found["processor"]
    assert set(found) == {"command", "python", "platform", "processor", "packages", "commit"}


def test_what_a_machine_does_not_tell_is_left_out(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError

    monkeypatch.setattr(subprocess, "run", refuse)
    assert environment()["commit"] is None
    monkeypatch.setattr(directory.Path, "read_text", refuse)
    assert processor_name() == (platform.processor() or platform.machine())
    monkeypatch.setattr(directory.Path, "read_text", lambda *args, **kwargs: "no such line\n")
    assert processor_name() == platform.machine()
    assert package_version("no-such-package") == "missing"


@pytest.mark.parametrize("allowed", [["inner.rate"], ["inner"], ["inner.rate", "seed"]])
def test_settings_that_may_change_take_the_place_of_the_old_ones(tmp_path, allowed):
    """A finished run with another length, say, is not finished any more."""
    opened(tmp_path).finish(Finished(3))
    changed = opened(tmp_path, inner=Inner(rate=9.0), allowed=allowed)
    assert changed.result(Finished) is None
    assert read_yaml(changed.settings_file)["inner"] == {"rate": 9.0, "depth": 2}


def test_a_permission_that_is_not_used_leaves_a_finished_run_finished(tmp_path):
    opened(tmp_path).finish(Finished(3))
    assert opened(tmp_path, allowed=["inner"]).result(Finished)


def test_what_no_number_depends_on_may_change_and_a_finished_run_stays_finished(tmp_path):
    opened(tmp_path).finish(Finished(3))
    changed = opened(tmp_path, microbatch_size=4)
    assert changed.result(Finished) == Finished(3)
    assert read_yaml(changed.settings_file)["microbatch_size"] == 4


@pytest.mark.parametrize("run", [PretrainRun, FinetuneRun])
def test_the_settings_that_may_always_change_exist(run):
    parts = {"train": TrainSettings, "compute": Compute}
    inner = {f"{part}.{name}" for part, settings in parts.items() for name in settings.model_fields}
    assert run.model_fields.keys() | inner >= FREE


def test_a_permission_for_another_setting_does_not_help(tmp_path):
    opened(tmp_path)
    with pytest.raises(ConfigError, match=r"settings \(inner.rate\): inner.rate was 0.1, is 9.0\. .*own, or"):
        opened(tmp_path, inner=Inner(rate=9.0), allowed=["in", "seed"])
