"""The graph in onnxruntime computes what torch computes."""

import pytest

from litebert.export.model_graph import build_graph
from litebert.model import models
from litebert.model.layers.lora import attach
from litebert.model.layers.lora_settings import LoRASettings
from support.models.exports import largest_difference, random_inputs, session_of
from support.models.model_builders import MODERN, perturbed
from support.models.tolerances import PROMISED, tolerance

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

LABELLED = ("ForSequenceClassification", "ForTokenClassification")
MODELS = (
    *("ForPretraining", "ForMaskedLM", *LABELLED, "ForMultipleChoice", "ForQuestionAnswering"),
    *("ForQuestionAnsweringWithNoAnswer", "SentenceEmbedder"),
)
ARCHITECTURES = {
    "no projection": {"embedding_size": 16},
    "erf GELU": {"hidden_act": "gelu"},
    "ReLU": {"hidden_act": "relu"},
    "SiLU": {"hidden_act": "silu"},
    "groups": {"num_hidden_groups": 2},
    "uneven groups": {"num_hidden_groups": 3},
    "two blocks a layer": {"inner_group_num": 2},
    "shared attention": {"sharing": "attention"},
    "shared feed-forward": {"sharing": "feed_forward"},
    "BERT": {"sharing": "none"},
    "modern block": MODERN,
    "modern groups": {**MODERN, "num_hidden_groups": 2},
}


@pytest.fixture(scope="module")
def config(small_config):
    return small_config.replace(num_hidden_layers=4, initializer_range=0.2, max_position_embeddings=512)


def build(name, config):
    options = {"num_labels": 3} if name in LABELLED else {}
    return perturbed(getattr(models, name)(config, **options)).eval()


@pytest.mark.parametrize("name", MODELS)
def test_graph_equals_torch_for_every_model_and_shape(config, name):
    model = build(name, config)
    session = session_of(model)
    for rows, length in ((1, 1), (3, 17), (1, 512)):
        found = largest_difference(model, session, random_inputs(model, rows, length))
        assert found <= PROMISED["outputs"], (rows, length)


def test_sentence_pair_head_that_was_not_trained_is_not_exported(config):
    for pairing, exported in (("none", False), ("sop", True), (None, True)):
        model = perturbed(models.ForPretraining(config, pairing=pairing)).eval()
        session = session_of(model)
        assert ("sentence_pair_logits" in [output.name for output in session.get_outputs()]) == exported
        assert largest_difference(model, session, random_inputs(model, 2, 9)) <= PROMISED["outputs"]
        names = [each.name for each in build_graph(model, "fp32").graph.initializer]
        assert any(name.startswith("pooler") for name in names) == exported


@pytest.mark.parametrize("changes", ARCHITECTURES.values(), ids=ARCHITECTURES.keys())
def test_graph_equals_torch_for_every_architecture(config, changes):
    model = build("ForMaskedLM", config.replace(**changes))
    inputs = random_inputs(model, 2, 9)
    assert largest_difference(model, session_of(model), inputs) <= PROMISED["outputs"]
    assert largest_difference(model, session_of(model, "int8"), inputs) <= 0.2


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_graph_pools_as_the_embedder_does(config, pooling):
    model = models.SentenceEmbedder(config, pooling=pooling).eval()
    assert largest_difference(model, session_of(model), random_inputs(model, 2, 9)) <= PROMISED["outputs"]


@pytest.mark.parametrize("name", ["ForSequenceClassification", "ForMultipleChoice"])
def test_graph_classifies_the_mean_of_tokens(config, name):
    model = build(name, config.replace(classifier_pooling="mean"))
    inputs = random_inputs(model, 3, 9)
    assert largest_difference(model, session_of(model), inputs) <= PROMISED["outputs"]
    assert largest_difference(model, session_of(model, "int8"), inputs) <= 0.2


@pytest.mark.parametrize("changes", [{}, {"num_hidden_groups": 2}, MODERN], ids=["shared", "groups", "modern block"])
def test_input_of_fewer_layers_runs_the_first_ones(config, changes):
    whole = build("ForMaskedLM", config.replace(**changes))
    first = models.ForMaskedLM(config.replace(**{**changes, "num_hidden_layers": 3, "num_hidden_groups": 1})).eval()
    if "num_hidden_groups" in changes:  # layers 0 and 1 are of the first group, 2 and 3 of the second
        first = models.ForMaskedLM(config.replace(num_hidden_layers=2)).eval()
    names = dict(whole.named_parameters())
    first.load_state_dict({name: names[name] for name in dict(first.named_parameters())})
    layers = first.config.num_hidden_layers
    found = largest_difference(first, session_of(whole), random_inputs(whole, 2, 9), layers=layers)
    assert found <= PROMISED["outputs"]


@pytest.mark.parametrize("per_layer", [False, True])
def test_adapters_are_part_of_the_graph(config, per_layer):
    from litebert.model.layers.lora import can_be_merged, merged

    model = models.ForMaskedLM(config).eval()
    attach(model, LoRASettings(rank=2, projections=("query", "value", "up"), per_layer=per_layer))
    model = perturbed(model)
    exported = merged(model) if can_be_merged(model) else model
    session = session_of(exported)
    assert largest_difference(model, session, random_inputs(model, 2, 9)) <= PROMISED["outputs"]


def test_shared_layers_are_one_loop_and_are_stored_once(config):
    sizes = {}
    for layers in (4, 24):
        graph = build_graph(models.SentenceEmbedder(config.replace(num_hidden_layers=layers)), "fp32")
        assert [node.op_type for node in graph.graph.node].count("Loop") == 1
        sizes[layers] = graph.ByteSize()
    assert sizes[4] == sizes[24]


def test_int8_answers_do_not_depend_on_the_batch(config):
    """Activations have a scale for each token, so that padding and other texts change nothing."""
    from litebert.runtime.onnx_model import run_session

    model = build("ForSequenceClassification", config)
    session, inputs = session_of(model, "int8"), random_inputs(model, 3, 17)
    (together,) = run_session(session, inputs, ["logits"])
    for row in range(3):
        length = inputs["attention_mask"][row].sum()
        alone = {name: value[row : row + 1, :length] for name, value in inputs.items()}
        (logits,) = run_session(session, alone, ["logits"])
        assert logits[0] == pytest.approx(together[row], abs=tolerance(depth="compound"))


def test_embedding_table_of_int8_is_stored_once_in_bytes(config):
    from onnx import TensorProto

    model = models.ForPretraining(config.replace(vocab_size=5000))
    graph = build_graph(model, "int8").graph
    (table,) = [each for each in graph.initializer if 5000 in each.dims and len(each.dims) == 2]
    assert table.data_type == TensorProto.UINT8
