"""Export of a finished pretraining run."""

import logging
import sys

import pytest

from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.model.io.model_directory import load_model
from support.runs.pretrain_runs import TOY


@pytest.mark.usefixtures("full_reports")
def test_export_writes_curves_and_skips_them_without_matplotlib(corpus_directory, tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    run = load_pretrain_config("quickstart", [*TOY, "train.duration=1 step"], corpus=corpus_directory)
    pretrain(run, tmp_path / "with")
    assert (tmp_path / "with" / "curves.html").is_file()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    pretrain(run, tmp_path / "without")
    assert (tmp_path / "without" / "model" / "config.json").is_file()
    assert not (tmp_path / "without" / "curves.html").exists()
    assert "curves.html: not written: plotting needs the package 'matplotlib'" in caplog.text


@pytest.mark.parametrize("pairing", ["sop", "nsp", "none"])
def test_exported_model_records_what_its_sentence_pair_head_was_trained_on(corpus_directory, tmp_path, pairing):
    words = [*TOY, "train.duration=1 step", f"sampling.pairing={pairing}", "max_eval_examples=0"]
    run = load_pretrain_config("quickstart", words, corpus=corpus_directory)
    assert load_model(pretrain(run, tmp_path).model).pairing == pairing
