"""The run directory: created once, reopened with the same settings, rejected with others."""

import json
import platform
from dataclasses import dataclass

import pytest
from pydantic import Field

from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.result import Result
from litebert.commands.runs.compute import Compute
from litebert.commands.runs.run_directory import ALWAYS_CHANGEABLE, RunDirectory, deciding_settings
from litebert.errors import ConfigError
from litebert.settings import Settings, read_yaml
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


def opened(path, command="pretrain", allowed=(), **changes):
    """Opened and begun."""
    plan = Plan(**changes)
    run = RunDirectory.open(path, plan, command=command, allowed=allowed)
    run.begin(plan, command=command)
    return run


@pytest.mark.parametrize("duration", ["2 steps", "9 examples", "1 epochs", "2k tokens", "3 minutes"])
def test_another_batch_size_is_permitted_where_the_end_of_a_run_does_not_depend_on_it(tmp_path, duration):
    train = {"duration": duration, "learning_rate": 0.1}
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    values = {"corpus": "c", "model": sizes, "batch_size": 8, "microbatch_size": 8, "train": train}
    first, other = (PretrainRun.parse({**values, "batch_size": size}, where="test") for size in (8, 16))
    RunDirectory.open(tmp_path / "run", first, command="pretrain").begin(first, command="pretrain")
    with pytest.raises(ConfigError, match=r"batch_size was 8, is 16\. Choose another --out") as refused:
        RunDirectory.open(tmp_path / "run", other, command="pretrain")
    assert ("permit the change" in str(refused.value)) == (duration in ("2k tokens", "3 minutes"))
    permitted = {**values, "batch_size": 16, "train": {**train, "allow_config_changes": ["batch_size"]}}
    if duration in ("2k tokens", "3 minutes"):
        run = PretrainRun.parse(permitted, where="test")
        allowed = run.train.allow_config_changes
        assert RunDirectory.open(tmp_path / "run", run, command="pretrain", allowed=allowed).has_other_settings
    else:
        with pytest.raises(ConfigError, match="batch_size can change only in a run of tokens or time"):
            PretrainRun.parse(permitted, where="test")


def test_settings_that_an_older_version_did_not_have_are_taken_as_their_defaults(tmp_path):
    run = opened(tmp_path / "run", seed=3)
    run.settings_file.write_text("command: pretrain\nseed: 3\ninner: {rate: 0.1}\n")
    opened(tmp_path / "run", seed=3)
    with pytest.raises(ConfigError, match=r"other settings \(inner.depth\): inner.depth was 2, is 4"):
        opened(tmp_path / "run", seed=3, inner=Inner(depth=4))
    run.settings_file.write_text("command: pretrain\nseed: 3\nremoved: 1\n")
    with pytest.raises(ConfigError, match="removed was 1, is None"):
        opened(tmp_path / "run", seed=3)


def test_run_directory_begins_with_settings_and_environment(tmp_path):
    run = opened(tmp_path / "run", seed=3)
    assert read_yaml(run.settings_file) == {
        "command": "pretrain",
        "seed": 3,
        "microbatch_size": 8,
        "inner": {"rate": 0.1, "depth": 2},
        "more": None,
    }
    assert json.loads((run.path / "environment.json").read_text())["python"] == platform.python_version()


def test_run_directory_is_not_created_before_begin(tmp_path):
    RunDirectory.open(tmp_path / "run", Plan(), command="pretrain")
    assert not (tmp_path / "run").exists()


def test_run_directory_is_reopened_unchanged(tmp_path):
    before = opened(tmp_path / "run").settings_file.stat().st_mtime_ns
    assert opened(tmp_path / "run").settings_file.stat().st_mtime_ns == before


@pytest.mark.parametrize("left_by_a_killed_process", [["settings.yaml"], []])
def test_run_directory_half_created_by_a_killed_process_can_be_reopened(tmp_path, left_by_a_killed_process):
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
        ({"command": "finetune"}, r"run: is a run of `pretrain`; choose another --out"),
        ({"command": "finetune", "allowed": ("command",)}, r"run: is a run of `pretrain`"),
        ({"seed": 1, "inner": {"rate": 0.2}}, r"\(inner\.rate, seed\)"),
    ],
)
def test_run_directory_rejects_and_names_changed_settings(tmp_path, changes, named):
    opened(tmp_path / "run")
    with pytest.raises(ConfigError, match=named):
        opened(tmp_path / "run", **changes)


def test_run_directory_distinguishes_none_from_default_settings(tmp_path):
    """Settings that were left out, and are now given at the defaults of their class."""
    opened(tmp_path / "run")
    with pytest.raises(ConfigError, match=r"\(more\.depth, more\.rate\)"):
        opened(tmp_path / "run", more={})


def test_run_directory_rejects_other_directories_and_files(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    for path in (tmp_path, tmp_path / "thesis.tex"):
        with pytest.raises(ConfigError, match="exists and is not a run directory"):
            opened(path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_run_directory_may_be_an_empty_directory(tmp_path):
    assert opened(tmp_path).settings_file.exists()


def test_run_directory_killed_while_it_wrote_its_settings_can_be_opened(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".settings.yaml.1.tmp").write_text("command: pre")
    run = opened(tmp_path / "run")
    assert read_yaml(run.settings_file)["command"] == "pretrain"
    assert sorted(file.name for file in run.path.iterdir()) == ["environment.json", "settings.yaml"]


def test_run_directory_has_a_result_once_finished(tmp_path):
    run = opened(tmp_path / "run")
    assert run.result(Finished) is None
    run.finish(Finished(steps=3))
    assert run.result(Finished) == Finished(steps=3)


def test_run_directory_paths(tmp_path):
    run = RunDirectory(tmp_path)
    names = {path.name for path in (run.settings_file, run.metrics, run.model, run.result_file)}
    assert names == {"settings.yaml", "metrics.jsonl", "model", "result.json"}


@pytest.mark.parametrize("allowed", [["inner.rate"], ["inner"], ["inner.rate", "seed"]])
def test_allowed_settings_replace_the_old_ones_and_unfinish_the_run(tmp_path, allowed):
    """A finished run with another length, say, is not finished any more."""
    opened(tmp_path).finish(Finished(3))
    changed = opened(tmp_path, inner=Inner(rate=9.0), allowed=allowed)
    assert changed.result(Finished) is None
    assert read_yaml(changed.settings_file)["inner"]["rate"] == 0.1
    assert changed.result_file.exists()
    changed.continue_with(Plan(inner=Inner(rate=9.0)), command="pretrain")
    assert read_yaml(changed.settings_file)["inner"] == {"rate": 9.0, "depth": 2}
    assert not changed.result_file.exists()


def test_unused_permission_leaves_a_finished_run_finished(tmp_path):
    opened(tmp_path).finish(Finished(3))
    assert opened(tmp_path, allowed=["inner"]).result(Finished)


def test_always_changeable_settings_leave_a_finished_run_finished(tmp_path):
    opened(tmp_path).finish(Finished(3))
    changed = opened(tmp_path, microbatch_size=4)
    assert changed.result(Finished) == Finished(3)
    assert read_yaml(changed.settings_file)["microbatch_size"] != 4
    changed.write_changes()
    assert read_yaml(changed.settings_file)["microbatch_size"] == 4
    assert changed.result(Finished) == Finished(3)


class About(Plan):
    """Settings with some that no weight depends on."""

    title: str = "a"
    """Of the card."""
    empty: dict[str, int] = Field(default={})
    """A group that has no settings."""

    @property
    def no_effect(self):
        return ("title", "inner.rate", "inner.depth")


def test_settings_without_effect_may_change_and_unfinish_the_run(tmp_path):
    plan = About()
    run = RunDirectory.open(tmp_path, plan, command="pretrain")
    run.begin(plan, command="pretrain")
    run.finish(Finished(3))
    assert RunDirectory.open(tmp_path, plan.replace(title="b"), command="pretrain").result(Finished) is None
    with pytest.raises(ConfigError, match=r"other settings \(seed\)"):
        RunDirectory.open(tmp_path, plan.replace(title="b", seed=1), command="pretrain")


def test_deciding_settings_leave_out_those_without_effect_and_groups_of_nothing_else():
    assert deciding_settings(About()) == {"seed": 0, "more": None, "empty": {}}


@pytest.mark.parametrize("run", [PretrainRun, FinetuneRun])
def test_always_changeable_settings_exist(run):
    parts = {"train": TrainSettings, "compute": Compute}
    inner = {f"{part}.{name}" for part, settings in parts.items() for name in settings.model_fields}
    assert run.model_fields.keys() | inner >= ALWAYS_CHANGEABLE


def test_permission_for_another_setting_does_not_help(tmp_path):
    opened(tmp_path)
    with pytest.raises(ConfigError, match=r"settings \(inner.rate\): inner.rate was 0.1, is 9.0\. .*own settings"):
        opened(tmp_path, inner=Inner(rate=9.0), allowed=["in", "seed"])
