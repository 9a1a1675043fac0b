"""`litebert convert`: every format and back, changes on the way, and what cannot be told in a sentence."""

import json
import os

import pytest
import torch

from litebert.cli.main import main
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.io.model_spec import read_model_spec
from litebert.tokenization.tokenizer import Tokenizer

USAGE, DATA, CHECKPOINT = 2, 3, 4


@pytest.mark.parametrize("to", ["litebert", "transformers", "tensorflow"])
def test_convert_to_each_format_and_back_keeps_the_weights(made, tmp_path, monkeypatch, capsys, to):
    monkeypatch.chdir(tmp_path)
    source = os.path.relpath(made / "run" / "model")
    assert main(["convert", source, "there", "--to", to]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{source} → there (ForPretraining, {to} format)")
    assert ", 0 missing" in shown
    assert main(["convert", "there", "back", "--to", "litebert"]) == 0
    weights = [(place / "model.safetensors").read_bytes() for place in (made / "run" / "model", tmp_path / "back")]
    assert weights[0] == weights[1]
    assert Tokenizer.load("back").fingerprint == Tokenizer.load(source).fingerprint


def test_convert_lists_every_tensor_only_with_verbose(made, tmp_path, capsys):
    lines = {}
    for options in ((), ("--verbose",)):
        words = ["convert", str(made / "run" / "model"), str(tmp_path / "out"), "--to", "litebert", *options]
        assert main([*words, "--change", "num_hidden_layers=3", "sharing=none"]) == 0
        lines[options] = capsys.readouterr().out.splitlines()
    assert len(lines[()]) == 2
    assert lines[()][1].startswith("remapped 32 such as ")
    assert len(lines["--verbose",]) > 25
    assert any(line.startswith("mapped   ") for line in lines["--verbose",])


def test_convert_prints_json(made, tmp_path, capsys):
    words = ["convert", str(made / "run" / "model"), str(tmp_path / "out"), "--to", "litebert", "--json"]
    change = ["--as-model", "ForSequenceClassification", "--labels", "no", "yes", "--allow-missing", "classifier"]
    assert main([*words, *change, "--tokenizer", str(made / "tokenizer")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["missing"] == ["classifier.weight", "classifier.bias"]
    assert read_model_spec(tmp_path / "out").labels == ("no", "yes")


def test_convert_remaps_another_depth_and_sharing(made, tmp_path, capsys):
    words = ["convert", str(made / "run" / "model"), str(tmp_path / "out"), "--to", "litebert"]
    assert main([*words, "--change", "num_hidden_layers=3", "sharing=none"]) == 0
    assert "remapped" in capsys.readouterr().out
    config = read_model_spec(tmp_path / "out").config
    assert (config.num_hidden_layers, config.sharing) == (3, "none")


def test_convert_writes_16_bits_and_the_card(made, tmp_path):
    source, out = made / "run" / "model", tmp_path / "out"
    assert main(["convert", str(source), str(out), "--to", "litebert", "--dtype", "float16"]) == 0
    sizes = [(place / "model.safetensors").stat().st_size for place in (source, out)]
    assert sizes[1] == pytest.approx(sizes[0] / 2, rel=0.1)
    assert (out / "README.md").read_bytes() == (source / "README.md").read_bytes()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (CHECKPOINT, ["{made}/absent/model", "{new}/out", "--to", "litebert"]),
        (CHECKPOINT, ["{made}/corpus", "{new}/out", "--to", "litebert"]),
        (CHECKPOINT, ["{made}/run/model", "{new}", "--to", "litebert"]),
        (CHECKPOINT, ["{made}/run/model", "{new}", "--to", "tensorflow"]),
        (CHECKPOINT, ["{made}/run/model", "{new}/out", "--to", "litebert", "--as-model", "ForQuestionAnswering"]),
        (USAGE, ["{made}/run/model", "{new}/out", "--to", "litebert", "--allow-missing", "soap"]),
        (USAGE, ["{made}/run/model", "{new}/out", "--to", "litebert", "--change", "layers=3"]),
        (USAGE, ["{made}/run/model", "{new}/out", "--to", "litebert", "--change", "sharing"]),
        (
            USAGE,
            [
                "{made}/run/model",
                "{new}/out",
                "--to",
                "transformers",
                "--change",
                "num_hidden_layers=2",
                "sharing=attention",
            ],
        ),
        (USAGE, ["{made}/run/model", "{new}/out", "--to", "tensorflow", "--dtype", "float16"]),
        (DATA, ["{made}/run/model", "{new}/out", "--to", "litebert", "--tokenizer", "{made}/corpus/absent"]),
    ],
)
def test_convert_errors_are_one_sentence_and_nothing_is_written(made, tmp_path, capsys, code, words):
    (tmp_path / "precious").write_text("mine")
    assert main(["convert", *(word.format(made=made, new=tmp_path) for word in words)]) == code
    answer = capsys.readouterr()
    assert len([line for line in answer.err.splitlines() if line.startswith("litebert: ")]) == 1
    assert "Traceback" not in answer.err
    assert answer.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_average_of_two_models_is_a_model_that_is_evaluated_like_them(made, tmp_path, capsys):
    model, out = str(made / "run" / "model"), str(tmp_path / "out")
    zeros = load_model(model)
    for parameter in zeros.parameters():
        torch.nn.init.zeros_(parameter)
    save_model(zeros, tmp_path / "zeros")
    other = str(tmp_path / "other")
    assert main(["convert", str(tmp_path / "zeros"), other, "--tokenizer", model, "--to", "litebert"]) == 0
    assert main(["average", model, other, "--weights", "0.25", "0.75", "--out", out]) == 0
    assert "   75.0% " in capsys.readouterr().out
    before, after = (load_model(each).state_dict() for each in (model, out))
    assert all(torch.equal(after[name], before[name] / 4) for name in before)
    assert main(["average", model, model, "--out", out]) == 0
    assert f"   50.0% {model}, which differs from it by 0.0% of its norm" in capsys.readouterr().out
    scores = []
    for each in (model, out):
        assert main(["evaluate", each, "--corpus", str(made / "corpus"), "--json"]) == 0
        scores.append(json.loads(capsys.readouterr().out))
    assert scores[0] == scores[1]
    assert main(["average", model, model, "--out", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["weights"] == [0.5, 0.5]
