"""The hub without network access: a cache in the layout of `huggingface_hub`."""

from pathlib import Path

import pytest
import torch
from huggingface_hub.errors import OfflineModeIsEnabled

from litebert import hub_download
from litebert.errors import CheckpointError
from litebert.hub_download import HubOptions
from litebert.manifest import write_manifest
from litebert.model.config import ModelConfig
from litebert.model.io.hub import fetch
from litebert.model.io.model_directory import build, load_model, save_model
from litebert.model.io.model_spec import ModelSpec
from litebert.model.io.weight_files import PICKLE

NAME = "someone/tiny-albert"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
TINY = ModelConfig(
    hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16, embedding_size=4, vocab_size=10
)


@pytest.fixture
def cached(tmp_path) -> tuple[HubOptions, Path]:
    """A cache with one downloaded model, and the path of the model."""
    repository = tmp_path / "models--someone--tiny-albert"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    place = repository / "snapshots" / COMMIT
    save_model(build(ModelSpec(model="ForMaskedLM", config=TINY), seed=2), place)
    return HubOptions(cache=tmp_path, local_files_only=True), place


@pytest.mark.parametrize("revision", [None, "main", COMMIT])
def test_hub_cache_is_used_without_network(cached, revision):
    options, _ = cached
    model = load_model(NAME, hub=options.replace(revision=revision))
    assert torch.equal(
        model.mlm.dense.weight, build(ModelSpec(model="ForMaskedLM", config=TINY), seed=2).mlm.dense.weight
    )


def test_hub_download_is_verified(cached):
    options, place = cached
    content = bytearray((place / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (place / "model.safetensors").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"model\.safetensors: damaged"):
        load_model(NAME, hub=options)


@pytest.mark.parametrize("changes", [{"revision": "v9"}, {"cache": Path("/none")}])
def test_hub_model_that_is_not_cached_is_named(cached, changes):
    options, _ = cached
    with pytest.raises(CheckpointError, match=f"^{NAME}: no such directory, and not in the cache of the hub"):
        fetch(NAME, HubOptions(**{**options.model_dump(), **changes}))


def test_hub_refuses_invalid_names(cached):
    options, _ = cached
    with pytest.raises(CheckpointError, match=r"^out/of/place: no such directory, and not a valid name on the hub"):
        fetch("out/of/place", options)


@pytest.mark.parametrize("name", ["encoders/night", "encoders/night-large/", "./encoders/night-unshared"])
def test_encoder_of_the_repository_is_not_sought_on_the_hub(monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub_download, "snapshot_download", lambda *_args, **_options: 1 / 0)
    with pytest.raises(CheckpointError, match=r"directory of the repository of litebert.* give its path in a clone"):
        load_model(name)


def test_hub_errors_are_one_sentence(monkeypatch):
    def refuse(*_args, **_options):
        raise OfflineModeIsEnabled("503: closed today.\nmore\nlines")

    monkeypatch.setattr(hub_download, "snapshot_download", refuse)
    with pytest.raises(CheckpointError, match=r"not on the hub \(503: closed today\.\); check the name"):
        fetch(NAME, HubOptions())


@pytest.mark.parametrize(
    ("files", "asked"),
    [
        (("config.json", "model.safetensors"), []),
        (("config.json",), [[PICKLE]]),
        (("config.json", "model.safetensors", "SHA256SUMS"), [["config.json", "model.safetensors", "README.md"]]),
    ],
)
def test_hub_downloads_only_needed_files(tmp_path, monkeypatch, files, asked):
    """Pickles only without other weights; with a manifest, every file in it and the model card."""
    for name in files:
        (tmp_path / name).write_text("x")
    if "SHA256SUMS" in files:
        (tmp_path / "SHA256SUMS").unlink()
        write_manifest(tmp_path)
    calls = []

    def download(name, *, allow_patterns, token, revision, **_options):
        assert (name, token, revision) == (NAME, "secret", "v1")
        calls.append(allow_patterns)
        return str(tmp_path)

    monkeypatch.setattr(hub_download, "snapshot_download", download)
    assert fetch(NAME, HubOptions(token="secret", revision="v1")) == tmp_path
    assert calls[1:] == asked
