"""Several benchmarks in one command, after an intermediate task."""

import json

import pytest

from litebert.cli.main import main
from litebert.commands.finetune_tasks.finetune_tasks import finetune_tasks
from litebert.commands.finetune_tasks.finetune_tasks_settings import FinetuneTasksRun
from litebert.errors import ConfigError
from support.data.benchmark_files import write_cola, write_mnli
from support.runs.tiny_runs import save_pretrained

SHORT = ("train.duration=2 steps", "train.warmup=0.1", "train.evaluate_every=null", "train.device=cpu")
SHORT += ("train.precision=fp32", "batch_size=4", "max_length=16")


@pytest.fixture(scope="module")
def inputs(tiny_tokenizer, tmp_path_factory):
    """A pretrained model and a directory of benchmarks."""
    root = tmp_path_factory.mktemp("tasks")
    data = write_mnli(write_cola(root / "glue"))
    mnli = data / "MNLI"
    if not (mnli / "train.tsv").exists():
        (mnli / "train.tsv").write_text((mnli / "dev_matched.tsv").read_text())
    return save_pretrained(tiny_tokenizer, root / "pretrained"), data


def run_of(inputs, out, **changes):
    model, data = inputs
    usual = {"tasks": ("cola",), "intermediate": "mnli", "settings": SHORT, "intermediate_settings": SHORT}
    return FinetuneTasksRun.parse({**usual, "model": str(model), "task_dir": data, "out": out, **changes}, where="test")


def test_tasks_start_from_one_run_of_the_intermediate_task(inputs, tmp_path):
    out = tmp_path / "out"
    first = finetune_tasks(run_of(inputs, out, seeds=2))
    (intermediate,) = (out / "intermediate").iterdir()
    assert first.intermediate == intermediate
    about = [json.loads((out / "cola" / f"seed={seed}" / "environment.json").read_text()) for seed in (0, 1)]
    assert all(str(intermediate) in json.dumps(each) for each in about)
    assert first.scores["cola"]["matthews"].trials == 2
    assert json.loads((out / "result.json").read_text()) == first.to_dict()
    assert f"intermediate task: {intermediate}" in first.to_text()

    changed = intermediate / "result.json"
    before = changed.stat().st_mtime_ns
    assert finetune_tasks(run_of(inputs, out, seeds=2)).to_dict() == first.to_dict()
    assert changed.stat().st_mtime_ns == before


def test_intermediate_run_with_other_settings_is_another_one(inputs, tmp_path):
    runs = [
        finetune_tasks(run_of(inputs, tmp_path / str(size), intermediate_settings=(*SHORT, f"batch_size={size}")))
        for size in (4, 8)
    ]
    names = [run.intermediate.name for run in runs]
    assert all(name.startswith("mnli-") for name in names)
    assert names[0] != names[1]


def test_command_without_intermediate_task_starts_from_the_model(inputs, tmp_path, capsys):
    model, data = inputs
    words = ["finetune-tasks", "cola", "--model", str(model), "--task-dir", str(data), "--out", str(tmp_path / "out")]
    assert main([*words, "--settings", *SHORT]) == 0
    assert "cola: matthews" in capsys.readouterr().out
    assert not (tmp_path / "out" / "intermediate").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": ("cola", "cola")}, "one is named twice, or is the intermediate task too"),
        ({"tasks": ("mnli",)}, "one is named twice, or is the intermediate task too"),
        ({"tasks": ("ax",)}, "ax has no training data; remove it"),
        ({"intermediate": None}, "there is no intermediate task; name it"),
        ({"settings": (*SHORT, "seed=3")}, "the seeds are those of --seeds"),
        ({"tasks": ("collla",)}, "unknown task 'collla'"),
    ],
)
def test_wrong_settings_of_several_tasks_are_errors(inputs, tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        run_of(inputs, tmp_path, **changes)
