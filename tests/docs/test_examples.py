"""The programs in examples/ run on small data."""

import importlib.util
from pathlib import Path

import pytest

import litebert
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


def test_python_api_example_prints_candidates(pretrained, capsys):
    example("python_api").main(str(pretrained))
    assert "shape of the logits at the masked position: (1, 30000)" in capsys.readouterr().out
