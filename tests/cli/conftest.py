"""Small artefacts made by the commands: text, tokenizer, corpus, pretrained and fine-tuned model."""

from pathlib import Path

import pytest

from litebert.cli.main import main
from support.data.labelled_files import write_opinions
from support.data.texts import write_documents
from support.runs.pretrain_runs import TOY


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    """A directory with the output of each command, each made from the one before."""
    here = tmp_path_factory.mktemp("commands")
    text = str(write_documents(here / "text.txt", documents=60))
    labelled = str(write_opinions(here / "labelled.csv"))
    small = ["--vocab-size", "60", "--character-coverage", "1.0"]
    run(["tokenizer", "train", text, "--out", str(here / "tokenizer"), *small])
    corpus = ["--tokenizer", str(here / "tokenizer"), "--out", str(here / "corpus"), "--validation-fraction", "0.2"]
    run(["corpus", "build", text, *corpus])
    run(["pretrain", "quickstart", *TOY, "--corpus", str(here / "corpus"), "--out", str(here / "run")])
    tuning = ["train.duration=2 steps", "train.device=cpu", "--train", labelled, "--out", str(here / "tuned")]
    run(["finetune", "quickstart", "--model", str(here / "run" / "model"), *tuning])
    return here


def run(words: list[str]) -> None:
    """A command line that must succeed."""
    assert main(words) == 0, words
