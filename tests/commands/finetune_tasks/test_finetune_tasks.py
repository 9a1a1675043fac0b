"""Several benchmarks in one command, after an intermediate task."""

import json
import sys
from shutil import copytree, rmtree

import pytest
import torch
from safetensors.torch import load_file

from litebert.cli.main import main
from litebert.commands.compare.compare import differences_from
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import load_finetune_config
from litebert.commands.finetune_tasks.finetune_tasks import FinetuneTasksResult, TaskScores, finetune_tasks
from litebert.commands.finetune_tasks.finetune_tasks_settings import FinetuneTasksRun
from litebert.commands.recipes import recipe_names
from litebert.errors import CheckpointError, ConfigError, DataError, DivergedError, LitebertError, MissingExtraError
from litebert.settings import changed_names, flatten, is_permitted, read_yaml
from litebert.tasks.metrics.bootstrap_difference import BootstrapDifference
from litebert.tasks.metrics.seed_statistics import statistics_of
from litebert.training.checkpointing.checkpoint import locked_directory
from support.data.benchmark_files import write_cola, write_mnli
from support.data.question_builders import QUESTIONS, squad_json, write_squad
from support.models.tolerances import tolerance, within
from support.runs.tiny_runs import save_pretrained

WRONG = ("x", "=x", "x=", "model=x", "random-weights=x", "a/b=x")
DECIDED = {
    "model=m": "--model and --compare",
    "from_scratch=true": "--random-weights",
    "baseline=true": "--baselines",
    "data.task=rte": "TASKS",
    "data.directory=d": "--task-dir",
    "data={task: rte, directory: d}": "TASKS",
}
"""Setting → the argument that decides it."""
SHORT = ("train.duration=2 steps", "train.warmup=0.1", "train.evaluate_every=null", "train.device=cpu")
SHORT += ("train.precision=fp32", "batch_size=4", "max_length=16")
OF_SIZE = ("batch_size", "microbatch_size", "max_length", "hidden_dropout_prob", "attention_probs_dropout_prob")
OF_SIZE += ("train.learning_rate", "train.bias_correction", "train.duration", "train.schedule", "train.warmup")
OF_SIZE += ("train.evaluate_every", "train.checkpoint_every", "train.optimizer", "train.muon_learning_rate")
OF_SIZE += ("standardize_scores",)  # the paper's recipe trains on the scores as they are
OF_SIZE += ("duplicate_token_logit",)  # read only where heads are fitted, which large models do not need
"""Settings that a recipe chooses for the size of the model and for its cost."""
DIRECT = {"intermediate": None, "intermediate_settings": ()}


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
    assert first.scores["cola"].models["model"]["matthews"].trials == 2
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
    words = ["finetune-tasks", "all", "--model", str(model), "--task-dir", str(data), "--out", str(tmp_path / "out")]
    assert main([*words, "--settings", *SHORT]) == 0
    printed = capsys.readouterr().out
    assert "cola: matthews" in printed
    assert "mnli: accuracy" in printed
    assert not (tmp_path / "out" / "intermediate").exists()


def test_table_compares_the_model_with_others_and_with_baselines(inputs, tiny_tokenizer, tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    other = save_pretrained(tiny_tokenizer, tmp_path / "other", intermediate_size=48)
    compared = {"baselines": True, "random_weights": True, "compare": (f"start={other}",), "recipes": "small"}
    run = run_of(inputs, tmp_path / "out", intermediate=None, intermediate_settings=(), seeds=2, **compared)
    result = finetune_tasks(run)
    scores = result.scores["cola"]
    assert list(scores.models) == ["random-weights", "start", "model"]
    assert scores.linear is not None
    for name, directory in (
        ("random-weights", "compared/random-weights"),
        ("start", "compared/start"),
        ("model", "."),
    ):
        runs = [
            json.loads((tmp_path / "out" / directory / "cola" / f"seed={n}" / "result.json").read_text())
            for n in (0, 1)
        ]
        found = sorted(each["best"]["metrics"]["matthews"] for each in runs)
        assert scores.models[name]["matthews"].median == pytest.approx(sum(found) / 2)
        settings = (tmp_path / "out" / directory / "cola" / "seed=0" / "settings.yaml").read_text()
        assert ("from_scratch: true" in settings) == (name == "random-weights")
        assert (str(other) in settings) == (name == "start")
    header, _, row, *legend = (tmp_path / "out" / "table.md").read_text().splitlines()
    assert header == (
        "| task | rows | metric | tf-idf, linear model | random-weights | start | model | "
        "model - random-weights, means | model - start, means |"
    )
    assert "of fewer than 6 seeds their range" in legend[1]
    assert "the means, not of the medians" in legend[3]
    assert row.startswith(f"| cola | {scores.train_examples} | matthews | ")
    for name in ("random-weights", "start"):
        means = [scores.models[each]["matthews"].mean for each in ("model", name)]
        assert scores.differences[name].difference == pytest.approx(means[0] - means[1], abs=tolerance())
        assert f"{100 * scores.differences[name].difference:+.1f} (" in row
    monkeypatch.setattr("litebert.commands.finetune_tasks.finetune_tasks.differences_from", None)
    assert finetune_tasks(run).to_dict() == result.to_dict()  # the differences are kept
    assert "tf-idf, linear model" in result.to_text()


@pytest.mark.usefixtures("forked_python")
@pytest.mark.parametrize(
    ("metric", "cells"),
    [
        ("pearson", ["25.0", "61.2", "60.0", "+1.2 (-0.5 to +3.0)"]),
        ("answer_f1", ["0.2", "0.6", "0.6", "+0.0 (-0.0 to +0.0)"]),
        ("neg_mean_absolute_error", ["0.25", "0.612", "0.6", "+0.012 (-0.005 to +0.03)"]),
    ],
)
def test_table_has_percent_but_errors_in_the_unit_of_the_labels(tmp_path, metric, cells):
    models = {name: {metric: statistics_of([score])} for name, score in (("model", 0.612), ("other", 0.6))}
    difference = BootstrapDifference(0.012, -0.005, 0.03)
    scores = {"sts-b": TaskScores(metric, 10, 10, 0.25, models, {"other": difference})}
    assert FinetuneTasksResult(tmp_path, None, scores).rows()[1] == ["sts-b", "10", metric, *cells]


def test_runs_at_the_same_time_are_those_of_one_after_the_other(inputs, tmp_path, monkeypatch):
    usual = {"intermediate": None, "intermediate_settings": (), "random_weights": True, "seeds": 2}
    alone = run_of(inputs, tmp_path / "alone", **usual)
    finetune_tasks(alone)
    run = run_of(inputs, tmp_path / "parallel", **usual)
    with monkeypatch.context() as patch:
        patch.setenv("WORLD_SIZE", "2")
        with pytest.raises(ConfigError, match="run it without torchrun"):
            finetune_tasks(run, jobs=2)
    parallel = finetune_tasks(run, jobs=2)
    for name in ("random-weights", "model"):
        words = []
        for seed in (0, 1):
            expected, found = (
                load_file(each.directory_of("cola", name=name, seed=seed) / "model" / "model.safetensors")
                for each in (alone, run)
            )
            assert all(torch.allclose(found[key], expected[key], **within(depth="compound")) for key in expected)
            words.append(found["albert.embeddings.word_embeddings.weight"])
        assert not torch.equal(*words)
    logs = {file.relative_to(run.out / "logs").as_posix() for file in (run.out / "logs").rglob("*.log")}
    assert logs == {f"{name}cola/seed={seed}.log" for name in ("compared/random-weights/", "") for seed in (0, 1)}
    monkeypatch.setattr("litebert.commands.finetune_tasks.finetune_tasks.train_in_parallel", None)
    assert finetune_tasks(run, jobs=2).to_dict() == parallel.to_dict()  # nothing is trained again


@pytest.mark.usefixtures("forked_python")
def test_intermediate_run_at_several_jobs_has_a_process_of_its_own(inputs, tmp_path):
    run = run_of(inputs, tmp_path / "out")
    result = finetune_tasks(run, jobs=2)
    (log,) = (run.out / "logs" / "intermediate").iterdir()
    assert log.stem == result.intermediate.name
    taken = tmp_path / "bad" / "intermediate"
    taken.parent.mkdir()
    taken.write_text("not a directory")
    with pytest.raises(LitebertError, match=r"1 runs failed: intermediate/mnli-.*The first: "):
        finetune_tasks(run_of(inputs, tmp_path / "bad"), jobs=2)


def saved_precisions(out):
    files = sorted(out.rglob("seed=*/settings.yaml"))
    return [read_yaml(file)["train"]["precision"] for file in files]


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.usefixtures("forked_python")
def test_runs_that_leave_their_precision_open_have_the_same_one(inputs, tmp_path, monkeypatch, jobs):
    """With several jobs each process would measure it while others keep the processor busy."""
    found = iter(("bf16", "fp32", "fp32", "fp32"))
    monkeypatch.setattr("litebert.model.matmul_speed.fastest_precision", lambda config, device, use: next(found))
    open_ = tuple(word for word in SHORT if "precision" not in word)
    run = run_of(
        inputs, tmp_path / "out", intermediate=None, intermediate_settings=(), settings=open_, random_weights=True
    )
    finetune_tasks(run, jobs=jobs)
    assert saved_precisions(run.out) == ["bf16", "bf16"]
    assert json.loads((run.out / "precision.json").read_text()) == {"precision": "bf16"}
    compared = []
    monkeypatch.setattr(
        "litebert.commands.finetune_tasks.finetune_tasks.differences_from",
        lambda models, *rest: compared.extend(models) or differences_from(models, *rest),
    )
    for file in (run.out / "compared").rglob("difference-*.json"):
        file.unlink()
    finetune_tasks(run.replace(seeds=2), jobs=jobs)
    assert saved_precisions(run.out) == ["bf16"] * 4
    assert [(each.arguments.precision, each.arguments.device) for each in compared] == [("bf16", "cpu")] * 2


def test_a_stop_between_comparisons_keeps_the_finished_ones(inputs, tiny_tokenizer, tmp_path, monkeypatch):
    other = save_pretrained(tiny_tokenizer, tmp_path / "other", intermediate_size=48)
    compared = {"random_weights": True, "compare": (f"start={other}",)}
    run = run_of(inputs, tmp_path / "out", intermediate=None, intermediate_settings=(), **compared)

    def stopped(*arguments):
        yield next(differences_from(*arguments))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("litebert.commands.finetune_tasks.finetune_tasks.differences_from", stopped)
        with pytest.raises(KeyboardInterrupt):
            finetune_tasks(run)
    kept = {file: file.read_bytes() for file in (run.out / "compared").rglob("difference-*.json")}
    assert [file.relative_to(run.out).parts[1] for file in kept] == ["random-weights"]
    asked = []
    monkeypatch.setattr(
        "litebert.commands.finetune_tasks.finetune_tasks.differences_from",
        lambda models, waiting, *rest: asked.append([*waiting]) or differences_from(models, waiting, *rest),
    )
    finetune_tasks(run)
    assert asked == [["start"]]
    assert all(file.read_bytes() == content for file, content in kept.items())


def test_runs_that_have_started_keep_their_precision(inputs, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("litebert.model.matmul_speed.fastest_precision", lambda config, device, use: "fp32")
    open_ = tuple(word for word in SHORT if "precision" not in word)
    run = run_of(inputs, tmp_path / "out", intermediate_settings=open_, settings=open_, seeds=2)
    first = finetune_tasks(run)
    (run.out / "precision.json").write_text('{"precision": "bf16"}')
    assert finetune_tasks(run).to_dict() == first.to_dict()  # nothing is refused
    assert "its runs have the precisions" not in caplog.text
    finetune_tasks(run.replace(seeds=3))
    assert saved_precisions(run.out) == ["fp32", "fp32", "bf16"]
    assert "its runs have the precisions bf16, fp32, which each of them measured" in caplog.text


def test_run_that_diverges_is_named_and_does_not_stop_the_others(inputs, tmp_path, monkeypatch):
    def perhaps_diverged(run, out, **options):
        if out in diverged:
            raise DivergedError("the loss is not finite")
        return finetune(run, out, **options)

    monkeypatch.setattr("litebert.commands.finetune_tasks.parallel_runs.finetune", perhaps_diverged)
    run = run_of(inputs, tmp_path / "out", tasks=("mnli", "cola"), **DIRECT, random_weights=True, seeds=2)
    diverged = {run.directory_of("mnli", name="model", seed=seed) for seed in (0, 1)}
    diverged |= {run.directory_of("cola", name="random-weights", seed=0)}
    found = finetune_tasks(run)
    assert set(found.failed) == {"mnli/seed=0", "mnli/seed=1", "compared/random-weights/cola/seed=0"}
    assert found.failed["mnli/seed=0"] == "the loss is not finite"
    assert (found.scores["mnli"].models["model"], found.scores["mnli"].differences) == ({}, {})
    scores = found.scores["cola"].models["random-weights"]["matthews"]
    assert (scores.scores[0], scores.trials) == (None, 1)
    mnli, cola = found.rows()[1:]
    assert (mnli[-2:], cola[3].endswith(" (1 of 2 seeds)")) == (["–", "–"], True)
    text = found.to_text()
    assert "mnli: no run has scores" in text
    assert "without scores: mnli/seed=0: the loss is not finite" in text
    diverged.clear()
    assert finetune_tasks(run).failed == {}


def test_exit_code_is_1_if_no_run_has_scores(inputs, tmp_path, monkeypatch, capsys):
    def diverge(*_, **__):
        raise DivergedError("the loss is not finite")

    monkeypatch.setattr("litebert.commands.finetune_tasks.parallel_runs.finetune", diverge)
    model, data = map(str, inputs)
    words = ["finetune-tasks", "cola", "--model", model, "--task-dir", data, "--out", str(tmp_path / "out")]
    assert main([*words, "--settings", *SHORT]) == 1
    assert "without scores: cola/seed=0: the loss is not finite" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "result.json").read_text())["scores"] == {}


def test_table_says_that_differences_have_thresholds_of_the_same_rows(tmp_path):
    models = {name: {"f1": statistics_of([score])} for name, score in (("other", 0.6), ("model", 0.612))}
    difference = {"other": BootstrapDifference(0.012, -0.005, 0.03)}
    for tuned in (False, True):
        scores = {"mrpc": TaskScores("f1", 10, 10, None, models, difference, has_tuned_thresholds=tuned)}
        assert ("Thresholds were tuned (mrpc)" in FinetuneTasksResult(tmp_path, None, scores).to_markdown()) == tuned


@pytest.mark.usefixtures("forked_python")
def test_failed_run_is_named_and_the_other_tasks_have_their_result(inputs, tmp_path):
    model, data = inputs
    copied = copytree(data, tmp_path / "glue")
    train = copied / "CoLA" / "train.tsv"
    rows = train.read_text()
    train.write_text("damaged\n")
    run = run_of((model, copied), tmp_path / "out", tasks=("cola", "mnli"), **DIRECT)
    found = finetune_tasks(run, jobs=2)
    assert "train.tsv" in found.failed["cola/seed=0"]
    assert list(json.loads((run.out / "result.json").read_text())["scores"]) == ["mnli"]
    train.write_text(rows)
    assert list(finetune_tasks(run, jobs=2).scores) == ["cola", "mnli"]
    assert not list((run.out / "failures").rglob("*.json"))


@pytest.mark.parametrize("missing", ["CoLA", "MNLI"])
def test_new_directory_needs_the_files_of_all_tasks(inputs, tmp_path, missing):
    """Otherwise the second task would end the command after the hours of the first."""
    model, data = inputs
    copied = copytree(data, tmp_path / "glue")
    (copied / missing / "train.tsv").unlink()
    settings = tuple(word for word in SHORT if "precision" not in word)
    given = {"settings": settings, "intermediate_settings": settings}
    for tasks in ({"tasks": ("cola",)}, {**DIRECT, "tasks": ("mnli", "cola"), "intermediate_settings": ()}):
        with pytest.raises(DataError, match=r"train\.tsv"):
            finetune_tasks(run_of((model, copied), tmp_path / "out", **{**given, **tasks}))
        assert not (tmp_path / "out").exists()


def test_parallel_runs_need_their_files_and_a_directory_of_their_own(inputs, tmp_path):
    model, _ = inputs
    with pytest.raises(DataError, match=r"train\.tsv"):
        finetune_tasks(run_of((model, tmp_path), tmp_path / "out", **DIRECT), jobs=2)
    assert not (tmp_path / "out").exists()
    with locked_directory(tmp_path / "out"), pytest.raises(CheckpointError, match="another process"):
        finetune_tasks(run_of(inputs, tmp_path / "out", **DIRECT), jobs=2)


def test_run_whose_process_is_killed_is_named_with_its_code(inputs, tmp_path, monkeypatch):
    def killed(runs, worker, ended, **_):
        return [run for run in runs if worker(run) and not ended(run, -9)]

    monkeypatch.setattr("litebert.commands.finetune_tasks.parallel_runs.run_workers", killed)
    run = run_of(inputs, tmp_path, intermediate=None, intermediate_settings=())
    assert finetune_tasks(run, jobs=2).failed == {"cola/seed=0": "its process ended with code -9"}


def test_baselines_may_be_added_to_finished_runs_and_left_out_again(inputs, tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    plain, scored = (run_of(inputs, tmp_path / "out", **DIRECT, baselines=baselines) for baselines in (False, True))
    before = finetune_tasks(plain)
    after = finetune_tasks(scored)
    assert (before.scores["cola"].linear, before.scores["cola"].models) == (None, after.scores["cola"].models)
    assert after.scores["cola"].linear is not None
    monkeypatch.setattr("litebert.commands.finetune_tasks.finetune_tasks.read_data", None)  # the score is kept
    assert finetune_tasks(scored).to_dict() == after.to_dict()
    assert finetune_tasks(plain).to_dict() == before.to_dict()


def test_baselines_of_other_rows_are_scored_again(inputs, tmp_path):
    pytest.importorskip("sklearn")
    data = write_cola(tmp_path / "glue")
    given = {"task_dir": data, "baselines": True}
    before = finetune_tasks(run_of(inputs, tmp_path / "out", **DIRECT, **given))
    rmtree(tmp_path / "out" / "cola")  # finished runs of other rows are refused
    dev = data / "CoLA" / "dev.tsv"
    flipped = dev.read_text().translate(str.maketrans("01", "10"))
    dev.write_text(flipped)
    after = finetune_tasks(run_of(inputs, tmp_path / "out", **DIRECT, **given))
    assert after.scores["cola"].linear == -before.scores["cola"].linear != 0


def test_thresholds_of_unanswerable_questions_are_not_scores(inputs, tmp_path):
    for split in ("train", "dev"):
        (tmp_path / "SQuAD").mkdir(exist_ok=True)
        write_squad(tmp_path / "SQuAD" / f"{split}-v2.0.json", squad_json(*QUESTIONS))
    given = {"tasks": ("squad-v2.0",), "task_dir": tmp_path, "settings": (*SHORT, "max_length=32")}
    result = finetune_tasks(run_of(inputs, tmp_path / "out", **DIRECT, **given))
    assert set(result.scores["squad-v2.0"].models["model"]) == {"exact_match", "answer_f1"}


def test_model_settings_are_those_of_the_model_but_not_of_the_models_it_is_compared_with(inputs, tmp_path):
    fitted = ("fit_duplicate_token_heads=if_pairs",)
    run = run_of(inputs, tmp_path, **DIRECT, random_weights=True, compare=("other=x",), model_settings=fitted, seeds=2)
    runs = {name: run.run_on("cola", name=name, model="m", seed=1) for name in run.model_names}
    found = {name: each.fit_duplicate_token_heads for name, each in runs.items()}
    assert found == {"random-weights": False, "other": False, "model": "if_pairs"}
    assert {each.seed for each in runs.values()} == {1}


def test_baselines_need_scikit_learn_before_the_first_run(inputs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtraError, match=r"--baselines .*litebert\[eval\]"):
        finetune_tasks(run_of(inputs, tmp_path / "out", **DIRECT, baselines=True))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("recipe", [name for name in recipe_names("finetune") if name.endswith("-small")])
def test_recipes_of_a_small_encoder_differ_from_those_of_the_paper_in_few_settings(recipe):
    """Metrics, head, weights of the labels, optimizer and all else are the same."""
    name = recipe.removesuffix("-small")
    given = {"model": "m", "data": {"task": "race-middle" if name == "race" else name, "directory": "d"}}
    small, paper = (load_finetune_config(each, given=given) for each in (recipe, name))
    changed = changed_names(*(flatten(run.to_dict()) for run in (small, paper)))
    assert not [each for each in changed if not is_permitted(each, OF_SIZE)]
    assert small.train.learning_rate > 3 * paper.train.learning_rate
    assert small.max_length <= paper.max_length
    assert small.hidden_dropout_prob == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"compare": ("start=x",)}, "other models would start from another encoder"),
        *(
            ({"intermediate": None, "intermediate_settings": (), "compare": (word,)}, "expected NAME=MODEL")
            for word in WRONG
        ),
        ({"intermediate": None, "intermediate_settings": (), "compare": ("a=x", "a=y")}, "a name is given twice"),
        ({"tasks": ("cola", "cola")}, "one is named twice, or is the intermediate task too"),
        ({"tasks": ("mnli",)}, "one is named twice, or is the intermediate task too"),
        ({"tasks": ("ax",)}, "ax has no training data; remove it"),
        ({"intermediate": None}, "there is no intermediate task; name it"),
        ({"settings": (*SHORT, "seed=3")}, "settings: seed is decided by --seeds; remove it"),
        ({"model_settings": ("seed=3",)}, "model_settings: seed is decided by --seeds"),
        ({"model_settings": ("data.dev=train",)}, "model_settings: data.dev is decided by --settings, for all models"),
        ({"model_settings": ("metrics=[f1]",)}, "model_settings: metrics is decided by --settings, for all models"),
        ({"model_settings": ("tune_thresholds=true",)}, "tune_thresholds is decided by --settings, for all models"),
        *(
            ({field: (word,)}, f"{field}: {word.partition('=')[0]} is decided by {argument}; remove")
            for field in ("settings", "model_settings", "intermediate_settings")
            for word, argument in DECIDED.items()
        ),
        ({"tasks": ("collla",)}, "unknown task 'collla'"),
    ],
)
def test_wrong_settings_of_several_tasks_are_errors(inputs, tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        run_of(inputs, tmp_path, **changes)
