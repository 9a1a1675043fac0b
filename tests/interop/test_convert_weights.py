import json

import pytest
import torch

from litebert.errors import CheckpointError, ConfigError
from litebert.files import INPUT_SETTINGS, json_bytes
from litebert.interop.convert_weights import convert
from litebert.manifest import read_manifest, update_manifest, verify_manifest
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import build, load_model, save_model
from litebert.model.io.model_spec import ModelSpec, read_model_spec
from litebert.model.io.weight_files import SAFETENSORS, read_safetensors, write_tensors
from litebert.model.layers.lora import attach
from litebert.model.layers.lora_settings import LoRASettings
from litebert.tasks.readers.columns import SavedTask
from litebert.tasks.types.extractive_qa.question_settings import QuestionSettings
from support.data.tf_checkpoints import NAMES, checkpoint_prefix
from support.models.model_builders import MODERN
from support.models.tolerances import tolerance

TINY = ModelConfig(
    vocab_size=30,
    max_position_embeddings=16,
    embedding_size=8,
    hidden_size=12,
    intermediate_size=20,
    num_attention_heads=2,
    num_hidden_layers=2,
)


def saved(directory, model: str, labels: tuple[str, ...] = (), **changes):
    spec = ModelSpec(model=model, config=TINY.replace(**changes), labels=labels)
    weights = build(spec, seed=3)
    save_model(weights, directory, labels=labels)
    return weights


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    first, second = one.state_dict(), other.state_dict()
    return all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("name", NAMES)
def test_convert_from_tensorflow_to_transformers_and_back_is_lossless(tmp_path, name):
    report = convert(checkpoint_prefix(name), tmp_path / "m", to="transformers")
    assert not report.missing
    assert not report.dropped
    convert(tmp_path / "m", tmp_path / "t", to="tensorflow")
    for ending in (".index", ".data-00000-of-00001"):
        written = (tmp_path / "t" / f"model.ckpt-best{ending}").read_bytes()
        assert written == checkpoint_prefix(name).with_name(f"model.ckpt-best{ending}").read_bytes()


def test_conversion_report_names_every_tensor(tmp_path):
    saved(tmp_path / "m", "ForPretraining")
    report = convert(
        tmp_path / "m",
        tmp_path / "c",
        to="litebert",
        as_model="ForSequenceClassification",
        labels=("no", "yes"),
        allow_missing=("classifier",),
    )
    assert report.missing == ("classifier.weight", "classifier.bias")
    assert ("predictions.bias", "not part of this model") in report.dropped
    assert ("albert.pooler.weight", "albert.pooler.weight") in report.mapped
    text = report.to_text(verbose=True)
    assert text.startswith(f"{tmp_path / 'm'} → {tmp_path / 'c'} (ForSequenceClassification, litebert format): 25 ")
    assert len(text.splitlines()) == 1 + len(report.mapped) + len(report.dropped) + len(report.missing)
    assert report.remapped == ()
    assert "missing  classifier.weight: initialized at random" in text


def test_conversion_report_names_ignored_settings(tmp_path):
    saved(tmp_path / "m", "ForMaskedLM")
    convert(tmp_path / "m", tmp_path / "t", to="tensorflow")
    config = tmp_path / "t" / "albert_config.json"
    config.write_text(config.read_text().replace("{", '{"mood": "good",', 1))
    (tmp_path / "t" / "SHA256SUMS").unlink()
    report = convert(tmp_path / "t", tmp_path / "b", to="litebert")
    assert report.ignored_settings == ("mood",)
    assert "ignored  setting mood" in report.to_text()


def test_convert_refuses_missing_tensors_unless_allowed(tmp_path):
    saved(tmp_path / "m", "ForMaskedLM")
    with pytest.raises(CheckpointError, match=r"lacks 4 of \d+ tensors, such as 'encoder.pooler.weight'"):
        convert(tmp_path / "m", tmp_path / "p", to="litebert", as_model="ForPretraining")
    assert not (tmp_path / "p").exists()
    allowed = ("sentence_pair", "encoder.pooler")
    report = convert(tmp_path / "m", tmp_path / "p", to="litebert", as_model="ForPretraining", allow_missing=allowed)
    assert report.missing == (
        "encoder.pooler.weight",
        "encoder.pooler.bias",
        "sentence_pair.weight",
        "sentence_pair.bias",
    )


def test_convert_keeps_allowed_tensors_that_are_present(tmp_path):
    weights = saved(tmp_path / "m", "ForPretraining")
    report = convert(tmp_path / "m", tmp_path / "p", to="litebert", allow_missing=("sentence_pair",))
    assert report.missing == ()
    assert same(weights, load_model(tmp_path / "p"))


def test_convert_refuses_unknown_modules_in_allow_missing(tmp_path):
    saved(tmp_path / "m", "ForMaskedLM")
    with pytest.raises(ConfigError, match="ForMaskedLM has no 'spo'"):
        convert(tmp_path / "m", tmp_path / "p", to="litebert", allow_missing=("spo",))


@pytest.mark.parametrize("model", ["ForMaskedLM", "ForQuestionAnsweringWithNoAnswer"])
def test_convert_keeps_litebert_format_where_transformers_has_none(tmp_path, model):
    changes = {"sharing": "feed_forward"} if model == "ForMaskedLM" else {}
    weights = saved(tmp_path / "m", model, **changes)
    report = convert(tmp_path / "m", tmp_path / "c", to="litebert")
    assert ("encoder.projection.weight", "encoder.projection.weight") in report.mapped
    assert same(weights, load_model(tmp_path / "c"))
    with pytest.raises(ConfigError, match="transformers"):
        convert(tmp_path / "m", tmp_path / "d", to="transformers")
    assert not (tmp_path / "d").exists()


def test_convert_remaps_weights_to_unshared_layers(tmp_path):
    shared = saved(tmp_path / "m", "ForMaskedLM")
    report = convert(tmp_path / "m", tmp_path / "c", to="transformers", changes={"sharing": "none"})
    unshared = load_model(tmp_path / "c")
    assert len(unshared.encoder.attentions) == 2
    assert all(same(block, shared.encoder.attentions[0]) for block in unshared.encoder.attentions)
    assert "albert.encoder.albert_layer_groups.1.albert_layers.0.ffn.weight" in report.remapped
    assert len(report.remapped) == 16
    assert "made from blocks" in report.to_text()


def test_convert_widens_feed_forward_layers_and_reports_their_tensors(tmp_path):
    model = saved(tmp_path / "m", "ForMaskedLM")
    size = model.config.intermediate_size
    report = convert(tmp_path / "m", tmp_path / "c", to="litebert", changes={"intermediate_size": 2 * size})
    wider = load_model(tmp_path / "c").encoder.feed_forwards[0]
    assert torch.equal(wider.up.weight[:size], model.encoder.feed_forwards[0].up.weight)
    block = "albert.encoder.albert_layer_groups.0.albert_layers.0."
    assert sorted(report.remapped) == [block + name for name in ("ffn.bias", "ffn.weight", "ffn_output.weight")]
    assert not {name for _, name in report.mapped} & set(report.remapped)


def test_convert_averages_layers_that_will_be_shared(tmp_path):
    saved(tmp_path / "m", "ForMaskedLM", sharing="none")
    report = convert(tmp_path / "m", tmp_path / "c", to="tensorflow", changes={"sharing": "all"})
    merged = [name for name, reason in report.dropped if reason == "averaged into the remaining blocks"]
    assert len(merged) == 16
    assert all("albert_layer_groups.1" in name for name in merged)


@pytest.mark.parametrize(
    "changes",
    [
        {"num_hidden_layers": 4},
        {"num_hidden_layers": 6, "num_hidden_groups": 3},
        {"num_hidden_layers": 4, "sharing": "none"},
        {"num_hidden_layers": 4, "sharing": "attention", "inner_group_num": 2},
        {**MODERN, "num_hidden_layers": 4, "num_hidden_groups": 2, "recursion_lora_rank": 2},
    ],
)
def test_convert_keeps_the_first_layers(tmp_path, changes):
    whole = saved(tmp_path / "m", "ForMaskedLM", **changes)
    report = convert(tmp_path / "m", tmp_path / "c", to="litebert", layers=3)
    short = load_model(tmp_path / "c")
    assert short.config.num_hidden_layers == 3
    dropped = set(whole.state_dict()) - set(short.state_dict())
    assert [reason for _, reason in report.dropped].count("of a layer that is left out") == len(dropped)
    ids = torch.arange(12).view(2, 6)
    states = whole.eval().encoder(ids, torch.ones_like(ids, dtype=torch.bool), 0 * ids, output_hidden_states=True)
    expected = whole.encoder.final_norm(states.hidden_states[3 * whole.config.inner_group_num])
    actual = short.encoder(ids, torch.ones_like(ids, dtype=torch.bool), 0 * ids).last_hidden_state
    torch.testing.assert_close(actual, expected, atol=tolerance(depth="model"), rtol=0)


def test_convert_refuses_more_layers_than_the_model_has(tmp_path):
    saved(tmp_path / "m", "ForMaskedLM")
    with pytest.raises(ConfigError, match="layers: 3, expected 1 to 2, the layers of the model"):
        convert(tmp_path / "m", tmp_path / "c", to="litebert", layers=3)


def test_convert_writes_changed_settings(tmp_path):
    saved(tmp_path / "m", "ForMaskedLM")
    convert(tmp_path / "m", tmp_path / "c", to="transformers", changes={"hidden_dropout_prob": 0.25})
    assert read_model_spec(tmp_path / "c").config.hidden_dropout_prob == 0.25


def test_convert_keeps_problem_type_and_labels(tmp_path):
    spec = ModelSpec(model="ForSequenceClassification", config=TINY, labels=("bad", "good"))
    save_model(build(spec), tmp_path / "m", labels=spec.labels, problem_type="multi_label_classification")
    convert(tmp_path / "m", tmp_path / "c", to="transformers")
    assert read_model_spec(tmp_path / "c") == spec.replace(problem_type="multi_label_classification")


def test_convert_with_other_labels_keeps_the_problem_type(tmp_path):
    spec = ModelSpec(model="ForSequenceClassification", config=TINY, labels=("LABEL_0", "LABEL_1"))
    save_model(build(spec), tmp_path / "m", labels=spec.labels, problem_type="multi_label_classification")
    convert(tmp_path / "m", tmp_path / "c", to="transformers", labels=("bad", "good"))
    found = read_model_spec(tmp_path / "c")
    assert (found.problem_type, found.labels) == ("multi_label_classification", ("bad", "good"))


@pytest.mark.parametrize(("settings", "expected"), [({}, 24), ({"max_length": 16}, 16), ({"max_length": 99}, 24)])
def test_tokenizer_of_a_converted_model_truncates_to_what_the_model_reads(tmp_path, tiny_tokenizer, settings, expected):
    config = TINY.replace(vocab_size=tiny_tokenizer.vocab_size, max_position_embeddings=24)
    files = {**tiny_tokenizer.files(), **({INPUT_SETTINGS: json_bytes(settings)} if settings else {})}
    spec = ModelSpec(model="ForSequenceClassification", config=config, labels=("bad", "good"))
    save_model(build(spec), tmp_path / "m", labels=spec.labels, extra_files=files)
    convert(tmp_path / "m", tmp_path / "c", to="litebert")
    assert json.loads((tmp_path / "c" / "tokenizer_config.json").read_text())["model_max_length"] == expected


@pytest.mark.parametrize("ending", ["", ".index"])
def test_convert_accepts_a_prefix_or_an_index_file(tmp_path, ending):
    source = checkpoint_prefix("relu").with_name(f"model.ckpt-best{ending}")
    assert len(convert(source, tmp_path / "m", to="litebert").mapped) == 32


@pytest.mark.parametrize(
    ("target", "written_again"), [("litebert", True), ("transformers", True), ("tensorflow", False)]
)
def test_convert_drops_an_identity_projection_only_if_the_target_has_none(tmp_path, target, written_again):
    saved(tmp_path / "m", "ForPretraining", embedding_size=12)
    report = convert(tmp_path / "m", tmp_path / "c", to=target)
    projection = {f"albert.encoder.embedding_hidden_mapping_in.{part}" for part in ("weight", "bias")}
    assert (projection <= {name for name, _ in report.mapped}) == written_again
    assert (projection <= {name for name, _ in report.dropped}) != written_again


def test_modern_block_is_converted_to_litebert_only(tmp_path):
    modern = {name: MODERN[name] for name in ("norm_first", "gated_feed_forward", "recursion_lora_rank")}
    model = saved(tmp_path / "m", "ForMaskedLM", **modern)
    report = convert(tmp_path / "m", tmp_path / "c", to="litebert")
    assert not report.missing
    assert not report.dropped
    assert same(load_model(tmp_path / "c"), model)
    for other in ("transformers", "tensorflow"):
        with pytest.raises(ConfigError, match="has no norm_first, gated_feed_forward, recursion_lora_rank"):
            convert(tmp_path / "m", tmp_path / other, to=other)


@pytest.mark.parametrize("target", ["litebert", "tensorflow", "sentence-transformers"])
def test_convert_refuses_per_layer_adapters_and_says_what_to_do(tmp_path, target, tiny_tokenizer):
    model = build(ModelSpec(model="SentenceEmbedder", config=TINY.replace(vocab_size=tiny_tokenizer.vocab_size)))
    attach(model, LoRASettings(per_layer=True))
    source = save_model(model, tmp_path / "model", extra_files=tiny_tokenizer.files())
    with pytest.raises(ConfigError, match=r"cannot be converted; .* fine-tune with adapters\.per_layer=false"):
        convert(source, tmp_path / "out", to=target)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("target", ["litebert", "transformers"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_convert_writes_the_weights_in_the_dtype(tmp_path, target, dtype):
    weights = saved(tmp_path / "m", "ForMaskedLM")
    convert(tmp_path / "m", tmp_path / "c", to=target, dtype=dtype)
    stored = read_safetensors(tmp_path / "c" / SAFETENSORS)
    assert {str(tensor.dtype) for tensor in stored.values()} == {f"torch.{dtype}"}
    verify_manifest(tmp_path / "c")
    assert same(weights.to(getattr(torch, dtype)).float(), load_model(tmp_path / "c"))


def test_convert_of_weights_in_16_bits_and_back_to_32_changes_nothing(tmp_path):
    saved(tmp_path / "m", "ForMaskedLM")
    convert(tmp_path / "m", tmp_path / "half", to="litebert", dtype="float16")
    convert(tmp_path / "half", tmp_path / "tensorflow", to="tensorflow")
    convert(tmp_path / "tensorflow", tmp_path / "back", to="litebert")
    assert same(load_model(tmp_path / "half"), load_model(tmp_path / "back"))


def test_convert_refuses_16_bits_in_a_tensorflow_checkpoint(tmp_path):
    saved(tmp_path / "m", "ForMaskedLM")
    with pytest.raises(ConfigError, match="dtype: is float16, but a TensorFlow checkpoint has float32; leave it out"):
        convert(tmp_path / "m", tmp_path / "t", to="tensorflow", dtype="float16")
    assert not (tmp_path / "t").exists()


@pytest.fixture
def answering_model(tmp_path):
    """A model directory with a card, a task and its settings."""
    spec = ModelSpec(model="ForQuestionAnswering", config=TINY)
    task = SavedTask(task_type="extractive_qa_no_answer").files() | QuestionSettings(max_length=16).model_files()
    return save_model(build(spec), tmp_path / "m", extra_files={"README.md": b"EM 80.1", **task})


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_convert_keeps_the_card_and_the_task_of_the_same_model(answering_model, tmp_path, dtype):
    convert(answering_model, tmp_path / "c", to="litebert", dtype=dtype)
    assert (tmp_path / "c" / "README.md").read_bytes() == b"EM 80.1"
    assert SavedTask.stored(tmp_path / "c") == SavedTask(task_type="extractive_qa_no_answer")
    assert QuestionSettings.stored(tmp_path / "c", max_length=512).max_length == 16
    assert set(read_manifest(tmp_path / "c")) == set(read_manifest(answering_model))
    verify_manifest(tmp_path / "c")


def test_convert_keeps_the_task_but_not_the_card_of_a_changed_model(answering_model, tmp_path):
    convert(answering_model, tmp_path / "c", to="litebert", changes={"num_hidden_layers": 4})
    assert not (tmp_path / "c" / "README.md").exists()
    assert SavedTask.stored(tmp_path / "c") is not None


def test_convert_keeps_no_card_where_left_out_layers_are_made_from_others(answering_model, tmp_path):
    config = read_model_spec(answering_model).config
    unshared = {"sharing": "none", "num_hidden_layers": 2}
    convert(answering_model, tmp_path / "m", to="litebert", changes=unshared)
    (tmp_path / "m" / "README.md").write_bytes(b"EM 80.1")
    report = convert(tmp_path / "m", tmp_path / "c", to="litebert", layers=1, changes=unshared)
    assert read_model_spec(tmp_path / "c").config == config.replace(**unshared)
    assert not (tmp_path / "c" / "README.md").exists()
    assert not any(name.startswith("encoder.attentions.1.") for _, name in report.mapped)
    assert any("1.albert_layers" in name or ".attentions.1." in name for name in report.remapped)


def test_convert_keeps_the_task_but_not_the_card_with_another_tokenizer(tiny_tokenizer, tmp_path):
    spec = ModelSpec(model="ForQuestionAnswering", config=TINY.replace(vocab_size=tiny_tokenizer.vocab_size))
    files = {"README.md": b"EM 80.1", **SavedTask(task_type="extractive_qa").files()}
    save_model(build(spec), tmp_path / "m", extra_files=files)
    tiny_tokenizer.save(tmp_path / "tokenizer")
    convert(tmp_path / "m", tmp_path / "c", to="litebert", tokenizer=tmp_path / "tokenizer")
    assert not (tmp_path / "c" / "README.md").exists()
    assert SavedTask.stored(tmp_path / "c") is not None


def test_convert_drops_the_task_of_other_labels(tmp_path):
    spec = ModelSpec(model="ForSequenceClassification", config=TINY, labels=("bad", "good"))
    task = SavedTask(task_type="classification")
    save_model(build(spec), tmp_path / "m", labels=spec.labels, extra_files=task.files())
    for labels, kept in (((), True), (("no", "yes"), False)):
        convert(tmp_path / "m", tmp_path / "c", to="litebert", as_model="ForSequenceClassification", labels=labels)
        assert (SavedTask.stored(tmp_path / "c") is not None) is kept


def test_convert_drops_the_card_of_a_model_whose_head_is_random(answering_model, tmp_path):
    tensors = read_safetensors(answering_model / SAFETENSORS)
    without_head = {name: tensor for name, tensor in tensors.items() if not name.startswith("qa_outputs.")}
    write_tensors(answering_model / SAFETENSORS, without_head)
    update_manifest(answering_model, [SAFETENSORS])
    convert(answering_model, tmp_path / "c", to="litebert", allow_missing=("spans",))
    assert not {"README.md", "task.json"} & {path.name for path in (tmp_path / "c").iterdir()}


@pytest.mark.parametrize(
    ("target", "as_model", "missing"),
    [("litebert", "ForMultipleChoice", ("classifier", "encoder.pooler")), ("tensorflow", None, ())],
)
def test_convert_drops_card_and_task_of_another_head_and_for_tensorflow(
    answering_model, tmp_path, target, as_model, missing
):
    convert(answering_model, tmp_path / "c", to=target, as_model=as_model, allow_missing=missing)
    assert not {"README.md", "task.json", "question_answering.json"} & {
        path.name for path in (tmp_path / "c").iterdir()
    }
