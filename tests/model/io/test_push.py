"""Uploads to the hub, which a server on localhost replaces: `litebert push` in a process of its own."""

import functools
import json

import pytest

from litebert.cli.main import main
from litebert.errors import CheckpointError, ConfigError
from litebert.files import write_json
from litebert.hub_download import HubOptions
from litebert.model.config import ModelConfig
from litebert.model.io.hub import fetch
from litebert.model.io.model_directory import save_model
from litebert.model.io.model_spec import ModelSpec, to_json
from litebert.model.io.push import push_to_hub
from litebert.model.models import ForMaskedLM, ForSequenceClassification
from support.data.fake_hub import fake_hub

TINY = ModelConfig(
    hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, embedding_size=4, vocab_size=10
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save_model(ForMaskedLM(TINY), tmp_path_factory.mktemp("push") / "model")


@pytest.fixture
def hub():
    with fake_hub() as server:
        yield server


def test_push_uploads_every_file_as_one_commit(client, saved, capsys):
    words = ["push", str(saved), "someone/tiny", "--token", "hf_test", "--private", "--revision", "v1", "--json"]
    assert main(words) == 0
    done = json.loads(capsys.readouterr().out)
    assert done == {"url": f"{client.url}/someone/tiny/commit/0", "files": len(list(saved.iterdir()))}
    assert client.files == {path.name: path.read_bytes() for path in saved.iterdir()}
    assert (client.revision, client.branches, client.tokens) == ("v1", ["v1"], {"Bearer hf_test"})
    assert client.created[0].get("visibility", client.created[0].get("private")) in ("private", True)


def test_push_uploads_a_card_that_was_edited(client, tmp_path):
    model = save_model(ForMaskedLM(TINY), tmp_path / "model", extra_files={"README.md": b"a card"})
    (model / "README.md").write_text("edited")
    push_to_hub(model, "someone/tiny", token="hf_test")
    assert client.files["README.md"] == b"edited"


def test_push_removes_the_weights_and_the_code_of_an_earlier_upload(client, saved, tmp_path):
    """A checkpoint has `litebert.safetensors`, which would be read instead of the weights of a model directory."""
    old = ("litebert.safetensors", "pytorch_model.bin", "modeling_litebert.py", "onnx/model.onnx", "notes.py")
    client.files.update(dict.fromkeys(old, b"old"))
    push_to_hub(saved, "someone/tiny", token="hf_test")
    kept = dict.fromkeys(("onnx/model.onnx", "notes.py"), b"old")
    assert client.files == kept | {path.name: path.read_bytes() for path in saved.iterdir()}


@pytest.fixture
def client(hub, monkeypatch):
    """The hub's client in this process, with the server on localhost."""
    from huggingface_hub import constants, hf_api

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hf_api.HfApi, "__init__", functools.partialmethod(hf_api.HfApi.__init__, endpoint=hub.url))
    return hub


def test_model_uploads_itself_with_its_labels_and_further_files(client, tmp_path):
    model = ForSequenceClassification(TINY, num_labels=2)
    files = {"spiece.model": b"pieces"}
    result = model.push_to_hub("someone/tiny", labels=("no", "yes"), extra_files=files, token="hf_test", private=True)
    saved = save_model(model, tmp_path / "model", labels=("no", "yes"), extra_files=files)
    assert client.files == {path.name: path.read_bytes() for path in saved.iterdir()}
    assert result.files == len(client.files)
    assert client.tokens == {"Bearer hf_test"}


def test_push_reports_a_refusal_of_the_hub(client, saved, capsys):
    client.refuse = True
    assert main(["push", str(saved), "someone/tiny", "--token", "hf_test"]) == 4
    assert "someone/tiny: not uploaded (" in capsys.readouterr().err


def test_push_needs_a_model_directory(tmp_path):
    with pytest.raises(CheckpointError, match=r"no config\.json here; give a model or run directory"):
        push_to_hub(tmp_path, "someone/tiny")


NAMES = pytest.mark.parametrize(
    ("name", "instead"),
    [("albert-base-v2", "give albert/albert-base-v2, its weights on the hub"), ("tiny", "give a model directory")],
)


@NAMES
def test_commands_answer_the_name_of_a_preset_with_what_to_give(name, instead, tmp_path, capsys):
    (tmp_path / "new.csv").write_text("text,label\na film,good\n")
    new, out, vectors = (str(tmp_path / file) for file in ("new.csv", "out.csv", "vectors.npy"))
    for words in (
        ["predict", name, new, out],
        ["evaluate", name, "--data", new],
        ["embed", name, new, vectors],
    ):
        assert main(words) == CheckpointError.exit_code
        assert instead in capsys.readouterr().err


@NAMES
def test_name_of_a_preset_is_answered_with_what_to_give(name, instead):
    with pytest.raises(CheckpointError, match=instead):
        fetch(name, HubOptions())


def test_push_reports_a_missing_connection(saved, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(CheckpointError, match=r"someone/tiny: not uploaded \(.*\); check the name, the token and"):
        push_to_hub(saved, "someone/tiny", token="hf_test")


def test_push_refuses_a_damaged_model_before_it_connects(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "albert"')
    with pytest.raises(CheckpointError, match="not JSON"):
        push_to_hub(tmp_path, "someone/tiny")
    write_json(tmp_path / "config.json", to_json(ModelSpec(model="ForMaskedLM", config=TINY)))
    with pytest.raises(CheckpointError, match="no weights here; give a complete model directory"):
        push_to_hub(tmp_path, "someone/tiny")


def test_push_refuses_a_wrong_name_first(tmp_path):
    with pytest.raises(ConfigError, match="'two words': not a name on the hub; give it as OWNER/NAME"):
        push_to_hub(tmp_path, "two words")
