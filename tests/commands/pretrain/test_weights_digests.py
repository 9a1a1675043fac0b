"""Digests of the weights that a pretraining run starts from."""

import pytest

from litebert.commands.fingerprint import weights_digests


def write(file, content="weights"):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file


@pytest.mark.parametrize("place", ["run/model", "run/checkpoints/step-00000007"])
def test_weights_of_a_run_are_those_of_its_model_or_of_its_newest_checkpoint(tmp_path, place):
    write(tmp_path / "run" / "settings.yaml")
    write(tmp_path / "run" / "checkpoints" / "step-00000003" / "litebert.safetensors", "older")
    write(tmp_path / place / "litebert.safetensors")
    run = weights_digests(str(tmp_path / "run"))
    assert run == weights_digests(str(tmp_path / place))
    write(tmp_path / place / "litebert.safetensors", "others")
    assert weights_digests(str(tmp_path / "run")) != run


@pytest.mark.parametrize("source", ["model.ckpt-1", "model.ckpt-1.index"])
def test_weights_of_a_tensorflow_checkpoint_are_the_files_that_begin_with_its_name(tmp_path, source):
    for name in ("model.ckpt-1.index", "model.ckpt-1.data-00000-of-00001", "model.ckpt-10.index", "vocab.txt"):
        write(tmp_path / name)
    assert [*weights_digests(str(tmp_path / source))] == [
        "model.ckpt-1.data-00000-of-00001",
        "model.ckpt-1.index",
    ]


def test_weights_of_a_name_on_the_hub_have_no_digest():
    assert weights_digests("someone/pretrained") == {}
