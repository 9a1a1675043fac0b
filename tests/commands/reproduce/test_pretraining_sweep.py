"""Grids of pretraining runs, with tasks, as one table."""

import sys

import pytest

from litebert.cli.main import main
from litebert.commands.reproduce.pretraining_sweep_settings import load_pretraining_sweep, parse_points, rows_of
from litebert.commands.reproduce.report import TableReport
from litebert.commands.reproduce.reproduce import sweep_pretraining
from litebert.errors import ConfigError, MissingExtraError
from support.data.benchmark_files import write_cola, write_race

SMALL = [
    *("init=random", "sampling.max_length=32", "max_eval_examples=16"),
    *("train.duration=3 steps", "train.precision=fp32", "train.device=cpu", "model.hidden_size=16"),
    *("model.num_attention_heads=2", "model.intermediate_size=32", "model.num_hidden_layers=1"),
]
SIZES = "model.embedding_size=4,8"


def test_points_are_settings_with_one_value_and_a_grid_of_those_with_several():
    single, grid = parse_points(["train.precision=fp32", "model.sharing=all,none", "model.num_hidden_layers=1..3"])
    assert single == {"train.precision": "fp32"}
    assert grid == {"model.sharing": ("all", "none"), "model.num_hidden_layers": (1, 2, 3)}


def test_point_without_a_value_is_refused():
    with pytest.raises(ConfigError, match="train: the value is empty"):
        parse_points(["train="])


def test_pretraining_sweep_has_a_row_for_every_combination():
    names = [row.name for row in rows_of({"a": (1, 2), "b": ("x", "y")})]
    assert names == ["a=1, b=x", "a=1, b=y", "a=2, b=x", "a=2, b=y"]


def test_pretraining_sweep_writes_one_table_and_adds_rows(corpus_directory, tmp_path, capsys):
    data = write_cola(tmp_path / "glue")
    words = ["sweep", "pretrain", "tiny", *SMALL, "--corpus", str(corpus_directory), "--out", str(tmp_path / "out")]
    words += ["--tasks", "all", "--data", str(data), "--finetune", "train.duration=2 steps", "max_length=16"]
    words += ["train.warmup=0.1", "train.evaluate_every=null", "train.device=cpu"]
    for sizes, rows in (("4,8", 2), ("4,8,16", 3)):
        assert main([*words[:3], f"model.embedding_size={sizes}", *words[3:]]) == 0
        lines = (tmp_path / "out" / "report.md").read_text().splitlines()
        assert sum(line.startswith("| model.embedding_size=") for line in lines) == rows
        assert "|  | parameters | embedding size | tokens/s | MLM | MLM loss | cola |" in lines
        (first, *_) = [line for line in lines if line.startswith("| model.embedding_size=4 ")]
        assert " (1.00x) | " in first
        constant, linear = lines[-2:]
        assert constant.startswith("| constant prediction | – ")
        assert constant.endswith("| 0.0 |")
        assert linear.startswith("| tf-idf and a linear model | – ")
    assert "2 of 8 cells to run" in capsys.readouterr().err


def test_models_with_causal_steps_have_the_scores_of_next_tokens_in_the_table(corpus_directory, tmp_path):
    words = [*SMALL, "sampling.causal_fraction=0.5,0"]
    run = load_pretraining_sweep(words, finetune=[], given={"recipe": "tiny", "corpus": corpus_directory})
    header, _, causal, masked = sweep_pretraining(run, tmp_path / "out").report.read_text().splitlines()[-4:]
    assert header.endswith("| MLM | MLM loss | next tokens | next-token loss |")
    assert "–" not in causal
    assert masked.endswith("| – | – |")


def test_runs_from_other_weights_at_the_same_path_are_other_runs(corpus_directory, tmp_path):
    (tmp_path / "model").mkdir()
    words = [*SMALL, SIZES, f"init_checkpoint={tmp_path / 'model'}"]

    def names(weights):
        (tmp_path / "model" / "model.safetensors").write_text(weights)
        run = load_pretraining_sweep(words, finetune=[], given={"recipe": "tiny", "corpus": corpus_directory})
        return [cells.model.key for cells in run.cells()]

    assert names("one") == names("one")
    assert set(names("one")).isdisjoint(names("other"))


def test_a_task_without_baselines_has_none_in_the_table(corpus_directory, tmp_path):
    """Multiple choice: the rows are there, their cells are empty."""
    write_race(tmp_path / "race")
    given = {"recipe": "tiny", "corpus": corpus_directory, "tasks": ("race-middle",), "data": (tmp_path / "race",)}
    finetune = ["train.duration=1 steps", "train.evaluate_every=null", "train.warmup=0", "max_length=32"]
    finetune += ["batch_size=2", "microbatch_size=2"]
    run = load_pretraining_sweep([*SMALL, SIZES], finetune=finetune, given=given)
    *_, constant, linear = sweep_pretraining(run, tmp_path / "out").report.read_text().splitlines()
    assert set(constant.split(" | ")[1:]) == set(linear.split(" | ")[1:]) == {"–", "– |"}


def test_all_tasks_need_files(corpus_directory, tmp_path):
    for data in ((), (tmp_path,)):
        given = {"recipe": "tiny", "corpus": corpus_directory, "tasks": ("all",), "data": data}
        with pytest.raises(ConfigError, match="tasks: all those with files, but no"):
            load_pretraining_sweep([*SMALL, SIZES], finetune=[], given=given)


def test_tasks_need_scikit_learn_before_the_first_run(corpus_directory, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    write_cola(tmp_path)
    write_race(tmp_path / "race")
    given = {"recipe": "tiny", "corpus": corpus_directory, "data": (tmp_path, tmp_path / "race")}
    load_pretraining_sweep([*SMALL, SIZES], finetune=[], given={**given, "tasks": ("race-middle",)})
    with pytest.raises(MissingExtraError, match=r"the linear baseline of --tasks .*litebert\[eval\]"):
        load_pretraining_sweep([*SMALL, SIZES], finetune=[], given={**given, "tasks": ("cola", "race-middle")})


def test_speed_of_a_row_is_relative_to_the_first():
    speeds = {"a": [100.0, 120.0, 80.0], "b": [150.0, None, 170.0], "c": [None]}
    rows = [{"name": name, "paper": {}, "values": {"tokens_per_second": each}} for name, each in speeds.items()]
    report = TableReport("grid", "t", "", "s", ["tokens_per_second"], rows, [], [], [], [])
    lines = report.to_markdown().splitlines()[-3:]
    assert lines == ["| a | 100 (1.00x) |", "| b | 160 (1.60x) (2 of 3 seeds) |", "| c | – |"]


def test_pretraining_sweep_refuses_what_it_cannot_do(corpus_directory, tmp_path, capsys):
    words = ["sweep", "pretrain", "tiny", "--corpus", str(corpus_directory), "--out", str(tmp_path / "out")]
    assert main([*words[:3], "model.embedding_size=4", *words[3:]]) == 2
    assert "grid" in capsys.readouterr().err
    assert main([*words[:3], SIZES, *words[3:], "--tasks", "cola"]) == 2
    assert "cola: its files are not given; give the directory of the benchmark (--data)" in capsys.readouterr().err
    assert main([*words[:3], SIZES, *words[3:], "--tasks", "colla"]) == 2
    assert "did you mean 'cola'?" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("settings", "finetune", "message"),
    [
        (["seed=1,2"], [], "seed=1: seed is decided by --seeds; remove it"),
        ([SIZES, "seed=7"], [], "model.embedding_size=4: seed is decided by --seeds; remove it"),
        ([SIZES], ["seed=5"], "fine-tuning on cola: seed is decided by --seeds; remove it"),
        ([SIZES], ["model=other"], "fine-tuning on cola: model is decided by the row; remove it"),
        ([SIZES], ["data.task=sst-2"], "fine-tuning on cola: data.task is decided by the tasks; remove it"),
        ([SIZES], ["data.directory=other"], "fine-tuning on cola: data.directory is decided by --data; remove it"),
        ([SIZES], ["batch_size=8,16"], "finetune: batch_size has 2 values; give one, all runs have the same"),
    ],
)
def test_pretraining_sweep_refuses_settings_that_it_would_ignore(
    corpus_directory, tmp_path, settings, finetune, message
):
    data = (write_cola(tmp_path / "glue"),)
    given = {"recipe": "tiny", "corpus": corpus_directory, "tasks": ("cola",), "data": data}
    with pytest.raises(ConfigError, match=f"^{message}$"):
        load_pretraining_sweep([*SMALL, *settings], finetune=finetune, given=given)


def test_settings_of_fine_tuning_need_tasks(corpus_directory):
    with pytest.raises(ConfigError, match=r"finetune: there are no tasks; name them \(--tasks\)"):
        load_pretraining_sweep(
            [*SMALL, SIZES], finetune=["batch_size=8"], given={"recipe": "tiny", "corpus": corpus_directory}
        )


def test_pretraining_sweep_refuses_a_directory_with_other_files(corpus_directory, tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    words = ["sweep", "pretrain", "tiny", *SMALL, SIZES, "--corpus", str(corpus_directory), "--out", str(tmp_path)]
    assert main(words) == 4
    assert "holds other files; choose a new directory" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_analyze_layers_measures_and_draws_every_layer(pretrained_directory, corpus_directory, tmp_path, capsys):
    out = tmp_path / "layers.png"
    words = ["analyze", "layers", str(pretrained_directory), "--corpus", str(corpus_directory), "--out", str(out)]
    assert main([*words, "--examples", "4"]) == 0
    assert capsys.readouterr().out.count("\n      ") == 2
    assert out.stat().st_size > 5000
    assert main(["analyze", "layers", "--corpus", str(corpus_directory)]) == 2
    assert main([*words[:-1], str(tmp_path / "layers.txt")]) == 2


@pytest.fixture(scope="module")
def pretrained_directory(corpus_directory, tmp_path_factory):
    from litebert.tokenization.tokenizer import Tokenizer
    from support.runs.tiny_runs import save_pretrained

    tokenizer = Tokenizer.load(corpus_directory / "tokenizer")
    directory = tmp_path_factory.mktemp("model") / "model"
    save_pretrained(tokenizer, directory, num_hidden_layers=2, max_position_embeddings=128)
    return directory


@pytest.mark.parametrize(("recipes", "rate"), [("paper", 1e-5), ("small", 3e-4)])
def test_tasks_have_the_recipes_that_are_named(corpus_directory, tmp_path, recipes, rate):
    data = (write_cola(tmp_path / "glue"),)
    given = {"recipe": "tiny", "corpus": corpus_directory, "tasks": ("all",), "data": data, "recipes": recipes}
    run = load_pretraining_sweep([*SMALL, "model.embedding_size=4,8"], finetune=[], given=given)
    assert run.tasks == ("cola",)
    rates = {cells.tasks["cola"].settings["train"]["learning_rate"] for cells in run.cells() if cells.model}
    assert rates == {rate}


@pytest.mark.parametrize("setting", ["microbatch_size=1,2", "compute.native_kernels=true,false"])
def test_grid_of_settings_that_do_not_change_results_is_refused(corpus_directory, setting):
    given = {"recipe": "tiny", "corpus": corpus_directory}
    with pytest.raises(ConfigError, match="would be one run, because these settings do not change its result"):
        load_pretraining_sweep([*SMALL, setting], finetune=[], given=given)
