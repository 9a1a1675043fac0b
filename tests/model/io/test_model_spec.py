import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import CheckpointError, ConfigError
from litebert.model.config import Activation, ModelConfig, Pooling, Sharing
from litebert.model.io.model_spec import (
    CONFIG,
    LABELLED,
    LITEBERT_MODEL_TYPE,
    ModelName,
    ModelSpec,
    TrainedPairing,
    config_from_transformers,
    config_to_transformers,
    from_json,
    read_model_spec,
    to_json,
    to_own_json,
    transformers_incompatibility,
)
from litebert.model.layers.lora_settings import LoRASettings

TINY = ModelConfig(hidden_size=8, num_hidden_layers=4, num_attention_heads=2, intermediate_size=16, embedding_size=4)
THEIRS = to_json(ModelSpec(model="ForMaskedLM", config=TINY))
PROBABILITIES = st.floats(0, 0.99)


@st.composite
def configs(draw) -> ModelConfig:
    layers, heads = draw(st.integers(1, 48)), draw(st.integers(1, 4))
    sharing = draw(st.sampled_from(get_args(Sharing)))
    hidden = heads * draw(st.integers(1, 4))
    return ModelConfig(
        sharing=sharing,
        num_hidden_layers=layers,
        num_hidden_groups=draw(st.sampled_from([1, layers])) if sharing == "none" else draw(st.integers(1, layers)),
        inner_group_num=draw(st.integers(1, 3)),
        num_attention_heads=heads,
        hidden_size=hidden,
        embedding_size=draw(st.sampled_from([hidden, 3])),
        embedding_projection=draw(st.sampled_from(["if_needed", "always"])),
        intermediate_size=draw(st.integers(1, 99)),
        hidden_act=draw(st.sampled_from(get_args(Activation))),
        hidden_dropout_prob=draw(PROBABILITIES),
        attention_probs_dropout_prob=draw(PROBABILITIES),
        classifier_dropout_prob=draw(PROBABILITIES),
        classifier_pooling=draw(st.sampled_from(get_args(Pooling))),
        vocab_size=draw(st.integers(1, 99)),
        max_position_embeddings=draw(st.integers(1, 99)),
        type_vocab_size=draw(st.integers(2, 4)),
        initializer_range=draw(st.floats(0.001, 1)),
        layer_norm_eps=draw(st.floats(1e-12, 1e-3)),
    )


@st.composite
def descriptions(draw) -> ModelSpec:
    model = draw(st.sampled_from(get_args(ModelName)))
    names = st.lists(st.text(max_size=5), min_size=2, max_size=12, unique=True)
    labels = tuple(draw(names)) if model in LABELLED else ()
    return ModelSpec(
        model=model,
        config=draw(configs()),
        labels=labels,
        problem_type=draw(st.sampled_from([None, "regression", "single_label_classification"]))
        if model == "ForSequenceClassification"
        else None,
        pooling=draw(st.sampled_from(["mean", "cls"])) if model == "SentenceEmbedder" else "mean",
        max_length=draw(st.none() | st.integers(3, 99)) if model == "SentenceEmbedder" else None,
        pairing=draw(st.sampled_from([None, *get_args(TrainedPairing)])) if model == "ForPretraining" else None,
    )


@given(configs())
def test_model_config_round_trip_through_transformers(config):
    if transformers_incompatibility(ModelSpec(model="ForMaskedLM", config=config)) is None:
        assert config_from_transformers(config_to_transformers(config), where="config") == config
    else:
        with pytest.raises(ConfigError, match="transformers cannot share parameters"):
            config_to_transformers(config)


@given(descriptions())
def test_model_spec_round_trip_through_json(spec):
    assert from_json(to_json(spec), where="config.json") == spec


def test_model_spec_is_read_from_a_file_or_directory(tmp_path):
    (tmp_path / CONFIG).write_text(json.dumps(THEIRS))
    assert read_model_spec(tmp_path) == read_model_spec(tmp_path / CONFIG) == from_json(THEIRS, where="c")


@pytest.mark.parametrize(
    ("content", "error", "complaint"),
    [
        (None, CheckpointError, "missing; give the path of a model directory"),
        ("{", CheckpointError, "not JSON"),
        ("\udcff", CheckpointError, "not JSON"),
        ("[]", CheckpointError, "holds list, expected a JSON object"),
        ("{}", ConfigError, "model_type is None"),
    ],
)
def test_model_spec_refuses_other_files(tmp_path, content, error, complaint):
    if content is not None:
        (tmp_path / CONFIG).write_text(content, errors="surrogateescape")
    with pytest.raises(error, match=rf"config\.json: {complaint}"):
        read_model_spec(tmp_path)


@pytest.mark.parametrize("model", get_args(ModelName))
def test_model_spec_has_the_keys_of_transformers_if_it_can_run_the_model(model):
    labels = ("a", "b") if model in LABELLED else ()
    values = to_json(ModelSpec(model=model, config=TINY, labels=labels))
    assert values["model_type"] == (LITEBERT_MODEL_TYPE if model == "ForQuestionAnsweringWithNoAnswer" else "albert")
    assert ("auto_map" in values) == (model == "ForQuestionAnsweringWithNoAnswer")


def test_model_spec_reads_configs_as_transformers_does():
    config = from_json(
        {
            "model_type": "albert",
            "architectures": ["AlbertForMaskedLM"],
            "hidden_size": 768,
            "embedding_size": 768,
            "num_hidden_layers": 12,
            "num_attention_heads": 12,
            "intermediate_size": 3072,
            "hidden_act": "gelu_pytorch_tanh",
            "hidden_dropout_prob": 0.2,
            "classifier_dropout_prob": None,
            "down_scale_factor": 1,
            "net_structure_type": 0,
            "finetuning_task": "mood",
            "transformers_version": "4.1",
        },
        where="config.json",
    ).config
    assert config.hidden_act == "gelu_new"
    assert config.classifier_dropout_prob == 0.2
    assert config.embedding_projection == "always"


def test_model_spec_without_architectures_is_a_bare_encoder():
    assert from_json({**THEIRS, "architectures": None}, where="c").model == "SentenceEmbedder"


@pytest.mark.parametrize(
    ("changes", "labels"),
    [
        ({}, ("LABEL_0", "LABEL_1")),
        ({"num_labels": 3}, ("LABEL_0", "LABEL_1", "LABEL_2")),
        ({"id2label": {"1": "good", "0": "bad"}}, ("bad", "good")),
    ],
)
def test_model_spec_labels_are_in_the_order_of_the_logits(changes, labels):
    values = {**THEIRS, "architectures": ["AlbertForSequenceClassification"], **changes}
    assert from_json(values, where="c").labels == labels


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"model_type": "bert"}, "model_type is 'bert', expected 'albert'"),
        ({"architectures": ["BertModel"]}, "architectures is"),
        ({"architectures": "AlbertModel"}, "architectures is"),
        ({"num_labels": 0}, "num_labels is 0"),
        ({"num_labels": "two"}, "num_labels is 'two'"),
        ({"id2label": {}}, "id2label is"),
        ({"id2label": ["a"]}, "id2label is"),
        ({"id2label": {"0": "a", "2": "b"}}, "id2label is"),
        ({"id2label": {"0": "a", "1": "a"}}, "labels: 'a' is the name of several classes"),
        ({"problem_type": "guess"}, "problem_type"),
        ({"problem_type": "single_label_classification", "num_labels": 1}, "use regression"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is"),
        ({"is_decoder": True}, "is_decoder is True"),
        ({"hidden_act": "mish"}, "hidden_act"),
        ({"hidden_size": None}, "hidden_size"),
        ({"hidden_size": 7}, "not divisible"),
        ({"litebert": 5}, "expected a mapping"),
        ({"litebert": {"sharing": "attention"}}, "transformers does not run"),
        ({"num_hidden_layers": 18, "num_hidden_groups": 14}, "transformers does not run"),
    ],
)
def test_model_spec_of_an_unsupported_model_is_refused(changes, complaint):
    values = {**THEIRS, "architectures": ["AlbertForSequenceClassification"], **changes}
    with pytest.raises(ConfigError, match=complaint) as refused:
        from_json(values, where="config.json")
    assert str(refused.value).startswith("config.json: ")


def test_model_spec_recognises_misspelt_keys():
    values = {name: value for name, value in THEIRS.items() if name != "inner_group_num"}
    with pytest.raises(ConfigError, match="unknown key 'inner_groups_num'; did you mean 'inner_group_num'"):
        from_json({**values, "inner_groups_num": 1}, where="c")


def test_model_spec_of_litebert_refuses_unknown_keys():
    own = to_own_json(ModelSpec(model="ForMaskedLM", config=TINY, adapters=LoRASettings(per_layer=True)))
    own["litebert"]["mood"] = "good"
    with pytest.raises(ConfigError, match="unknown setting 'mood'"):
        from_json(own, where="c")


@pytest.mark.parametrize(
    ("model", "labels", "complaint"),
    [
        ("ForMaskedLM", ("a",), "has no labels"),
        ("ForTokenClassification", (), "needs at least one label"),
        ("ForTokenClassification", ("a", "O", "a"), "'a' is the name of several classes; give each class its own"),
    ],
)
def test_model_spec_labels_require_a_classifier(model, labels, complaint):
    with pytest.raises(ValueError, match=complaint):
        ModelSpec(model=model, config=TINY, labels=labels)


def test_model_spec_refuses_a_pairing_of_a_model_without_a_sentence_pair_head():
    with pytest.raises(ConfigError, match="pairing: a ForMaskedLM has no sentence-pair head"):
        ModelSpec(model="ForMaskedLM", config=TINY, pairing="sop")
