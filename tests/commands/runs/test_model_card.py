"""The model card: front matter for the hub, tables for people."""

from typing import get_args

import pytest
from huggingface_hub import ModelCard

from litebert import __version__
from litebert.commands.finetune.hub_results import HubDataset, hub_results
from litebert.commands.runs.card_settings import CardSettings
from litebert.commands.runs.model_card import HubMetadata, hub_name, model_card, name_in_card
from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.io.model_spec import ModelName, auto_class
from litebert.model.models import ForMaskedLM
from litebert.settings import with_overrides

PRETRAINED = HubMetadata(task="fill-mask")
DATASET = HubDataset("CoLA", "nyu-mll/glue", "cola", "validation")
SIZES = {"vocab_size": 30, "embedding_size": 8, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}


def card(hub=PRETRAINED, **config):
    return model_card(
        ForMaskedLM(ModelConfig(num_hidden_layers=2, **SIZES, **config)),
        title="A title",
        hub=hub,
        summary="A summary.",
        use="print(1)",
        scores={"accuracy": 0.123456, "steps": 1000},
        settings={"seed": 7},
        card=CardSettings(license="apache-2.0", language=["de", "en"]),
    )


def test_model_card_front_matter_is_read_by_the_hub_library():
    read = ModelCard(card())
    assert read.data.pipeline_tag == "fill-mask"
    assert read.data.library_name == "litebert"
    assert (read.data.license, read.data.language) == ("apache-2.0", ["de", "en"])


def test_front_matter_has_the_origin_and_scores_as_the_hub_reads_them():
    results = hub_results(DATASET, {"matthews": 0.5, "accuracy": 0.8}, task="text-classification")
    hub = HubMetadata(
        task="text-classification",
        base_model="albert/albert-base-v2",
        datasets=("nyu-mll/glue",),
        name="run",
        results=results,
    )
    read = ModelCard(card(hub)).data
    assert (read.base_model, read.datasets) == ("albert/albert-base-v2", ["nyu-mll/glue"])
    assert read.metrics == ["matthews_correlation", "accuracy"]
    assert (read.model_name, read.eval_results) == ("run", list(results))


def test_front_matter_leaves_out_what_is_not_known():
    read = ModelCard(card()).data.to_dict()
    assert not {"base_model", "datasets", "metrics", "model-index"} & read.keys()


@pytest.mark.parametrize(("source", "name"), [("albert/albert-base-v2", "albert/albert-base-v2"), ("tiny", None)])
def test_model_of_the_hub_is_the_base_model(source, name):
    assert (hub_name(source), name_in_card(source)) == (name, source)


def test_model_on_this_machine_is_named_without_its_path(tmp_path, monkeypatch):
    (tmp_path / "runs" / "night").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for source in (str(tmp_path / "runs" / "night"), "runs/night", f"{tmp_path}/gone/night"):
        assert (hub_name(source), name_in_card(source)) == (None, "night")


@pytest.mark.parametrize(
    "line",
    [
        "# A title",
        "A summary.",
        "print(1)",
        "| accuracy | 0.1235 |",
        "| steps | 1000 |",
        f"| litebert | {__version__} |",
    ],
)
def test_model_card_has_title_summary_use_scores_and_settings(line):
    assert line in card().splitlines()


@pytest.mark.parametrize(("sharing", "remote_code"), [("all", False), ("attention", True)])
def test_model_card_says_how_transformers_loads_the_model(sharing, remote_code):
    text = card(sharing=sharing)
    assert "transformers loads" in text
    assert ("trust_remote_code=True" in text) == remote_code


def test_model_card_shows_that_the_tokenizer_needs_remote_code_too():
    lines = card(sharing="attention").splitlines()
    assert 'model = AutoModelForMaskedLM.from_pretrained(".", trust_remote_code=True)' in lines
    assert 'tokenizer = AutoTokenizer.from_pretrained(".", trust_remote_code=True)' in lines


@pytest.mark.parametrize("model", get_args(ModelName))
def test_auto_class_is_one_of_transformers(model):
    transformers = pytest.importorskip("transformers")
    assert hasattr(transformers, auto_class(model))


def test_norwegian_is_no_boolean_as_language_of_a_model_card(tmp_path):
    overrides = with_overrides({}, ["language=[no, de]"])
    assert overrides["language"] == [False, "de"]
    assert CardSettings.parse(overrides, where="card").language == ("no", "de")
    with pytest.raises(ConfigError, match=r"language\.0: must be text"):
        CardSettings(language=[True])
