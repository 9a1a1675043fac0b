"""Each verb once, through its command line: results on stdout as text and as JSON, messages elsewhere."""

import json
import subprocess
import sys

import pytest

from litebert import __version__
from litebert.cli.main import VERBS, main
from support.pretrain_runs import TOY

RESULTS = {
    "tokenizer encode": ["{tokenizer}", "the baker"],
    "corpus verify": ["{corpus}"],
    "corpus show": ["{corpus}", "--number", "1", "--max-length", "32"],
    "corpus stats": ["{corpus}", "--examples", "20", "--max-length", "32"],
    "pretrain": [],
    "evaluate held-out": ["{run}/model", "--corpus", "{corpus}", "--max-length", "32"],
    "evaluate labelled": ["{tuned}/model", "--data", "{labelled.csv}"],
    "predict": ["{tuned}/model", "{labelled.csv}", "{answers.csv}"],
    "analyze curves": ["{run}", "--over", "tokens"],
    "info": ["{run}/model"],
    "doctor": [],
}


def words_of(name, made):
    verb = name if name in VERBS else name.split()[0]
    places = [word.replace("{", f"{made}/").replace("}", "") for word in RESULTS[name]]
    return [*verb.split(), *places]


@pytest.mark.parametrize("name", [name for name in RESULTS if name != "pretrain"])
def test_a_verb_answers_in_text_and_in_json(made, capsys, name):
    words = words_of(name, made)
    assert main(words) == 0
    text = capsys.readouterr().out
    assert text.strip()
    assert main([*words, "--json"]) == 0
    for line in capsys.readouterr().out.splitlines():
        assert isinstance(json.loads(line), dict)


def test_a_finished_run_shows_its_result_again(made, capsys):
    words = ["pretrain", "quickstart", *TOY, "--corpus", str(made / "corpus"), "--out", str(made / "run"), "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 4


def test_printed_settings_are_a_recipe(made, capsys, tmp_path):
    words = ["--corpus", str(made / "corpus"), "--out", str(tmp_path / "run"), "--print-settings"]
    assert main(["pretrain", "tiny", "seed=5", *words]) == 0
    printed = capsys.readouterr().out
    recipe = tmp_path / "own.yaml"
    recipe.write_text(printed.replace(f"corpus: {made / 'corpus'}\n", ""))
    assert "seed: 5" in printed
    assert main(["pretrain", str(recipe), *words]) == 0
    assert capsys.readouterr().out == printed


def test_predictions_have_a_row_for_each_text(made, tmp_path):
    answers = tmp_path / "answers.jsonl"
    assert main(["predict", str(made / "tuned" / "model"), str(made / "labelled.csv"), str(answers)]) == 0
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    assert len(rows) == len((made / "labelled.csv").read_text().splitlines()) - 1
    assert {row["prediction"] for row in rows} <= {"bad", "good"}


def test_relative_paths_work(made, monkeypatch, capsys):
    monkeypatch.chdir(made)
    assert main(["corpus", "verify", "corpus"]) == 0
    assert capsys.readouterr().out.startswith("corpus: whole")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(capsys, verb):
    with pytest.raises(SystemExit) as left:
        main([*verb.split(), "--help"])
    assert left.value.code == 0
    assert f"usage: litebert {verb}" in capsys.readouterr().out


def test_the_overview_names_every_verb(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"litebert {verb}" in shown for verb in VERBS)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"litebert {__version__}\n"


def test_a_group_of_verbs_lists_its_members(capsys):
    assert main(["corpus"]) == 0
    assert capsys.readouterr().out.count("litebert corpus ") == 4


@pytest.mark.parametrize("words", [["--help"], ["info", "albert-xxlarge-v2"]])
def test_help_and_info_load_no_torch(words):
    code = f"import sys; from litebert.cli.main import main; main({words!r}); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(("rank", "lines"), [("0", 1), ("1", 0)])
def test_of_several_processes_the_first_one_answers(made, monkeypatch, capsys, rank, lines):
    monkeypatch.setenv("RANK", rank)
    assert main(["corpus", "verify", str(made / "corpus")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == lines
