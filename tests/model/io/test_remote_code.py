"""Models that transformers does not know are loaded by the code in their directory, with equal outputs."""

import sys
from pathlib import Path
from typing import get_args

import pytest
import torch

from litebert.model import models
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import REMOTE_CODE, load_model, save_model
from litebert.model.io.model_spec import LABELLED, REMOTE_CODE_CLASSES, read_model_spec, transformers_incompatibility
from litebert.model.io.weight_files import SAFETENSORS
from litebert.model.layers.lora import attach
from litebert.model.layers.lora_settings import Adaptable, LoRASettings
from litebert.model.losses import answerability_losses
from litebert.model.model_inputs import ModelInputs, span_label_loss
from litebert.tasks.types.extractive_qa.span_outputs import answer_mask
from support.models.model_builders import MODERN, padded_mask, perturbed, random_batch
from support.models.tolerances import tolerance

transformers = pytest.importorskip("transformers")
AUTO_CLASSES = {
    "ForPretraining": "AutoModelForPreTraining",
    "ForMaskedLM": "AutoModelForMaskedLM",
    "ForSequenceClassification": "AutoModelForSequenceClassification",
    "ForMultipleChoice": "AutoModelForMultipleChoice",
    "ForTokenClassification": "AutoModelForTokenClassification",
    "ForQuestionAnswering": "AutoModelForQuestionAnswering",
    "ForQuestionAnsweringWithNoAnswer": "AutoModelForQuestionAnswering",
    "SentenceEmbedder": "AutoModel",
}
VARIANTS = {
    **{name: {name: value} for name, value in MODERN.items()},
    "all": MODERN,
    "all, gelu, two groups of two": {**MODERN, "hidden_act": "gelu", "num_hidden_groups": 2, "inner_group_num": 2},
    "attention shared": {"sharing": "attention", "embedding_size": 32},
}
MEAN = {"classifier_pooling": "mean"}
TWO_CLASSES = ("ForPretraining", "ForQuestionAnswering")
PAIRS = [(source, target) for source in AUTO_CLASSES for target in AUTO_CLASSES if not target.endswith("WithNoAnswer")]
RESAVED = [
    *((*pair, block) for pair in PAIRS for block in ({}, {**MODERN, **MEAN})),
    *((*pair, MEAN) for pair in PAIRS if {"ForSequenceClassification", "ForMultipleChoice"} & {*pair}),
]
"""Classes that save a model and read it, and settings of the block; only classifiers of sequences read the pooling."""


@pytest.fixture(autouse=True)
def modules_cache(tmp_path, monkeypatch):
    """The directory into which transformers copies remote code."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "transformers_modules"]:
        monkeypatch.delitem(sys.modules, name)


def build(name: str, config: ModelConfig) -> torch.nn.Module:
    options = {"num_labels": 3} if name in LABELLED else {}
    return perturbed(getattr(models, name)(config, **options)).eval()


def load_remote(directory, name: str, **options) -> torch.nn.Module:
    auto_class = getattr(transformers, AUTO_CLASSES[name])
    model, report = auto_class.from_pretrained(directory, trust_remote_code=True, output_loading_info=True, **options)
    absent = {key for key in report["missing_keys"] if not key.startswith("pooler.")}
    assert not absent
    assert not report["unexpected_keys"]
    return model.eval()


@torch.inference_mode()
def outputs(model: torch.nn.Module, name: str, batch) -> list[torch.Tensor]:
    """Outputs of the model in litebert, all positions of the heads of tokens."""
    ids, mask, types = batch.arguments
    everywhere = torch.arange(ids.numel())
    if name in ("ForPretraining", "ForMaskedLM"):
        output = model(ids, mask, types, everywhere)
        logits = output.mlm_logits.view(*ids.shape, -1)
        return [logits, output.sentence_pair_logits] if name == "ForPretraining" else [logits]
    if name == "ForMultipleChoice":
        return [model(*(tensor[None] for tensor in (ids, mask, types))).logits]
    if name == "ForQuestionAnswering":
        return list(model(ids, mask, types)[:2])
    if name == "ForQuestionAnsweringWithNoAnswer":
        return list(model.beams(ids, mask, types, answer_mask(ModelInputs(ids, mask, types)))[:5])
    if name == "SentenceEmbedder":
        return [model.encoder(ids, mask, types).last_hidden_state]
    return [model(ids, mask, types).logits]


@torch.inference_mode()
def remote_outputs(model: torch.nn.Module, name: str, batch) -> list[torch.Tensor]:
    arguments = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask.long()}
    arguments["token_type_ids"] = batch.token_type_ids
    if name == "ForMultipleChoice":
        arguments = {key: tensor[None] for key, tensor in arguments.items()}
    output = model(**arguments)
    if name == "ForPretraining":
        return [output.prediction_logits, output.sop_logits]
    if name == "ForQuestionAnswering":
        return [output.start_logits, output.end_logits]
    if name == "ForQuestionAnsweringWithNoAnswer":
        return list(output.to_tuple()[:5])
    return [output.last_hidden_state if name == "SentenceEmbedder" else output.logits]


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        *((name, "all") for name in AUTO_CLASSES),
        *(("ForMaskedLM", variant) for variant in VARIANTS if variant != "all"),
    ],
)
def test_remote_code_gives_the_outputs_of_litebert(tiny_config, tmp_path, name, variant):
    config = tiny_config.replace(**VARIANTS[variant])
    model = build(name, config)
    directory = save_model(model, tmp_path / "model")
    batch = random_batch(config, padded_mask([9, 5, 1]))
    remote = remote_outputs(load_remote(directory, name), name, batch)
    for found, expected in zip(remote, outputs(model, name, batch), strict=True):
        mask = batch.attention_mask if found.shape[:2] == batch.attention_mask.shape else slice(None)
        assert torch.allclose(found[mask], expected[mask], atol=tolerance(), rtol=tolerance(depth="compound"))


def test_answers_beyond_the_sequence_have_no_loss_in_remote_code(tiny_config, tmp_path):
    """As in transformers: a row whose answer was truncated does not count."""
    config = tiny_config.replace(**MODERN)
    model = build("ForQuestionAnswering", config).eval()
    remote = load_remote(save_model(model, tmp_path / "model"), "ForQuestionAnswering")
    batch = random_batch(config, padded_mask([9, 9, 9]))
    starts, ends = torch.tensor([1, 9, 700]), torch.tensor([2, 3, 900])
    arguments = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask.long()}
    arguments |= {"token_type_ids": batch.token_type_ids, "start_positions": starts, "end_positions": ends}
    found = remote(**arguments).loss
    logits = model(*batch.arguments)
    expected = span_label_loss(logits.start_logits, logits.end_logits, starts, ends)
    assert found.isfinite()
    assert torch.allclose(found, expected, atol=tolerance(), rtol=tolerance(depth="compound"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["ForMaskedLM", "ForQuestionAnsweringWithNoAnswer"])
def test_remote_code_loads_weights_in_16_bits(tiny_config, tmp_path, name, dtype):
    config = tiny_config.replace(**MODERN)
    directory = save_model(build(name, config), tmp_path / "model", dtype=dtype)
    batch = random_batch(config, padded_mask([9, 9, 9]))
    assert load_remote(directory, name, dtype="auto").dtype == torch.float32  # as litebert computes
    rounded = load_remote(directory, name, dtype=getattr(torch, dtype))
    assert rounded.dtype == getattr(torch, dtype)
    assert all(output.isfinite().all() for output in remote_outputs(rounded, name, batch))
    remote = remote_outputs(load_remote(directory, name, dtype=torch.float32), name, batch)
    for found, expected in zip(remote, outputs(load_model(directory), name, batch), strict=True):
        assert torch.allclose(found, expected, atol=tolerance(), rtol=tolerance(depth="compound"))


@pytest.mark.parametrize("block", [{}, MODERN], ids=["albert", "modern"])
@pytest.mark.parametrize("name", ["ForSequenceClassification", "ForMultipleChoice"])
def test_remote_code_classifies_the_mean_of_tokens(tiny_config, tmp_path, name, block):
    model = build(name, tiny_config.replace(**block, **MEAN))
    directory = save_model(model, tmp_path / "model")
    assert load_model(directory).config == model.config
    batch = random_batch(model.config, padded_mask([9, 5, 1]))
    remote = load_remote(directory, name)
    (found,), (expected,) = remote_outputs(remote, name, batch), outputs(model, name, batch)
    assert torch.allclose(found, expected, atol=tolerance(), rtol=tolerance(depth="compound"))
    if name == "ForSequenceClassification":
        ids = batch.input_ids[:1]  # no padding
        assert torch.allclose(remote(ids).logits, model(ids).logits, atol=tolerance(), rtol=tolerance(depth="compound"))


def test_only_classifiers_of_sequences_need_remote_code_for_the_mean_of_tokens(tiny_config, tmp_path):
    """Other models of ALBERT's block have equal outputs in transformers whatever the pooling."""
    directory = save_model(build("ForMaskedLM", tiny_config.replace(**MEAN)), tmp_path / "model")
    assert transformers_incompatibility(read_model_spec(directory)) is None
    assert read_model_spec(directory).config.classifier_pooling == "mean"
    assert transformers.AutoModelForMaskedLM.from_pretrained(directory).config.model_type == "albert"


@pytest.mark.parametrize("name", AUTO_CLASSES)
def test_model_directory_with_remote_code_is_read_back(tiny_config, tmp_path, name):
    model = build(name, tiny_config.replace(**MODERN))
    directory = save_model(model, tmp_path / "model")
    assert {*REMOTE_CODE, SAFETENSORS} <= {path.name for path in directory.iterdir()}
    loaded = load_model(directory)
    assert type(loaded) is type(model)
    assert loaded.config == model.config
    for found, expected in zip(loaded.parameters(), model.parameters(), strict=True):
        assert torch.equal(found, expected)


def build_with_all_settings(name: str, config: ModelConfig, directory: Path) -> torch.nn.Module:
    """A saved model with each setting that only its head reads, none of them the default."""
    own = {"ForPretraining": {"pairing": "nsp"}, "SentenceEmbedder": {"pooling": "cls"}}
    options = {"num_labels": 3} if name in LABELLED else own.get(name, {})
    model = perturbed(getattr(models, name)(config, **options)).eval()
    labels = ("a", "b", "c") if name in LABELLED else ()
    problem_type = "multi_label_classification" if name == "ForSequenceClassification" else None
    save_model(model, directory, labels=labels, problem_type=problem_type)
    return model


@pytest.mark.parametrize(("source", "target", "block"), RESAVED)
def test_model_saved_by_transformers_is_read_back(tiny_config, tmp_path, source, target, block):
    config = tiny_config.replace(**block)
    model = build_with_all_settings(source, config, tmp_path / "model")
    auto_class = getattr(transformers, AUTO_CLASSES[target])
    options = {"trust_remote_code": True, "ignore_mismatched_sizes": True}
    resaved = auto_class.from_pretrained(tmp_path / "model", **options).eval()
    if resaved.config.model_type == "albert" and resaved.config.num_labels == 3 and target in TWO_CLASSES:
        pytest.skip("transformers' own class makes three outputs of three labels, where it needs two")
    resaved.save_pretrained(tmp_path / "again")
    again, batch = load_model(tmp_path / "again"), random_batch(config, padded_mask([9, 9, 9]))
    name = type(again).__name__
    assert name in (target, source)
    if name == source:
        assert read_model_spec(tmp_path / "again") == read_model_spec(tmp_path / "model")
    assert torch.equal(encoder_output(again, batch), encoder_output(model, batch))
    for found, expected in zip(remote_outputs(resaved, name, batch), outputs(again, name, batch), strict=True):
        assert torch.allclose(found, expected, atol=tolerance(), rtol=tolerance(depth="compound"))


@torch.inference_mode()
def encoder_output(model: torch.nn.Module, batch) -> torch.Tensor:
    return model.encoder(*batch.arguments).last_hidden_state


def test_remote_code_trains_every_parameter(tiny_config, tmp_path):
    config = tiny_config.replace(**MODERN)
    directory = save_model(build("ForPretraining", config), tmp_path / "model")
    model = load_remote(directory, "ForPretraining").train()
    batch = random_batch(config, padded_mask([9, 5, 1]))
    labels = batch.input_ids.masked_fill(~batch.attention_mask, -100)
    order = torch.tensor([0, 1, 0])
    model(batch.input_ids, batch.attention_mask, labels=labels, sentence_order_label=order).loss.backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in model.parameters())


@pytest.mark.parametrize(
    ("name", "labels", "problem_type"),
    [
        ("ForSequenceClassification", torch.tensor([0, 2, 1]), None),
        ("ForSequenceClassification", torch.rand(3, 3), "multi_label_classification"),
        ("ForTokenClassification", torch.zeros(3, 9, dtype=torch.long), None),
        ("ForMaskedLM", torch.zeros(3, 9, dtype=torch.long), None),
    ],
)
def test_remote_code_computes_losses(tiny_config, tmp_path, name, labels, problem_type):
    config = tiny_config.replace(**MODERN)
    directory = save_model(build(name, config), tmp_path / "model", problem_type=problem_type)
    batch = random_batch(config, padded_mask([9, 5, 1]))
    output = load_remote(directory, name)(batch.input_ids, attention_mask=batch.attention_mask, labels=labels)
    if problem_type:
        expected = torch.nn.functional.binary_cross_entropy_with_logits(output.logits, labels)
    else:
        expected = torch.nn.functional.cross_entropy(output.logits.flatten(0, -2), labels.flatten())
    assert torch.allclose(output.loss, expected)


@pytest.mark.parametrize("labels", [torch.rand(3), torch.rand(3, 1)])
def test_remote_code_computes_the_loss_of_a_regression(tiny_config, tmp_path, labels):
    config = tiny_config.replace(**MODERN)
    model = perturbed(models.ForSequenceClassification(config, num_labels=1)).eval()
    directory = save_model(model, tmp_path / "model", problem_type="regression")
    batch = random_batch(config, padded_mask([9, 5, 1]))
    inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask, "labels": labels}
    output, expected = load_remote(directory, "ForSequenceClassification")(**inputs), model(**inputs)
    assert torch.allclose(output.loss, expected.loss)
    assert torch.allclose(output.loss, (output.logits.flatten() - labels.flatten()).square().mean())


def test_remote_code_initializes_new_models(tiny_config, tmp_path):
    directory = save_model(build("ForMaskedLM", tiny_config.replace(**MODERN)), tmp_path / "model")
    config = transformers.AutoConfig.from_pretrained(directory, trust_remote_code=True)
    model = transformers.AutoModelForMaskedLM.from_config(config, trust_remote_code=True)
    updates = {name: parameter for name, parameter in model.named_parameters() if ".recursion_lora." in name}
    assert all((parameter == 0).all() == name.endswith(".b") for name, parameter in updates.items())
    assert model.encoder.attentions[0].query.weight.std().item() == pytest.approx(config.initializer_range, rel=0.2)


def test_new_masked_lm_head_has_no_bias_and_a_saved_one_keeps_its_own(tiny_config, tmp_path):
    config = tiny_config.replace(**MODERN)
    save_model(build("ForQuestionAnswering", config), tmp_path / "spans")
    new = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "spans", trust_remote_code=True)
    assert (new.mlm.bias == 0).all()
    model = build("ForMaskedLM", config)
    save_model(model, tmp_path / "model")
    other = transformers.AutoModelForPreTraining.from_pretrained(tmp_path / "model", trust_remote_code=True)
    assert torch.equal(other.mlm.bias, model.mlm.bias)


def test_every_class_of_the_remote_code_has_an_auto_class():
    assert set(AUTO_CLASSES) == set(REMOTE_CODE_CLASSES)


ADAPTED = {
    "albert": ({}, ("query", "value")),
    "modern": (MODERN, get_args(Adaptable)),
    "two groups of two": ({"num_hidden_groups": 2, "inner_group_num": 2}, ("key", "down")),
    "attention shared": ({"sharing": "attention"}, ("output", "up")),
    "feed-forward shared": ({"sharing": "feed_forward"}, ("query", "up")),
}


@pytest.mark.parametrize("variant", ADAPTED)
@pytest.mark.parametrize("name", ["ForSequenceClassification", "SentenceEmbedder", "ForQuestionAnsweringWithNoAnswer"])
def test_remote_code_has_the_adapters_of_each_layer(tiny_config, tmp_path, name, variant):
    changes, projections = ADAPTED[variant]
    model = build(name, tiny_config.replace(**changes))
    attach(model, LoRASettings(rank=3, alpha=5.0, per_layer=True, projections=projections))
    model = perturbed(model).eval()
    remote = load_remote(save_model(model, tmp_path / "model"), name)
    batch = random_batch(model.config, padded_mask([9, 5, 1]))
    for found, expected in zip(remote_outputs(remote, name, batch), outputs(model, name, batch), strict=True):
        mask = batch.attention_mask if name == "SentenceEmbedder" else slice(None)
        assert torch.allclose(found[mask], expected[mask], atol=tolerance(), rtol=tolerance(depth="compound"))
    remote.save_pretrained(tmp_path / "again")
    again = load_model(tmp_path / "again")
    assert again.encoder.adapters == model.encoder.adapters
    for (key, parameter), saved in zip(again.named_parameters(), model.parameters(), strict=True):
        assert torch.equal(parameter, saved), key


@pytest.mark.parametrize("block", [{}, MODERN], ids=["albert", "modern"])
def test_remote_code_has_the_losses_of_questions_without_answer(tiny_config, tmp_path, block):
    name = "ForQuestionAnsweringWithNoAnswer"
    model = build(name, tiny_config.replace(**block))
    remote = load_remote(save_model(model, tmp_path / "model"), name)
    batch = random_batch(model.config, padded_mask([9, 9, 9]))
    ids, mask, _ = batch.arguments
    types = (torch.arange(9) > 3).long().expand_as(ids)
    starts, ends, impossible = torch.tensor([5, 0, 6]), torch.tensor([6, 0, 7]), torch.tensor([0.0, 1.0, 0.0])
    output = model(ids, mask, types, answer_mask(ModelInputs(ids, mask, types)), starts)
    losses = answerability_losses(output, starts, ends, impossible)
    labels = {"start_positions": starts, "end_positions": ends, "is_impossible": impossible}
    found = remote(ids, attention_mask=mask.long(), token_type_ids=types, **labels).loss
    assert torch.allclose(found, (losses["span"] + losses["impossible"] / 2) / 3, atol=tolerance())
    remote.save_pretrained(tmp_path / "again")
    again = load_model(tmp_path / "again")
    assert all(torch.equal(value, model.state_dict()[key]) for key, value in again.state_dict().items())


@pytest.mark.parametrize("name", ["ForMaskedLM", "ForPretraining"])
@pytest.mark.parametrize("change", [10, -4])
def test_token_embeddings_are_resized_with_the_bias_of_the_head(tiny_config, tmp_path, name, change):
    model = build(name, tiny_config.replace(**MODERN))
    remote = load_remote(save_model(model, tmp_path / "model"), name)
    size = tiny_config.vocab_size + change
    remote.resize_token_embeddings(size, mean_resizing=False)
    ids = torch.arange(6)[None]
    logits = remote(ids)[0]
    assert logits.shape == (1, 6, size)
    common = min(size, tiny_config.vocab_size)
    expected = model(ids, torch.ones_like(ids, dtype=torch.bool), torch.zeros_like(ids), torch.arange(6)).mlm_logits
    assert torch.allclose(logits[0, :, :common], expected[:, :common], atol=tolerance())
    remote.save_pretrained(tmp_path / "resized")
    assert load_model(tmp_path / "resized").mlm.bias.shape == (size,)


@pytest.mark.parametrize("name", AUTO_CLASSES)
def test_outputs_are_tuples_on_request(tiny_config, tmp_path, name):
    remote = load_remote(save_model(build(name, tiny_config.replace(**MODERN)), tmp_path / "model"), name)
    ids = torch.arange(6)[None, None] if name == "ForMultipleChoice" else torch.arange(6)[None]
    expected = remote(ids)
    found = remote(ids, return_dict=False)
    assert isinstance(found, tuple)
    assert all(torch.equal(one, other) for one, other in zip(found, expected.to_tuple(), strict=True))
    remote.config.return_dict = False
    assert isinstance(remote(ids), tuple)


def test_gradients_with_checkpointed_activations_are_equal(tiny_config, tmp_path):
    config = tiny_config.replace(**MODERN)
    remote = load_remote(save_model(build("ForMaskedLM", config), tmp_path / "model"), "ForMaskedLM").train()
    ids, gradients = torch.arange(6)[None], []
    for _ in range(2):
        remote(ids, labels=ids).loss.backward()
        gradients.append({name: each.grad.clone() for name, each in remote.named_parameters()})
        remote.zero_grad()
        remote.activation_checkpointing_enable()
    assert remote.encoder.gradient_checkpointing
    assert all(torch.equal(gradients[0][name], gradients[1][name]) for name in gradients[0])


def test_float_labels_are_those_of_several_classes_at_once(tiny_config, tmp_path):
    model = save_model(build("ForSequenceClassification", tiny_config.replace(**MODERN)), tmp_path / "model")
    remote, labels = load_remote(model, "ForSequenceClassification"), torch.tensor([[1.0, 0.0, 1.0]])
    output = remote(torch.arange(6)[None], labels=labels)
    assert torch.equal(output.loss, torch.nn.functional.binary_cross_entropy_with_logits(output.logits, labels))
