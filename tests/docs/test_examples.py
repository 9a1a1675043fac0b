"""The programs in examples/ run on small data."""

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import litebert
from litebert.commands.recipes import load_recipe
from litebert.model.io.model_directory import load_model
from litebert.runtime import Predictor
from litebert.settings import write_yaml
from support.data.labelled_files import write_opinions
from support.data.texts import write_documents
from support.runs.tiny_runs import save_pretrained

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pretrained(tiny_tokenizer, tmp_path_factory):
    return save_pretrained(tiny_tokenizer, tmp_path_factory.mktemp("examples") / "model")


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["plain_pytorch_loop", "transformers_trainer"])
def test_training_loop_of_another_library_learns(name, pretrained, tmp_path, capsys):
    if name == "transformers_trainer":
        pytest.importorskip("transformers")
        pytest.importorskip("accelerate")
    file = write_opinions(tmp_path / "opinions.csv")
    example(name).main(str(pretrained), str(file), str(tmp_path / "out"), 30)
    assert "loss" in capsys.readouterr().out
    assert litebert.evaluate(tmp_path / "out", file, text="text", label="label").metrics["accuracy"] > 0.9


@pytest.mark.filterwarnings("default")
def test_corpus_is_a_data_set_of_torch_and_of_datasets(tiny_tokenizer, tmp_path, capsys):
    pytest.importorskip("datasets")
    tiny_tokenizer.save(tmp_path / "tokenizer")
    write_documents(tmp_path / "text.txt", documents=20)
    litebert.build_corpus(
        tmp_path / "text.txt", tmp_path / "corpus", tokenizer=tmp_path / "tokenizer", validation_fraction=0
    )
    example("corpus_dataset").main(str(tmp_path / "corpus"), 2)
    printed = capsys.readouterr().out
    assert "step 2: loss" in printed
    assert "'sentence_order_label', 'token_type_ids'" in printed


LITEBERT = """
import sys
from support.programs.forks import ForkedPopen
sys.exit(ForkedPopen([sys.executable, "-m", "litebert", *sys.argv[1:]]).wait())
"""


def forked_commands(directory: Path) -> Path:
    """A directory with the commands `litebert`, which is a fork, and `python`."""
    directory.mkdir()
    for name, words in (("litebert", "-c " + shlex.quote(LITEBERT)), ("python", "")):
        (directory / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
        (directory / name).chmod(0o700)
    return directory


def test_release_of_an_encoder_has_its_weights_tokenizer_and_card(tmp_path):
    """The script with which `night` is released, with a smaller recipe, and a second one without sharing."""
    pytest.importorskip("onnx")
    recipe = load_recipe("night", command="pretrain").settings
    layers = {"num_hidden_layers": 2, "num_hidden_groups": 1}
    small = {**layers, "hidden_size": 16, "num_attention_heads": 4, "intermediate_size": 32}
    recipe |= {"model": {**recipe["model"], **small}, "train": {**recipe["train"], "duration": "2 steps"}}
    recipe |= {"batch_size": 4, "microbatch_size": 2}
    (tmp_path / "small.yaml").write_text(write_yaml(recipe))
    (tmp_path / "unshared.yaml").write_text(
        write_yaml({**recipe, "model": {**recipe["model"], "num_hidden_groups": 2}})
    )
    text = write_documents(tmp_path / "text.txt", documents=400)
    commands = forked_commands(tmp_path / "commands")
    environment = {
        **os.environ,
        "PATH": f"{commands}:{os.environ['PATH']}",
        "RECIPE": str(tmp_path / "small.yaml"),
        "VOCAB_SIZE": "60",
    }
    environment["THEN"] = str(tmp_path / "unshared.yaml")
    out = tmp_path / "out"
    command = [EXAMPLES / "release_encoder.sh", out, "card.intended_uses=Two words.", "--", text]
    subprocess.run(command, env=environment, check=True)
    shared, unshared = (load_model(out / run / "model").config.num_hidden_groups for run in ("run", "then"))
    assert (shared, unshared) == (1, 2)
    assert "weights of run" in (out / "then" / "model" / "README.md").read_text()
    card = (out / "int8" / "README.md").read_text()
    assert "## Intended uses" in card
    assert "Two words." in card.splitlines()
    assert "`onnx/model_quantized.onnx`" in card
    assert Predictor.load(out / "int8", precision="int8").fill_masks(["The baker [MASK] the bread."])
    other = subprocess.run([*command, text], env=environment, stderr=subprocess.PIPE, text=True)
    assert other.returncode == 2
    assert "was begun with other inputs" in other.stderr


def test_python_api_example_prints_candidates(pretrained, capsys):
    example("python_api").main(str(pretrained))
    assert "shape of the logits at the masked position: (1, 30000)" in capsys.readouterr().out
