"""Round trips through transformers: random weights, every head, padded batches."""

import pytest
import torch

from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import build, load_model, read_directory, save_model
from litebert.model.io.model_spec import HF_CLASSES, ModelSpec
from support.models.tolerances import PROMISED

transformers = pytest.importorskip("transformers")

SIZES = [  # embedding, hidden, intermediate, heads
    (8, 16, 24, 2),
    (16, 16, 32, 4),
    (24, 12, 20, 3),
]
DEPTHS = [(1, 1, 1), (3, 1, 1), (3, 3, 1), (4, 2, 2), (5, 2, 1)]  # layers, groups, inner
ACTIVATIONS = ["gelu", "gelu_new", "relu", "silu"]
GRID = [
    (name, SIZES[(i + 2 * j) % len(SIZES)], depth, ACTIVATIONS[(i + j) % len(ACTIVATIONS)])
    for i, name in enumerate(HF_CLASSES)
    for j, depth in enumerate(DEPTHS)
]
"""Each two of class, sizes, depth and activation together."""
B, S, V, CHOICES = 3, 11, 40, 2


def config_of(sizes, depth, activation) -> ModelConfig:
    embedding, hidden, intermediate, heads = sizes
    layers, groups, inner = depth
    return ModelConfig(
        vocab_size=V,
        max_position_embeddings=16,
        embedding_size=embedding,
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_attention_heads=heads,
        num_hidden_layers=layers,
        num_hidden_groups=groups,
        inner_group_num=inner,
        hidden_act=activation,
    )


def randomized(model: torch.nn.Module, *, seed: int) -> torch.nn.Module:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return model.eval()


def batch(name: str) -> dict[str, torch.Tensor]:
    shape = (B, CHOICES, S) if name == "ForMultipleChoice" else (B, S)
    generator = torch.Generator().manual_seed(0)
    mask = torch.ones(shape, dtype=torch.bool)
    mask[1, ..., 6:] = False
    mask[2, ..., 1:] = False
    return {
        "input_ids": torch.randint(0, V, shape, generator=generator),
        "attention_mask": mask,
        "token_type_ids": torch.randint(0, 2, shape, generator=generator),
    }


@torch.no_grad()
def our_outputs(model: torch.nn.Module, name: str) -> list[torch.Tensor]:
    inputs = batch(name)
    mask = inputs["attention_mask"]
    real = mask.flatten().nonzero()[:, 0]
    if name == "SentenceEmbedder":
        return [model.encoder(**inputs).last_hidden_state[mask]]
    if name in ("ForPretraining", "ForMaskedLM"):
        output = model(**inputs, masked_positions=real)
        return [output.mlm_logits, *([output.sentence_pair_logits] if name == "ForPretraining" else [])]
    output = model(**inputs)
    if name == "ForQuestionAnswering":
        return [output.start_logits[mask], output.end_logits[mask]]
    return [output.logits[mask] if name == "ForTokenClassification" else output.logits]


@torch.no_grad()
def their_outputs(model: torch.nn.Module, name: str) -> list[torch.Tensor]:
    inputs = batch(name)
    mask = inputs["attention_mask"]
    output = model(**inputs | {"attention_mask": mask.long()})
    if name == "SentenceEmbedder":
        return [output.last_hidden_state[mask]]
    if name == "ForPretraining":
        return [output.prediction_logits[mask], output.sop_logits]
    if name == "ForQuestionAnswering":
        return [output.start_logits[mask], output.end_logits[mask]]
    return [output.logits[mask] if name in ("ForMaskedLM", "ForTokenClassification") else output.logits]


def assert_same(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> None:
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=PROMISED["outputs"])


def labels_of(name: str) -> tuple[str, ...]:
    return ("no", "maybe", "yes") if name in ("ForSequenceClassification", "ForTokenClassification") else ()


@pytest.mark.parametrize(("name", "sizes", "depth", "activation"), GRID)
def test_transformers_computes_the_same_and_saves_it_back(tmp_path, name, sizes, depth, activation):
    spec = ModelSpec(model=name, config=config_of(sizes, depth, activation), labels=labels_of(name))
    ours = randomized(build(spec), seed=1)
    save_model(ours, tmp_path / "ours", labels=labels_of(name))
    theirs = getattr(transformers, HF_CLASSES[name]).from_pretrained(tmp_path / "ours").eval()
    assert_same(our_outputs(ours, name), their_outputs(theirs, name))

    theirs.save_pretrained(tmp_path / "back")
    stored = read_directory(tmp_path / "back")
    assert stored.spec == spec
    back = load_model(tmp_path / "back")
    assert all(torch.equal(back.state_dict()[key], tensor) for key, tensor in ours.state_dict().items())


@pytest.mark.parametrize(("name", "sizes", "depth", "activation"), GRID)
def test_litebert_computes_what_transformers_saved(tmp_path, name, sizes, depth, activation):
    fields = config_of(sizes, depth, activation).to_dict()
    theirs = getattr(transformers, HF_CLASSES[name])(
        transformers.AlbertConfig(**fields, **({"num_labels": 3} if labels_of(name) else {}))
    )
    randomized(theirs, seed=2)
    theirs.save_pretrained(tmp_path)
    ours = load_model(tmp_path)
    assert type(ours).__name__ == name
    assert_same(our_outputs(ours, name), their_outputs(theirs, name))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_transformers_loads_weights_in_16_bits(tmp_path, dtype):
    ours = randomized(build(ModelSpec(model="ForPretraining", config=config_of(SIZES[0], DEPTHS[1], "gelu"))), seed=1)
    save_model(ours, tmp_path / "m", dtype=dtype)
    load = transformers.AlbertForPreTraining.from_pretrained
    assert load(tmp_path / "m", dtype=getattr(torch, dtype)).dtype == getattr(torch, dtype)
    theirs = load(tmp_path / "m").eval()
    assert theirs.dtype == torch.float32  # as litebert computes
    assert_same(our_outputs(load_model(tmp_path / "m"), "ForPretraining"), their_outputs(theirs, "ForPretraining"))


def test_auto_classes_of_transformers_find_the_class(tmp_path):
    spec = ModelSpec(
        model="ForSequenceClassification", config=config_of(SIZES[0], DEPTHS[1], "relu"), labels=("a", "b", "c")
    )
    save_model(build(spec), tmp_path / "m", labels=("a", "b", "c"), problem_type="multi_label_classification")
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "m")
    assert theirs.config.id2label == {0: "a", 1: "b", 2: "c"}
    assert theirs.config.label2id == {"a": 0, "b": 1, "c": 2}
    assert theirs.config.problem_type == "multi_label_classification"
    assert type(transformers.AutoModel.from_pretrained(tmp_path / "m")).__name__ == "AlbertModel"


def test_pretraining_model_survives_a_round_trip_through_transformers(tmp_path):
    """With the sentence-order head, which checkpoints on the hub lack."""
    ours = randomized(build(ModelSpec(model="ForPretraining", config=config_of(SIZES[1], DEPTHS[2], "gelu"))), seed=3)
    save_model(ours, tmp_path / "a")
    transformers.AlbertForPreTraining.from_pretrained(tmp_path / "a").save_pretrained(tmp_path / "b")
    back = load_model(tmp_path / "b").state_dict()
    assert set(back) == set(ours.state_dict())
    assert all(torch.equal(back[name], tensor) for name, tensor in ours.state_dict().items())


def test_projection_trained_in_transformers_is_kept_at_equal_sizes(tmp_path):
    """transformers trains the identity that litebert wrote, so it must not be dropped."""
    save_model(build(ModelSpec(model="ForMaskedLM", config=config_of(SIZES[1], DEPTHS[0], "gelu_new"))), tmp_path / "a")
    theirs = randomized(transformers.AlbertForMaskedLM.from_pretrained(tmp_path / "a"), seed=4)
    theirs.save_pretrained(tmp_path / "b")
    ours = load_model(tmp_path / "b")
    assert ours.config.embedding_projection == "always"
    assert_same(our_outputs(ours, "ForMaskedLM"), their_outputs(theirs, "ForMaskedLM"))


def test_padding_embedding_is_not_zeroed(tmp_path):
    ours = randomized(build(ModelSpec(model="ForMaskedLM", config=config_of(SIZES[0], DEPTHS[0], "relu"))), seed=5)
    save_model(ours, tmp_path / "m")
    theirs = transformers.AlbertForMaskedLM.from_pretrained(tmp_path / "m")
    row = theirs.get_input_embeddings().weight[0]
    assert row.abs().min() > 0
    assert torch.equal(row, ours.encoder.embeddings.word.weight[0])


def test_transformers_refuses_what_it_cannot_run(tmp_path):
    config = config_of(SIZES[0], DEPTHS[1], "relu").replace(sharing="attention")
    save_model(build(ModelSpec(model="ForMaskedLM", config=config)), tmp_path / "m")
    with pytest.raises(ValueError, match="trust_remote_code=True"):
        transformers.AutoModel.from_pretrained(tmp_path / "m", trust_remote_code=False)


def test_transformers_format_refuses_depths_with_other_groups(tmp_path):
    theirs = transformers.AlbertConfig(
        **config_of(SIZES[0], (18, 14, 1), "relu").to_dict(), architectures=["AlbertForMaskedLM"]
    )
    theirs.save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="num_hidden_groups is 14"):
        load_model(tmp_path)
