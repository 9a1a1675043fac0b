"""Model directories by the path of a model or a run."""

from pathlib import Path

import pytest

from litebert.errors import CheckpointError
from litebert.hub_download import HubOptions
from litebert.model.io.hub import local_model_directory, model_directory


def test_resolve_model_directory_accepts_models_and_runs(tmp_path):
    model = tmp_path / "run" / "model"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    assert local_model_directory(model) == local_model_directory(str(tmp_path / "run")) == model
    assert local_model_directory(tmp_path / "nothing") == tmp_path / "nothing"


def test_resolve_model_directory_of_an_unfinished_run_is_an_error(tmp_path):
    (tmp_path / "settings.yaml").write_text("kind: finetune\n")
    with pytest.raises(CheckpointError, match="the run has no model yet"):
        local_model_directory(tmp_path)


def test_resolve_model_directory_of_a_sweep_names_its_trials(tmp_path):
    (tmp_path / "settings.yaml").write_text("command: sweep\n")
    (tmp_path / "runs").mkdir()
    with pytest.raises(CheckpointError, match=r"a sweep; give the runs of its trials, .*/runs/\*"):
        local_model_directory(tmp_path)


def test_model_directory_downloads_a_name_only_if_there_is_no_such_path(tmp_path, monkeypatch):
    monkeypatch.setattr("litebert.model.io.hub.fetch", lambda name, options: tmp_path / name / options.revision)
    hub = HubOptions(revision="v1")
    assert model_directory("someone/albert", hub=hub) == tmp_path / "someone" / "albert" / "v1"
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    assert model_directory(str(tmp_path), hub=hub) == model_directory(tmp_path, hub=hub) == tmp_path / "model"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("./runs/typo", "not a valid name on the hub; check the path"),
        ("runs/typo/", "not a valid name on the hub; check the path"),
        (Path("runs/typo"), "no such directory; give the path of a model directory"),
    ],
)
def test_model_directory_does_not_ask_the_hub_for_a_path(source, message):
    with pytest.raises(CheckpointError, match=message):
        model_directory(source)


def test_model_directory_of_a_file_is_an_error(tmp_path):
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(CheckpointError, match=r"model\.safetensors: is a file; give the directory that holds it"):
        model_directory(str(tmp_path / "model.safetensors"))
