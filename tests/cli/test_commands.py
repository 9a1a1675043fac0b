"""Each command once: results on stdout as text and as JSON, messages on stderr."""

import io
import json
import subprocess
import sys

import pytest

from litebert import __version__
from litebert.cli.main import COMMANDS, main
from support.runs.pretrain_runs import TOY

RESULTS = {
    "tokenizer encode": ["{tokenizer}", "the baker"],
    "corpus verify": ["{corpus}"],
    "corpus show": ["{corpus}", "--number", "1", "--max-length", "32"],
    "corpus stats": ["{corpus}", "--examples", "20", "--max-length", "32"],
    "pretrain": [],
    "evaluate held-out": ["{run}/model", "--corpus", "{corpus}", "--sampling", "max_length=32"],
    "evaluate labelled": ["{tuned}/model", "--data", "{labelled.csv}"],
    "predict": ["{tuned}/model", "{labelled.csv}", "{answers.csv}"],
    "analyze curves": ["{run}", "--over", "tokens"],
    "info": ["{run}/model", "sharing=none"],
    "doctor": [],
}


def words_of(name, made):
    command = name if name in COMMANDS else name.split()[0]
    paths = [word.replace("{", f"{made}/").replace("}", "") for word in RESULTS[name]]
    return [*command.split(), *paths]


@pytest.mark.parametrize("name", [name for name in RESULTS if name != "pretrain"])
def test_command_prints_its_result_as_text_and_as_json(made, capsys, name):
    words = words_of(name, made)
    assert main(words) == 0
    text = capsys.readouterr().out
    assert text.strip()
    assert main([*words, "--json"]) == 0
    for line in capsys.readouterr().out.splitlines():
        assert isinstance(json.loads(line), dict)


def test_tokenizer_encode_reads_lines_that_are_not_utf8(made, monkeypatch, capsys):
    content = io.BytesIO("the baker\r\ncafé\n".encode("latin-1"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content, encoding="utf-8"))
    assert main(["tokenizer", "encode", str(made / "tokenizer"), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["text"] for row in rows] == ["the baker", "caf\ufffd"]


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_results_are_printed_where_standard_output_lacks_characters(made, monkeypatch, encoding, flags):
    written = io.BytesIO()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the\n"), encoding="utf-8"))
        assert main(["tokenizer", "encode", str(made / "tokenizer"), *flags]) == 0
        sys.stdout.flush()
        printed = written.getvalue().decode(encoding)
    assert json.loads(printed)["pieces"][0][0] == "▁" if flags else printed.startswith(r"\u2581")


def test_pretrain_prints_the_result_of_a_finished_run(made, capsys):
    words = ["pretrain", "quickstart", *TOY, "--corpus", str(made / "corpus"), "--out", str(made / "run"), "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 4


def test_print_settings_prints_a_recipe(made, capsys, tmp_path):
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
    assert capsys.readouterr().out.startswith("corpus: verified")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_text(capsys, command):
    with pytest.raises(SystemExit) as left:
        main([*command.split(), "--help"])
    assert left.value.code == 0
    assert f"usage: litebert {command}" in capsys.readouterr().out


def test_overview_names_every_command(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"litebert {command}" in shown for command in COMMANDS)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"litebert {__version__}\n"


def test_command_group_lists_its_members(capsys):
    assert main(["corpus"]) == 0
    assert capsys.readouterr().out.count("litebert corpus ") == 4


@pytest.mark.parametrize("words", [["--help"], ["info", "albert-xxlarge-v2"]])
def test_help_and_info_do_not_import_torch(words):
    code = f"import sys; from litebert.cli.main import main; main({words!r}); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("recipe", "override", "message"),
    [
        ("tiny", "train.lr=1", "did you mean 'train.learning_rate'?"),
        ("tiny", "train.learning_rate=fast", "train.learning_rate: "),
        ("tiny", "model.preset=albert-base", "did you mean "),
        ("tiny", "model.num_attention_heads=3", "num_attention_heads"),
        ("tinny", "seed=1", "did you mean 'tiny'?"),
    ],
)
def test_pretrain_rejects_wrong_settings_without_importing_torch(made, tmp_path, recipe, override, message):
    """Importing torch takes seconds."""
    words = ["pretrain", recipe, override, "--corpus", str(made / "corpus"), "--out", str(tmp_path / "run")]
    code = f"import sys; from litebert.cli.main import main; print(main({words!r}), 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "2 False\n", done.stderr
    assert message in done.stderr


@pytest.mark.parametrize(("rank", "lines"), [("0", 1), ("1", 0)])
def test_commands_print_in_the_first_of_several_processes_only(made, monkeypatch, capsys, rank, lines):
    monkeypatch.setenv("RANK", rank)
    assert main(["corpus", "verify", str(made / "corpus")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == lines
