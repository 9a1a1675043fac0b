import json
import shutil

import numpy as np
import pytest
import torch

from litebert.errors import CheckpointError, ConfigError
from litebert.interop.tensor_bundle import open_bundle, write_bundle
from litebert.interop.tf_checkpoint import CONFIG, read_config, read_tf_checkpoint, tf_config, write_tf_checkpoint
from litebert.manifest import write_manifest
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import build, load_weights
from litebert.model.io.model_spec import ModelSpec
from support.data.tf_checkpoints import NAMES, checkpoint_prefix

TINY = ModelConfig(
    vocab_size=30,
    max_position_embeddings=16,
    embedding_size=8,
    hidden_size=12,
    intermediate_size=20,
    num_attention_heads=2,
    num_hidden_layers=4,
    num_hidden_groups=2,
    inner_group_num=2,
)
WITHOUT_CLASSES = [
    "ForPretraining",
    "ForMaskedLM",
    "ForQuestionAnswering",
    "ForQuestionAnsweringWithNoAnswer",
    "SentenceEmbedder",
]


def saved(directory, model: str, config: ModelConfig = TINY, labels: tuple[str, ...] = ()):
    """A TensorFlow checkpoint, and its model."""
    spec = ModelSpec(model=model, config=config, labels=labels)
    weights = build(spec, seed=3)
    write_tf_checkpoint(directory, spec, weights.state_dict())
    return directory / "model.ckpt-best", weights


def variables(prefix) -> dict[str, np.ndarray]:
    bundle = open_bundle(prefix)
    return {name: bundle.read(name) for name in bundle.entries}


def assert_same_weights(tensors, model: torch.nn.Module) -> None:
    expected = model.state_dict()
    assert set(expected) <= set(tensors)
    assert all(torch.equal(tensors[name], tensor) for name, tensor in expected.items())


@pytest.mark.parametrize("name", NAMES)
def test_tf_checkpoint_of_pretraining_is_read_completely(name):
    checkpoint = read_tf_checkpoint(checkpoint_prefix(name))
    assert checkpoint.spec.model == "ForPretraining"
    assert checkpoint.weights.dropped == ()
    assert checkpoint.spec.config.hidden_act == ("relu" if name == "relu" else "gelu_new")
    model = load_weights(checkpoint.spec, checkpoint.weights.tensors, where=name)
    assert len(checkpoint.weights.tensors) == len(model.state_dict())


@pytest.mark.parametrize("name", NAMES)
def test_tf_checkpoint_is_written_back_byte_for_byte(tmp_path, name):
    checkpoint = read_tf_checkpoint(checkpoint_prefix(name))
    write_tf_checkpoint(tmp_path / "t", checkpoint.spec, checkpoint.weights.tensors)
    for ending in (".index", ".data-00000-of-00001"):
        written = (tmp_path / "t" / f"model.ckpt-best{ending}").read_bytes()
        assert written == checkpoint_prefix(name).with_name(f"model.ckpt-best{ending}").read_bytes()
    theirs = json.loads((checkpoint_prefix(name).parent / CONFIG).read_text())
    assert json.loads((tmp_path / "t" / CONFIG).read_text()) == theirs


def test_tf_checkpoint_variables_have_the_names_and_shapes_of_the_reference():
    E, H, inner, V = 16, 48, 96, 200
    layer = "bert/encoder/transformer/group_0/inner_group_0"
    shapes = {name: array.shape for name, array in variables(checkpoint_prefix("all_shared")).items()}
    assert len(shapes) == 32
    assert shapes["bert/embeddings/word_embeddings"] == (V, E)
    assert shapes["bert/encoder/embedding_hidden_mapping_in/kernel"] == (E, H)
    assert shapes[f"{layer}/attention_1/self/query/kernel"] == (H, H)
    assert shapes[f"{layer}/ffn_1/intermediate/dense/kernel"] == (H, inner)
    assert shapes[f"{layer}/ffn_1/intermediate/output/dense/kernel"] == (inner, H)
    assert shapes["cls/predictions/transform/dense/kernel"] == (H, E)
    assert shapes["cls/seq_relationship/output_weights"] == (2, H)


@pytest.mark.parametrize("model", WITHOUT_CLASSES)
def test_tf_checkpoint_heads_are_recognised_and_read_back(tmp_path, model):
    prefix, weights = saved(tmp_path / "t", model)
    checkpoint = read_tf_checkpoint(prefix)
    assert checkpoint.spec == ModelSpec(model=model, config=TINY)
    assert_same_weights(checkpoint.weights.tensors, weights)


def test_tf_checkpoint_of_a_classifier_keeps_its_classes(tmp_path):
    prefix, weights = saved(tmp_path / "t", "ForSequenceClassification", labels=("a", "b", "c"))
    assert variables(prefix)["output_weights"].shape == (3, 12)
    assert_same_weights(read_tf_checkpoint(prefix).weights.tensors, weights)
    assert read_tf_checkpoint(prefix).spec.labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert read_tf_checkpoint(prefix, labels=("a", "b", "c")).spec.labels == ("a", "b", "c")
    with pytest.raises(ConfigError, match="2 names, but the classifier"):
        read_tf_checkpoint(prefix, labels=("a", "b"))


def test_tf_checkpoint_with_one_output_requires_the_model(tmp_path):
    prefix, weights = saved(tmp_path / "t", "ForMultipleChoice")
    with pytest.raises(ConfigError, match="RACE"):
        read_tf_checkpoint(prefix)
    assert_same_weights(read_tf_checkpoint(prefix, as_model="ForMultipleChoice").weights.tensors, weights)
    assert read_tf_checkpoint(prefix, as_model="ForSequenceClassification").spec.labels == ("LABEL_0",)


def test_tf_checkpoint_optimizer_state_is_dropped_unread(tmp_path):
    """Their data is missing, so reading them would fail."""
    prefix, weights = saved(tmp_path / "t", "ForPretraining")
    arrays = variables(prefix)
    slots = {f"zz/{name}/{slot}": array for name, array in arrays.items() for slot in ("adam_m", "adam_v")}
    write_bundle(tmp_path / "c" / "model.ckpt", {**arrays, **slots, "zz_other": np.zeros(2, "f4")})
    bundle = tmp_path / "c" / "model.ckpt.data-00000-of-00001"
    bundle.write_bytes(bundle.read_bytes()[: sum(array.nbytes for array in arrays.values())])
    shutil.copyfile(tmp_path / "t" / CONFIG, tmp_path / "c" / CONFIG)
    checkpoint = read_tf_checkpoint(tmp_path / "c")
    assert_same_weights(checkpoint.weights.tensors, weights)
    reasons = dict(checkpoint.weights.dropped)
    assert reasons.pop("zz_other") == "not part of this model"
    assert set(reasons) == set(slots)
    assert set(reasons.values()) == {"optimizer state"}


def test_tf_checkpoint_global_step_is_optimizer_state(tmp_path):
    prefix, _ = saved(tmp_path / "t", "SentenceEmbedder")
    write_bundle(tmp_path / "c" / "model.ckpt", {**variables(prefix), "global_step": np.int64(125_000)[()]})
    shutil.copyfile(tmp_path / "t" / CONFIG, tmp_path / "c" / CONFIG)
    checkpoint = read_tf_checkpoint(tmp_path / "c")
    assert checkpoint.weights.dropped == (("global_step", "optimizer state"),)


def test_tf_checkpoint_of_the_tensorflow_hub_is_a_masked_lm(tmp_path):
    prefix, weights = saved(tmp_path / "t", "ForMaskedLM")
    write_bundle(tmp_path / "c" / "variables", {f"module/{name}": a for name, a in variables(prefix).items()})
    shutil.copyfile(tmp_path / "t" / CONFIG, tmp_path / "c" / CONFIG)
    checkpoint = read_tf_checkpoint(tmp_path / "c")
    assert checkpoint.spec.model == "ForMaskedLM"
    assert checkpoint.weights.mapped[0][0] == "module/bert/embeddings/word_embeddings"
    assert_same_weights(checkpoint.weights.tensors, weights)


def test_tf_checkpoint_of_another_model_is_refused(tmp_path):
    write_bundle(tmp_path / "c", {"resnet/kernel": np.zeros(3, "f4")})
    shutil.copyfile(checkpoint_prefix("relu").parent / CONFIG, tmp_path / CONFIG)
    with pytest.raises(CheckpointError, match="not an ALBERT checkpoint"):
        read_tf_checkpoint(tmp_path / "c")


def test_tf_checkpoint_is_verified_against_its_manifest(tmp_path):
    prefix, _ = saved(tmp_path / "t", "ForMaskedLM")
    (tmp_path / "t" / CONFIG).write_text((tmp_path / "t" / CONFIG).read_text().replace("20", "21"))
    with pytest.raises(CheckpointError, match=CONFIG):
        read_tf_checkpoint(prefix)
    write_manifest(tmp_path / "t")


def write_config(tmp_path, **changes):
    values = json.loads((checkpoint_prefix("relu").parent / CONFIG).read_text()) | changes
    (tmp_path / CONFIG).write_text(json.dumps(values))
    return tmp_path / CONFIG


def test_tf_config_reports_unused_and_unknown_keys(tmp_path):
    dead = {"net_structure_type": 0, "gap_size": 0, "num_memory_blocks": 0, "down_scale_factor": 1}
    config, ignored = read_config(write_config(tmp_path, **dead, mood="good"))
    assert config.hidden_size == 48
    assert ignored == (*dead, "mood")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"down_scale_factor": 2}, "down_scale_factor is 2"),
        ({"hidden_act": "tanh"}, "hidden_act is 'tanh'"),
        ({"hidden_size": 47}, "not divisible"),
        ({"hidden_size": "wide"}, "hidden_size"),
        ({"num_hidden_layers": 22, "num_hidden_groups": 22}, "rounding error"),
    ],
)
def test_tf_config_of_an_unsupported_model_is_refused(tmp_path, changes, complaint):
    with pytest.raises(ConfigError, match=complaint) as refused:
        read_config(write_config(tmp_path, **changes))
    assert str(refused.value).startswith(str(tmp_path / CONFIG))


@pytest.mark.parametrize(("content", "complaint"), [("[1]", "holds list"), ("{", "not JSON")])
def test_tf_config_refuses_other_files(tmp_path, content, complaint):
    (tmp_path / CONFIG).write_text(content)
    with pytest.raises(CheckpointError, match=complaint):
        read_config(tmp_path / CONFIG)


def test_tf_config_that_is_missing_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=f"{CONFIG}: missing"):
        read_config(tmp_path / CONFIG)


@pytest.mark.parametrize(
    ("model", "changes", "complaint"),
    [
        ("ForTokenClassification", {}, "no token classifier"),
        ("ForMaskedLM", {"hidden_act": "gelu"}, "no activation 'gelu'"),
        ("ForMaskedLM", {"layer_norm_eps": 1e-6}, "layer_norm_eps"),
        ("ForMaskedLM", {"sharing": "attention"}, "cannot share"),
        ("ForMultipleChoice", {"classifier_pooling": "mean"}, "has no classifier_pooling"),
        ("ForMaskedLM", {"hidden_size": 8, "embedding_projection": "always"}, "no projection"),
    ],
)
def test_tf_checkpoint_refuses_models_that_the_reference_cannot_run(model, changes, complaint):
    labels = ("a", "b") if model == "ForTokenClassification" else ()
    with pytest.raises(ConfigError, match=complaint):
        tf_config(ModelSpec(model=model, config=TINY.replace(**changes), labels=labels))


def test_tf_checkpoint_writes_unshared_layers_as_groups(tmp_path):
    config = TINY.replace(sharing="none", num_hidden_groups=1)
    prefix, weights = saved(tmp_path / "t", "ForMaskedLM", config)
    checkpoint = read_tf_checkpoint(prefix)
    assert checkpoint.spec.config == config.replace(sharing="all", num_hidden_groups=4)
    assert_same_weights(checkpoint.weights.tensors, weights)
