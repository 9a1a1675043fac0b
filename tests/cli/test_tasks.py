"""Benchmarks and files of your own on the command line."""

import csv
import json
import re
import shutil
import zipfile

import pytest

from litebert.cli.main import main
from support.data.benchmark_files import write_cola
from support.data.labelled_files import write_opinions
from support.models.tolerances import tolerance

QUICK = ("train.duration=2 steps", "train.device=cpu", "max_length=32")


@pytest.fixture(scope="module")
def tuned(made, tmp_path_factory):
    """(directory of the published files, model directory fine-tuned on them)."""
    here = tmp_path_factory.mktemp("glue")
    data = write_cola(here / "data")
    words = [
        "--model",
        str(made / "run" / "model"),
        "--task",
        "cola",
        "--task-dir",
        str(data),
        "--out",
        str(here / "run"),
    ]
    assert main(["finetune", "quickstart", *QUICK, *words]) == 0
    return data, here / "run" / "model"


def test_finetune_evaluate_predict_give_the_predictions_of_transformers(made, tmp_path, capsys):
    transformers = pytest.importorskip("transformers")
    file, run, answers = write_opinions(tmp_path / "opinions.csv"), tmp_path / "run", tmp_path / "answers.csv"
    words = ["--model", str(made / "run" / "model"), "--train", str(file), "--out", str(run)]
    assert main(["finetune", "quickstart", *QUICK, *words]) == 0
    assert main(["evaluate", str(run / "model"), "--data", str(file), "--report", str(tmp_path / "page.html")]) == 0
    assert main(["predict", str(run / "model"), str(file), str(answers)]) == 0
    printed = capsys.readouterr().out
    assert "on 36 examples" in printed
    assert re.search(r"^ +precision +recall +f1 +examples\n  bad .* 18\n  good .* 18$", printed, re.MULTILINE)
    assert "Worst errors" in (tmp_path / "page.html").read_text()
    expected = transformers.pipeline("text-classification", model=str(run / "model"))
    with answers.open(newline="") as content:
        for row in list(csv.DictReader(content))[:6]:
            (answer,) = expected([row["text"]])
            assert answer["label"] == row["prediction"]
            assert answer["score"] == pytest.approx(float(row["probability"]), abs=tolerance(depth="compound"))


def test_benchmark_is_evaluated_predicted_and_submitted(tuned, tmp_path, capsys):
    data, model = tuned
    assert main(["evaluate", str(model), "--task", "cola", "--task-dir", str(data), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["splits"]) == {"dev"}
    assert main(["predict", str(model), str(data), str(tmp_path / "CoLA.tsv"), "--task", "cola"]) == 0
    assert (tmp_path / "CoLA.tsv").read_text().startswith("index\tprediction\n0\t")
    assert main(["glue-submission", f"cola={model}", "--task-dir", str(data), "--out", str(tmp_path / "glue.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "glue.zip") as archive:
        assert archive.read("CoLA.tsv").decode() == (tmp_path / "CoLA.tsv").read_text()
    assert "the leaderboard also expects" in capsys.readouterr().out


def test_glue_submission_takes_ensembles_and_their_files(tuned, tmp_path, capsys):
    data, model = tuned
    for seed in "01":
        shutil.copytree(model, tmp_path / "runs" / f"seed={seed}" / "model")
    members = [str(tmp_path / "runs" / f"seed={seed}") for seed in "01"]
    answers, words = tmp_path / "CoLA.tsv", ["--task-dir", str(data), "--out"]
    ensemble = ["ensemble", *members, "--task", "cola", "--split", "test", *words, str(answers)]
    assert main(ensemble) == 0
    given = {
        "pattern": [f"cola={tmp_path}/runs/*"],
        "each": [f"cola={path}" for path in members],
        "file": [str(answers)],
    }
    for name, values in given.items():
        assert main(["glue-submission", *values, *words, str(tmp_path / f"{name}.zip")]) == 0
        with zipfile.ZipFile(tmp_path / f"{name}.zip") as archive:
            assert archive.read("CoLA.tsv").decode() == answers.read_text()
    shown = capsys.readouterr().out
    assert shown.count("average of 2 models") == 2
    assert "given file" in shown


def test_evaluate_benchmark_takes_a_split_file(tuned, capsys):
    data, model = tuned
    (data / "CoLA" / "mine.tsv").write_text("src\t1\t\tthe film was good\nsrc\t0\t\tthe film was bad\n")
    words = [
        "evaluate",
        str(model),
        "--task",
        "cola",
        "--task-dir",
        str(data),
        "--split-file",
        "dev=mine.tsv",
        "--json",
    ]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["splits"]["dev"]["examples"] == 2


def test_commands_take_split_files_by_their_paths(made, tuned, tmp_path, monkeypatch):
    data, model = tuned
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few.tsv").write_text("index\tsentence\n7\tthe film was good\n")
    (tmp_path / "rows.tsv").write_text("src\t1\t\tthe film was good\nsrc\t0\t\tthe film was bad\n")
    cola, own = ["--task", "cola", "--task-dir", str(data)], ["--split-file", "test=few.tsv"]
    assert main(["predict", str(model), str(data), "one.tsv", "--task", "cola", *own]) == 0
    assert main(["ensemble", str(model), *cola, *own, "--out", "two.tsv"]) == 0
    files = ["--split-file", "cola.test=few.tsv"]
    assert main(["glue-submission", f"cola={model}", "--task-dir", str(data), *files, "--out", "glue.zip"]) == 0
    with zipfile.ZipFile("glue.zip") as archive:
        answers = archive.read("CoLA.tsv").decode()
    assert "\n7\t" in answers
    assert [(tmp_path / f"{name}.tsv").read_text() for name in ("one", "two")] == [answers] * 2
    words = [
        "--model",
        str(made / "run" / "model"),
        *cola,
        "--split-file",
        "train=rows.tsv",
        "dev=rows.tsv",
        "--out",
        "run",
    ]
    assert main(["finetune", "quickstart", *QUICK, *words]) == 0
    assert json.loads((tmp_path / "run" / "result.json").read_text())["train_examples"] == 2


def test_commands_use_the_columns_of_training_and_reject_half_pairs(made, tmp_path, capsys):
    rows = [f"the film,it is {name},{name}" for name in ("good", "bad")] * 8
    (tmp_path / "pairs.csv").write_text("\n".join(["premise,hypothesis,verdict", *rows]) + "\n")
    (tmp_path / "half.csv").write_text("premise\nthe film\n")
    words = [
        "--model",
        str(made / "run" / "model"),
        "--train",
        str(tmp_path / "pairs.csv"),
        "--out",
        str(tmp_path / "run"),
    ]
    named = ["--text", "premise", "--text-pair", "hypothesis", "--label", "verdict"]
    assert main(["finetune", "quickstart", *QUICK, *words, *named]) == 0
    model, pairs, answers = str(tmp_path / "run" / "model"), str(tmp_path / "pairs.csv"), tmp_path / "answers.csv"
    capsys.readouterr()
    assert main(["evaluate", model, "--data", pairs]) == main(["evaluate", model, "--data", pairs, *named]) == 0
    assert main(["ensemble", model, "--data", pairs]) == 0
    lines = capsys.readouterr().out.splitlines()
    first, second, third = [line for line in lines if line.startswith("accuracy ")]
    assert first == second == third
    assert main(["predict", model, str(tmp_path / "half.csv"), str(answers)]) == 3
    assert "no column 'hypothesis'; the model was trained on pairs" in capsys.readouterr().err
    assert not answers.exists()


def test_predict_conll_writes_labels_that_evaluate_reads(made, tmp_path, capsys):
    (tmp_path / "train.conll").write_text("the O\nfilm B-X\n\nmusic B-X\nwas O\n" * 10)
    (tmp_path / "new.conll").write_text("the\nmusic\n")
    words = ["--model", str(made / "run" / "model"), "--train", str(tmp_path / "train.conll")]
    assert main(["finetune", "quickstart", *QUICK, *words, "--out", str(tmp_path / "run")]) == 0
    tags = tmp_path / "tags.conll"
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "run" / "model"), str(tmp_path / "new.conll"), str(tags), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["words"] == 2
    assert [line.split("\t")[0] for line in tags.read_text().splitlines()] == ["the", "music"]
    assert main(["evaluate", str(tmp_path / "run" / "model"), "--data", str(tags)]) == 0
    assert "word_accuracy 1.0000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "m", "--data", "d", "--split-file", "dev=x"], "split_file: only with a benchmark"),
        (["predict", "m", "d", "o.csv", "--split-file", "dev=x"], "give --task, or the file itself as INPUT"),
        (["predict", "m", "d", "o.csv", "--split", "dev"], "split: only with a benchmark"),
        (["ensemble", "m", "--data", "d", "--split-file", "dev=x"], "give --task, or the file itself as --data"),
        (
            ["predict", "m", "d", "o.tsv", "--task", "cola", "--split", "dev", "--split-file", "test=x"],
            "split: 'dev', but --split-file gives a file for 'test'; remove --split",
        ),
        (
            ["predict", "m", "d", "o.tsv", "--task", "cola", "--text", "a", "--options", "b", "c", "--top-k", "5"],
            "text, options, top_k: a benchmark defines its own; leave them out, or give its file as INPUT",
        ),
        (
            ["predict", "m", "d", "o.tsv", "--task", "cola", "--text-pair", "a"],
            "text_pair: a benchmark defines its own",
        ),
        (
            ["evaluate", "m", "--task", "cola", "--task-dir", "d", "--slice", "a"],
            "slice: a benchmark defines its own; leave them out, or give its file as --data, without --task",
        ),
        (
            ["ensemble", "m", "--task", "cola", "--task-dir", "d", "--label", "label"],
            "label: a benchmark defines its own",
        ),
        (
            [
                "finetune",
                "cola",
                "--model",
                "m",
                "--out",
                "o",
                "--task-dir",
                "d",
                "--text",
                "a",
                "--task-type",
                "regression",
            ],
            "text, task_type: a benchmark defines its own; leave them out, or give its file as --train",
        ),
        (
            ["sweep", "cola", "--model", "m", "--out", "o", "--task-dir", "d", "--dev", "x"],
            "dev: a benchmark has its own; replace it by --split-file dev=FILE",
        ),
        (
            ["evaluate", "m", "--data", "dev.json", "--text", "text", "--slice", "a"],
            "text, slice: a .json file has no named columns; leave them out",
        ),
        (
            ["finetune", "quickstart", "--model", "m", "--out", "o", "--train", "t.json", "--label", "a"],
            "label: a .json file has no named columns",
        ),
        (
            ["sweep", "quickstart", "--model", "m", "--out", "o", "--train", "t.bio", "--label", "a", "--seeds", "2"],
            "label: a .bio file has no named columns",
        ),
        (
            ["glue-submission", "cola=m", "--task-dir", "d", "--out", "x.zip", "--split-file", "test=x"],
            "is no test file of GLUE",
        ),
        (
            ["finetune", "quickstart", "--model", "m", "--out", "o", "--train", "x", "--split-file", "dev=x"],
            "give --task, or the file itself as --train and --dev",
        ),
        (
            ["finetune", "cola", "--model", "m", "--out", "o", "--task-dir", "d", "--split-file", "test=x"],
            "split_files: only train and dev are read; remove test",
        ),
        (
            ["evaluate", "m", "--task", "cola", "--task-dir", "d", "--split-file", "x.tsv"],
            "split_file: expected SPLIT=FILE",
        ),
        (
            ["evaluate", "m", "--task", "cola", "--task-dir", "d", "--split-file", "dev=x", "dev=y"],
            "split_file: expected SPLIT=FILE",
        ),
        (["finetune", "quickstart", "--model", "m", "--out", "o"], "give either --train (a labelled file), or --task"),
        (["finetune", "quickstart", "--model", "m", "--out", "o", "--task", "cola"], "give either --train"),
        (["finetune", "quickstart", "--model", "m", "--out", "o", "--task", "cola", "--train", "x"], "give either"),
        (
            ["finetune", "quickstart", "--model", "m", "--out", "o", "--task", "kola", "--task-dir", "d"],
            "unknown task 'kola' (did you mean 'cola'?)",
        ),
        (["glue-submission", "cola", "--task-dir", "d", "--out", "x.zip"], "give TASK=MODEL for one task or more"),
        (["glue-submission", "--task-dir", "d", "--out", "x.zip"], "give TASK=MODEL for one task or more"),
        (
            ["glue-submission", "cola=nowhere/*", "--task-dir", "d", "--out", "x.zip"],
            "'cola=nowhere/*' matches no directory",
        ),
    ],
)
def test_commands_reject_arguments_that_do_not_fit(capsys, words, message):
    assert main(words) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["finetune", "predict", "evaluate", "glue-submission"])
def test_help_names_the_benchmarks(capsys, command):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = capsys.readouterr().out
    assert "task" in shown
    if command == "finetune":
        assert "cola, sst-2, mrpc" in " ".join(shown.split())
