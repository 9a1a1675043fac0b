import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import MODELS, build
from litebert.model.io.model_spec import HF_CLASSES, ModelSpec
from litebert.model.io.tensor_names import TensorNames, groups_in, tensor_names
from litebert.model.sharing_schedule import sharing_schedule

TINY = ModelConfig(hidden_size=8, num_hidden_layers=4, num_attention_heads=2, intermediate_size=16, embedding_size=4)


@pytest.mark.parametrize("sharing", ["all", "attention", "feed_forward", "none"])
@pytest.mark.parametrize("model", MODELS)
def test_tensor_names_cover_every_tensor_of_every_model(model, sharing):
    labels = ("a", "b") if model in ("ForSequenceClassification", "ForTokenClassification") else ()
    config = TINY.replace(sharing=sharing, inner_group_num=2, vocab_size=10)
    stored = build(ModelSpec(model=model, config=config, labels=labels), device="meta").state_dict()
    rows = {row.litebert: row for row in tensor_names(config)}
    assert set(stored) <= set(rows)
    assert all(rows[name].transformers is not None for name in stored) == (model in HF_CLASSES)
    assert all(rows[name].tensorflow is not None for name in stored)


def test_tensors_of_a_modern_block_have_names_in_litebert_only():
    config = TINY.replace(
        position_embedding="rotary", norm_first=True, gated_feed_forward=True, recursion_lora_rank=2, inner_group_num=2
    )
    stored = build(ModelSpec(model="ForMaskedLM", config=config), device="meta").state_dict()
    rows = {row.litebert: row for row in tensor_names(config)}
    assert set(stored) <= set(rows)
    new = {name for name in stored if rows[name].transformers is None}
    assert new == {name for name in stored if rows[name].tensorflow is None}
    assert {name.split(".")[1] for name in new} == {"feed_forwards", "recursion_lora", "final_norm"}


@given(st.integers(1, 12), st.integers(1, 3), st.data())
def test_tensor_names_are_unique(layers, inner, data):
    groups = data.draw(st.integers(1, layers))
    rows = tensor_names(TINY.replace(num_hidden_layers=layers, num_hidden_groups=groups, inner_group_num=inner))
    for names in ([row.litebert for row in rows], [row.transformers for row in rows], [row.tensorflow for row in rows]):
        known = [name for name in names if name is not None]
        assert len(known) == len(set(known))


@pytest.mark.parametrize(
    "row",
    [
        TensorNames(
            "encoder.attentions.3.query.weight",
            "albert.encoder.albert_layer_groups.1.albert_layers.1.attention.query.weight",
            "bert/encoder/transformer/group_1/inner_group_1/attention_1/self/query/kernel",
            transposed=True,
        ),
        TensorNames(
            "encoder.feed_forwards.2.down.bias",
            "albert.encoder.albert_layer_groups.1.albert_layers.0.ffn_output.bias",
            "bert/encoder/transformer/group_1/inner_group_0/ffn_1/intermediate/output/dense/bias",
        ),
        TensorNames("mlm.bias", "predictions.bias", "cls/predictions/output_bias"),
        TensorNames("sentence_pair.weight", "sop_classifier.classifier.weight", "cls/seq_relationship/output_weights"),
        TensorNames("classifier.weight", "classifier.weight", "output_weights"),
        TensorNames("spans.bias", "qa_outputs.bias", "cls/squad/output_bias"),
        TensorNames("answer.weight", None, "answer_class/dense_1/kernel", transposed=True),
    ],
    ids=lambda row: row.litebert,
)
def test_tensor_names_equal_the_references(row):
    assert row in tensor_names(TINY.replace(num_hidden_groups=2, inner_group_num=2))


@pytest.mark.parametrize("name", ["transformers", "tensorflow"])
@given(data=st.data())
def test_groups_in_gives_the_same_schedule(name, data):
    layers = data.draw(st.integers(1, 48))
    sharing = data.draw(st.sampled_from(["all", "none"]))
    groups = data.draw(st.integers(1, layers)) if sharing == "all" else data.draw(st.sampled_from([1, layers]))
    config = TINY.replace(num_hidden_layers=layers, num_hidden_groups=groups, sharing=sharing)
    theirs = groups_in(config, name)
    if theirs is not None:
        assert sharing_schedule(config) == sharing_schedule(config.replace(num_hidden_groups=theirs, sharing="all"))
    if layers in (6, 12, 24, 48) and layers % groups == 0:
        assert theirs == (layers if sharing == "none" else groups)


@pytest.mark.parametrize(
    ("name", "layers", "groups"), [("tensorflow", 22, 22), ("tensorflow", 44, 22), ("transformers", 18, 14)]
)
def test_groups_in_is_none_where_floats_round_wrongly(name, layers, groups):
    assert groups_in(TINY.replace(num_hidden_layers=layers, num_hidden_groups=groups), name) is None


@pytest.mark.parametrize("sharing", ["attention", "feed_forward"])
def test_groups_in_is_none_for_partial_sharing(sharing):
    for name in ("transformers", "tensorflow"):
        assert groups_in(TINY.replace(sharing=sharing), name) is None
        assert groups_in(TINY.replace(sharing=sharing, num_hidden_groups=4), name) == 4
