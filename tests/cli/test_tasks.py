"""Published tasks and files of one's own through the command line: three commands from a file to answers."""

import csv
import json
import shutil
import zipfile

import pytest

from litebert.cli.main import main
from support.benchmark_files import write_cola
from support.labelled_files import write_opinions

QUICK = ("train.duration=2 steps", "train.device=cpu", "max_length=32")


@pytest.fixture(scope="module")
def tuned(made, tmp_path_factory):
    """(directory of the published files, model directory fine-tuned on them)."""
    here = tmp_path_factory.mktemp("glue")
    data = write_cola(here / "data")
    words = ["--model", str(made / "run" / "model"), "--task", "cola", "--data", str(data), "--out", str(here / "run")]
    assert main(["finetune", "quickstart", *QUICK, *words]) == 0
    return data, here / "run" / "model"


def test_three_commands_lead_from_a_file_to_answers_that_transformers_gives_too(made, tmp_path, capsys):
    transformers = pytest.importorskip("transformers")
    file, run, answers = write_opinions(tmp_path / "opinions.csv"), tmp_path / "run", tmp_path / "answers.csv"
    words = ["--model", str(made / "run" / "model"), "--train", str(file), "--out", str(run)]
    assert main(["finetune", "quickstart", *QUICK, *words]) == 0
    assert main(["evaluate", str(run / "model"), "--data", str(file), "--report", str(tmp_path / "page.html")]) == 0
    assert main(["predict", str(run / "model"), str(file), str(answers)]) == 0
    assert "on 36 rows" in capsys.readouterr().out
    assert "Worst errors" in (tmp_path / "page.html").read_text()
    theirs = transformers.pipeline("text-classification", model=str(run / "model"))
    with answers.open(newline="") as content:
        for row in list(csv.DictReader(content))[:6]:
            (answer,) = theirs([row["text"]])
            assert answer["label"] == row["prediction"]
            assert answer["score"] == pytest.approx(float(row["probability"]), abs=1e-4)


def test_a_published_task_is_evaluated_answered_and_packed(tuned, tmp_path, capsys):
    data, model = tuned
    assert main(["evaluate", str(model), "--task", "cola", "--data", str(data), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["parts"]) == {"dev"}
    assert main(["predict", str(model), str(data), str(tmp_path / "CoLA.tsv"), "--task", "cola"]) == 0
    assert (tmp_path / "CoLA.tsv").read_text().startswith("index\tprediction\n0\t")
    assert main(["submit", f"cola={model}", "--data", str(data), "--out", str(tmp_path / "glue.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "glue.zip") as archive:
        assert archive.read("CoLA.tsv").decode() == (tmp_path / "CoLA.tsv").read_text()
    assert "the leaderboard also expects" in capsys.readouterr().out


def test_ensembles_and_what_they_wrote_are_packed_alike(tuned, tmp_path, capsys):
    data, model = tuned
    for seed in "01":
        shutil.copytree(model, tmp_path / "runs" / f"seed={seed}" / "model")
    members = [str(tmp_path / "runs" / f"seed={seed}") for seed in "01"]
    answers, words = tmp_path / "CoLA.tsv", ["--data", str(data), "--out"]
    ensemble = ["ensemble", *members, "--task", "cola", "--part", "test", *words, str(answers)]
    assert main(ensemble) == 0
    given = {
        "pattern": [f"cola={tmp_path}/runs/*"],
        "each": [f"cola={path}" for path in members],
        "file": [str(answers)],
    }
    for name, values in given.items():
        assert main(["submit", *values, *words, str(tmp_path / f"{name}.zip")]) == 0
        with zipfile.ZipFile(tmp_path / f"{name}.zip") as archive:
            assert archive.read("CoLA.tsv").decode() == answers.read_text()
    shown = capsys.readouterr().out
    assert shown.count("an average of 2 models") == 2
    assert "a file of answers" in shown


def test_files_of_ones_own_are_scored_as_a_part_of_a_published_task(tuned, capsys):
    data, model = tuned
    (data / "CoLA" / "mine.tsv").write_text("src\t1\t\tthe film was good\nsrc\t0\t\tthe film was bad\n")
    words = ["evaluate", str(model), "--task", "cola", "--data", str(data), "--files", "dev=mine.tsv", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["parts"]["dev"]["examples"] == 2


def test_every_verb_takes_files_of_ones_own_by_their_paths(made, tuned, tmp_path, monkeypatch):
    data, model = tuned
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few.tsv").write_text("index\tsentence\n7\tthe film was good\n")
    (tmp_path / "rows.tsv").write_text("src\t1\t\tthe film was good\nsrc\t0\t\tthe film was bad\n")
    cola, own = ["--task", "cola", "--data", str(data)], ["--files", "test=few.tsv"]
    assert main(["predict", str(model), str(data), "one.tsv", "--task", "cola", *own]) == 0
    assert main(["ensemble", str(model), *cola, *own, "--out", "two.tsv"]) == 0
    files = ["--files", "cola.test=few.tsv"]
    assert main(["submit", f"cola={model}", "--data", str(data), *files, "--out", "glue.zip"]) == 0
    with zipfile.ZipFile("glue.zip") as archive:
        answers = archive.read("CoLA.tsv").decode()
    assert "\n7\t" in answers
    assert [(tmp_path / f"{name}.tsv").read_text() for name in ("one", "two")] == [answers] * 2
    words = ["--model", str(made / "run" / "model"), *cola, "--files", "train=rows.tsv", "dev=rows.tsv", "--out", "run"]
    assert main(["finetune", "quickstart", *QUICK, *words]) == 0
    assert json.loads((tmp_path / "run" / "result.json").read_text())["train_examples"] == 2


def test_a_model_of_pairs_reads_the_columns_of_its_training_and_no_half_pairs(made, tmp_path, capsys):
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
    first, second, *_, third = capsys.readouterr().out.splitlines()
    assert first == second == third
    assert main(["predict", model, str(tmp_path / "half.csv"), str(answers)]) == 3
    assert "no column 'hypothesis'; the model learned from two texts" in capsys.readouterr().err
    assert not answers.exists()


def test_words_in_columns_come_back_with_their_tags(made, tmp_path, capsys):
    (tmp_path / "train.conll").write_text("the O\nfilm B-X\n\nmusic B-X\nwas O\n" * 10)
    (tmp_path / "new.conll").write_text("the\nmusic\n")
    words = ["--model", str(made / "run" / "model"), "--train", str(tmp_path / "train.conll")]
    assert main(["finetune", "quickstart", *QUICK, *words, "--out", str(tmp_path / "run")]) == 0
    tags = tmp_path / "tags.conll"
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "run" / "model"), str(tmp_path / "new.conll"), str(tags), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["words"] == 2
    assert [line.split("\t")[0] for line in tags.read_text().splitlines()] == ["the", "music"]
    assert main(["evaluate", str(tmp_path / "run" / "model"), "--data", str(tags)]) == 0
    assert "word_accuracy 1.0000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "m", "--data", "d", "--files", "dev=x"], "files: only with a published task"),
        (["predict", "m", "d", "o.csv", "--files", "dev=x"], "give --task, or the file itself as INPUT"),
        (["predict", "m", "d", "o.csv", "--part", "dev"], "part: only with a published task"),
        (["ensemble", "m", "--data", "d", "--files", "dev=x"], "give --task, or the file itself as --data"),
        (
            ["predict", "m", "d", "o.tsv", "--task", "cola", "--part", "dev", "--files", "test=x"],
            "part: 'dev', but --files gives a file for 'test'; leave --part out",
        ),
        (
            ["predict", "m", "d", "o.tsv", "--task", "cola", "--text", "a", "--options", "b", "c", "--top-k", "5"],
            "text, options, top_k: a published task has its own; leave out what is named, or give its file as INPUT",
        ),
        (
            ["predict", "m", "d", "o.tsv", "--task", "cola", "--text-pair", "a"],
            "text_pair: a published task has its own",
        ),
        (
            ["evaluate", "m", "--task", "cola", "--data", "d", "--slice", "a"],
            "slice: a published task has its own; leave out what is named, or give its file as --data, without --task",
        ),
        (["ensemble", "m", "--task", "cola", "--data", "d", "--label", "label"], "label: a published task has its own"),
        (
            ["finetune", "cola", "--model", "m", "--out", "o", "--data", "d", "--text", "a", "--kind", "regression"],
            "text, kind: a published task has its own; leave out what is named, or give its file as --train",
        ),
        (
            ["sweep", "cola", "--model", "m", "--out", "o", "--data", "d", "--dev", "x"],
            "dev: a published task has its own; give yours, laid out alike, by --files dev=FILE",
        ),
        (
            ["evaluate", "m", "--data", "dev.json", "--text", "text", "--slice", "a"],
            "text, slice: a .json file has places of its own for what is asked; leave out what is named",
        ),
        (
            ["finetune", "quickstart", "--model", "m", "--out", "o", "--train", "t.json", "--label", "a"],
            "label: a .json file has places of its own",
        ),
        (
            ["sweep", "quickstart", "--model", "m", "--out", "o", "--train", "t.bio", "--label", "a", "--seeds", "2"],
            "label: a .bio file has places of its own",
        ),
        (["predict", "m", "dev.json", "o", "--text", "a"], "text: a .json file has places of its own"),
        (["submit", "cola=m", "--data", "d", "--out", "x.zip", "--files", "test=x"], "is no test file of GLUE"),
        (
            ["finetune", "quickstart", "--model", "m", "--out", "o", "--train", "x", "--files", "dev=x"],
            "give --task, or the file itself as --train and --dev",
        ),
        (
            ["finetune", "cola", "--model", "m", "--out", "o", "--data", "d", "--files", "test=x"],
            "files: train and dev are read, not test",
        ),
        (["evaluate", "m", "--task", "cola", "--data", "d", "--files", "x.tsv"], "files: give PART=FILE"),
        (["evaluate", "m", "--task", "cola", "--data", "d", "--files", "dev=x", "dev=y"], "files: give PART=FILE"),
        (["finetune", "quickstart", "--model", "m", "--out", "o"], "give either --train (a labelled file), or --task"),
        (["finetune", "quickstart", "--model", "m", "--out", "o", "--task", "cola"], "give either --train"),
        (["finetune", "quickstart", "--model", "m", "--out", "o", "--task", "cola", "--train", "x"], "give either"),
        (
            ["finetune", "quickstart", "--model", "m", "--out", "o", "--task", "kola", "--data", "d"],
            "unknown task 'kola' (did you mean 'cola'?)",
        ),
        (["submit", "cola", "--data", "d", "--out", "x.zip"], "give TASK=MODEL for one task or more"),
        (["submit", "--data", "d", "--out", "x.zip"], "give TASK=MODEL for one task or more"),
        (["submit", "cola=nowhere/*", "--data", "d", "--out", "x.zip"], "'cola=nowhere/*' matches no directory"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(capsys, words, message):
    assert main(words) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["finetune", "predict", "evaluate", "submit"])
def test_help_names_the_tasks(capsys, verb):
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    shown = capsys.readouterr().out
    assert "task" in shown
    if verb == "finetune":
        assert "cola, sst-2, mrpc" in " ".join(shown.split())
