"""Digests of the weights that a pretraining run starts from, where they are no run (test_init_checkpoint)."""

import pytest

from litebert.commands.pretrain.init_checkpoint import weights_digests


@pytest.mark.parametrize("source", ["model.ckpt-1", "model.ckpt-1.index"])
def test_weights_of_a_tensorflow_checkpoint_are_config_index_and_data(tmp_path, source):
    data = "model.ckpt-1.data-00000-of-00001"
    for name in ("albert_config.json", "model.ckpt-1.index", data, "model.ckpt-1.meta", "model.ckpt-10.index"):
        (tmp_path / name).write_text("weights")
    assert [*weights_digests(str(tmp_path / source))] == ["albert_config.json", "model.ckpt-1.index", data]
    (tmp_path / "model.ckpt-1.index").unlink()
    assert weights_digests(str(tmp_path / source)) == {}


def test_weights_of_a_directory_have_other_digests_if_they_change(tmp_path):
    file = tmp_path / "litebert.safetensors"
    file.write_text("weights")
    before = weights_digests(str(tmp_path))
    (tmp_path / ".DS_Store").write_text("of a file manager")
    assert before == weights_digests(str(tmp_path))
    file.write_text("others")
    assert before.keys() == weights_digests(str(tmp_path)).keys()
    assert before != weights_digests(str(tmp_path))


def test_weights_of_a_name_on_the_hub_have_no_digest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "someone").mkdir()
    (tmp_path / "someone" / "pretrained.log").write_text("a log")
    assert weights_digests("someone/pretrained") == {}
