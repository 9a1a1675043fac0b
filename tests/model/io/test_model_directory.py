import json
import logging
import random
import shutil
from pathlib import Path
from typing import get_args

import pytest
import torch

from litebert.errors import CheckpointError, ConfigError
from litebert.manifest import read_manifest, update_manifest
from litebert.model.config import ModelConfig, Sharing
from litebert.model.io.model_directory import MODELS, REMOTE_CODE, build, load_model, save_model
from litebert.model.io.model_spec import LABELLED, ModelSpec, SavedDtype, read_model_spec, transformers_incompatibility
from litebert.model.io.weight_files import SAFETENSORS, read_safetensors, write_tensors
from support.models.shape_checks import stop_checks
from support.models.tolerances import within

TINY = ModelConfig(
    hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16, embedding_size=4, vocab_size=10
)


def labels_of(model: str) -> tuple[str, ...]:
    return ("bad", "good", "ugly") if model in LABELLED else ()


def fresh_model(model: str = "ForMaskedLM", *, seed: int = 1, **changes) -> torch.nn.Module:
    spec = ModelSpec(model=model, config=TINY.replace(**changes), labels=labels_of(model))
    return build(spec, seed=seed)


def saved(directory: Path, model: str = "ForMaskedLM", **changes) -> torch.nn.Module:
    weights = fresh_model(model, **changes)
    save_model(weights, directory, labels=labels_of(model))
    return weights


def assert_same(one: torch.nn.Module, other: torch.nn.Module) -> None:
    first, second = one.state_dict(), other.state_dict()
    assert first
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("sharing", get_args(Sharing))
@pytest.mark.parametrize("model", MODELS)
def test_model_directory_is_loaded_as_it_was_saved(tmp_path, model, sharing):
    weights = saved(tmp_path / "m", model, sharing=sharing)
    back = load_model(tmp_path / "m")
    assert type(back) is type(weights)
    assert back.config == weights.config
    assert_same(weights, back)
    assert not back.training
    assert all(parameter.requires_grad for parameter in back.parameters())
    spec = ModelSpec(model=model, config=weights.config, labels=labels_of(model))
    remote = transformers_incompatibility(spec) is not None
    assert (tmp_path / "m" / SAFETENSORS).exists()
    assert all((tmp_path / "m" / name).exists() == remote for name in REMOTE_CODE)


def test_model_directory_keeps_the_pooling(tmp_path):
    save_model(MODELS["SentenceEmbedder"](TINY, pooling="cls"), tmp_path / "m")
    assert load_model(tmp_path / "m").pooling == "cls"


@pytest.mark.parametrize("changes", [{}, {"norm_first": True}], ids=["transformers", "remote code"])
@pytest.mark.parametrize("dtype", get_args(SavedDtype))
def test_model_directory_in_another_dtype_is_loaded_in_float32(tmp_path, dtype, changes):
    weights = fresh_model(**changes)
    directory = save_model(weights, tmp_path / "m", dtype=dtype)
    stored = read_safetensors(directory / SAFETENSORS)
    assert {str(tensor.dtype) for tensor in stored.values()} == {f"torch.{dtype}"}
    back = load_model(directory)
    assert {tensor.dtype for tensor in back.parameters()} == {torch.float32}
    assert_same(weights.to(getattr(torch, dtype)).float(), back)


def test_model_in_half_precision_is_saved_in_the_dtype_that_is_asked_for(tmp_path):
    weights = fresh_model().half()
    for dtype in ("float32", "float16"):
        stored = read_safetensors(save_model(weights, tmp_path / dtype, dtype=dtype) / SAFETENSORS)
        assert {str(tensor.dtype) for tensor in stored.values()} == {f"torch.{dtype}"}
    assert_same(load_model(tmp_path / "float32"), load_model(tmp_path / "float16"))


def test_model_directory_in_16_bits_is_remapped_in_float32(tmp_path):
    weights = fresh_model(sharing="none")
    save_model(weights, tmp_path / "m", dtype="bfloat16")
    first, second = (block.output.weight.bfloat16().float() for block in weights.encoder.attentions)
    shared = load_model(tmp_path / "m", changes={"sharing": "all"}).encoder.attentions[0].output.weight
    assert torch.allclose(shared, (first + second) / 2, **within(depth="operation"))
    assert not torch.equal(shared, shared.bfloat16().float())


def test_save_model_writes_nothing_if_a_weight_is_too_large_for_the_dtype(tmp_path):
    weights = fresh_model()
    with torch.no_grad():
        weights.encoder.embeddings.word.weight[3, 0] = 1e5
    with pytest.raises(ConfigError, match=r"word_embeddings\.weight has the number 100000, float16 ends at 65504"):
        save_model(weights, tmp_path / "m", dtype="float16")
    assert not list(tmp_path.iterdir())


def test_model_spec_numbers_classes_without_names(tmp_path):
    save_model(fresh_model("ForSequenceClassification"), tmp_path / "m", problem_type="regression")
    spec = read_model_spec(tmp_path / "m")
    assert spec.labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert spec.problem_type == "regression"


def test_extra_files_are_saved_and_in_the_manifest(tmp_path):
    save_model(fresh_model(), tmp_path / "m", extra_files={"spiece.model": b"pieces", "results/glue.json": b"{}"})
    assert (tmp_path / "m" / "results" / "glue.json").read_bytes() == b"{}"
    (tmp_path / "m" / "spiece.model").write_bytes(b"other")
    with pytest.raises(CheckpointError, match=r"spiece\.model: damaged"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("name", ["config.json", "SHA256SUMS", "../x", "/tmp/x"])
def test_extra_files_cannot_replace_files_or_leave_the_directory(tmp_path, name):
    with pytest.raises(ConfigError, match="exists or lies outside"):
        save_model(fresh_model(), tmp_path / "m", extra_files={name: b""})
    assert not (tmp_path / "m").exists()


def test_save_model_replaces_an_existing_model(tmp_path):
    saved(tmp_path / "m")
    weights = saved(tmp_path / "m", seed=9)
    assert_same(weights, load_model(tmp_path / "m"))


def test_save_model_refuses_to_delete_other_files(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(CheckpointError, match="holds other files"):
        saved(tmp_path)
    with pytest.raises(CheckpointError, match="is a file"):
        saved(tmp_path / "thesis.tex")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"config.json": '{"port": 80}'}, "config.json"),
        ({"config.json": '{"port": 80}', "index.js": ""}, "index.js"),
        ({"config.json": '{"model_type": "bert"}'}, "config.json"),
        ({"config.json": '{"model_type": "albert"}', "thesis.tex": ""}, "thesis.tex"),
        ({"config.json": '{"model_type": "albert"}', "checkpoint-5/model.safetensors": ""}, "checkpoint-5/model.safet"),
        ({"config.json": '{"model_type": "albert"}', "onnx/model.onnx": ""}, "onnx/model.onnx"),
    ],
)
def test_save_model_refuses_to_delete_a_directory_with_another_config_or_file(tmp_path, files, named):
    write_files(tmp_path / "m", files)
    with pytest.raises(CheckpointError, match=f"m: holds other files, such as {named}.* choose another directory"):
        saved(tmp_path / "m")
    assert all((tmp_path / "m" / name).read_text() == text for name, text in files.items())


def test_model_directory_of_a_run_is_replaced_whatever_lies_there(tmp_path):
    """Hours of training do not end at a file that somebody put there."""
    (tmp_path / "settings.yaml").write_text("command: finetune\n")
    saved(tmp_path / "model")
    (tmp_path / "model" / "notes.txt").write_text("x")
    saved(tmp_path / "model")
    assert not (tmp_path / "model" / "notes.txt").exists()


def test_save_model_refuses_to_delete_a_git_repository(tmp_path):
    saved(tmp_path / "m")
    (tmp_path / "m" / ".git").mkdir()
    with pytest.raises(CheckpointError, match="m: is a git repository, which would be deleted; choose another"):
        saved(tmp_path / "m")
    assert (tmp_path / "m" / ".git").is_dir()


@pytest.mark.parametrize("has_manifest", [True, False])
def test_save_model_replaces_models_of_transformers_and_sentence_transformers(tmp_path, has_manifest):
    directory = save_model(fresh_model(norm_first=True), tmp_path / "m", extra_files={"spiece.model": b"pieces"})
    if has_manifest:
        write_files(directory, {"results/glue.json": ""})
        update_manifest(directory, ["results/glue.json"])
    else:
        (directory / "SHA256SUMS").unlink()
    names = ("README.md", "evaluation.json", "modules.json", "1_Pooling/config.json", ".cache/huggingface/a.lock")
    write_files(directory, dict.fromkeys((*names, "pytorch_model-00001-of-00002.bin", "special_tokens_map.json"), ""))
    weights = saved(directory, seed=9)
    assert_same(weights, load_model(directory))


def test_save_model_replaces_a_damaged_model(tmp_path):
    saved(tmp_path / "m")
    (tmp_path / "m" / "config.json").write_text("{")
    saved(tmp_path / "m")
    load_model(tmp_path / "m")


def write_files(directory: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


def test_save_model_refuses_other_modules(tmp_path):
    with pytest.raises(ConfigError, match="Linear cannot be saved"):
        save_model(torch.nn.Linear(2, 2), tmp_path / "m")


def test_save_model_needs_one_label_per_class(tmp_path):
    with pytest.raises(ConfigError, match="2 names for a ForSequenceClassification with 3 classes"):
        save_model(fresh_model("ForSequenceClassification"), tmp_path / "m", labels=("a", "b"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("AutoModelForSequenceClassification", "did you mean 'ForSequenceClassification'"),
        ("AlbertForMaskedLM", "did you mean 'ForMaskedLM'"),
        ("Encoder", "expected one of ForPretraining, ForMaskedLM, .*SentenceEmbedder"),
    ],
)
def test_load_model_as_an_unknown_model_suggests_the_nearest_name(tmp_path, name, expected):
    saved(tmp_path / "m", "ForPretraining")
    stop_checks()
    with pytest.raises(ConfigError, match=f"^as_model: unknown '{name}'; {expected}"):
        load_model(tmp_path / "m", as_model=name)


def test_load_model_as_another_model_initializes_its_head(tmp_path):
    pretrained = saved(tmp_path / "m", "ForPretraining")
    model = load_model(
        tmp_path / "m",
        as_model="ForSequenceClassification",
        labels=("no", "yes"),
        fresh=("classifier",),
        changes={"hidden_dropout_prob": 0.1},
        seed=5,
    )
    assert model.classifier.out_features == 2
    assert model.config == TINY.replace(hidden_dropout_prob=0.1)
    assert_same(model.encoder, pretrained.encoder)
    other_seed = build(ModelSpec(model="ForSequenceClassification", config=TINY, labels=("no", "yes")), seed=5)
    assert torch.equal(model.classifier.weight, other_seed.classifier.weight)


def test_load_model_fresh_head_ignores_the_saved_one(tmp_path):
    """Even if the classifier of the source has the same shape."""
    old = saved(tmp_path / "m", "ForSequenceClassification")
    new = load_model(tmp_path / "m", labels=("x", "y", "z"), fresh=("classifier",), seed=7)
    assert not torch.equal(old.classifier.weight, new.classifier.weight)
    assert_same(old.encoder, new.encoder)


def test_load_model_remaps_blocks_to_another_depth(tmp_path):
    saved(tmp_path / "m", num_hidden_groups=2)
    deeper = load_model(tmp_path / "m", changes={"num_hidden_layers": 4, "num_hidden_groups": 4})
    shallow = load_model(tmp_path / "m")
    for block, origin in enumerate([0, 0, 1, 1]):
        assert_same(deeper.encoder.attentions[block], shallow.encoder.attentions[origin])


def test_load_model_draws_new_units_of_wider_feed_forward_layers_with_the_seed(tmp_path):
    saved(tmp_path / "m")
    wider = {"intermediate_size": 2 * TINY.intermediate_size}
    first, again, other = (
        load_model(tmp_path / "m", changes=wider, seed=seed).encoder.feed_forwards[0].up.weight for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_load_model_does_not_share_memory_with_its_file(tmp_path):
    weights = saved(tmp_path / "m")
    with torch.no_grad():
        for parameter in load_model(tmp_path / "m").parameters():
            parameter.add_(1)
    assert_same(weights, load_model(tmp_path / "m"))


def test_load_model_never_leaves_weights_random_silently(tmp_path):
    saved(tmp_path / "m", "ForMaskedLM")
    with pytest.raises(CheckpointError, match=r"as ForPretraining: lacks 4 of 32 tensors, such as 'encoder\.pooler"):
        load_model(tmp_path / "m", as_model="ForPretraining")


def test_load_model_refuses_unknown_fresh_modules(tmp_path):
    saved(tmp_path / "m")
    with pytest.raises(ConfigError, match="ForMaskedLM has no 'classifer'"):
        load_model(tmp_path / "m", fresh=("classifer",))


def test_load_model_as_a_classifier_needs_labels(tmp_path):
    saved(tmp_path / "m", "ForSequenceClassification")
    with pytest.raises(ConfigError, match="needs at least one label"):
        load_model(tmp_path / "m", as_model="ForTokenClassification", fresh=("classifier",))


def test_load_model_refuses_a_head_of_another_shape(tmp_path):
    saved(tmp_path / "m", "ForSequenceClassification")
    with pytest.raises(CheckpointError, match=r"classifier.weight has shape \(3, 8\), the config says \(2, 8\)"):
        load_model(tmp_path / "m", labels=("a", "b"))


def test_load_model_names_a_missing_tensor(tmp_path):
    saved(tmp_path / "m")
    (tmp_path / "m" / "SHA256SUMS").unlink()
    tensors = read_safetensors(tmp_path / "m" / SAFETENSORS)
    del tensors["predictions.bias"]
    write_tensors(tmp_path / "m" / SAFETENSORS, tensors)
    with pytest.raises(CheckpointError, match=r"lacks 1 of \d+ tensors, such as 'mlm.bias'"):
        load_model(tmp_path / "m")


def test_load_model_without_a_manifest_logs_it(tmp_path, caplog):
    weights = saved(tmp_path / "m", "ForPretraining")
    (tmp_path / "m" / "SHA256SUMS").unlink()
    tensors = read_safetensors(tmp_path / "m" / SAFETENSORS)
    write_tensors(tmp_path / "m" / SAFETENSORS, {**tensors, "extra": torch.ones(1)})
    with caplog.at_level(logging.INFO):
        assert_same(weights, load_model(tmp_path / "m"))
    assert "has no SHA256SUMS" in caplog.text
    assert "tensor extra dropped" in caplog.text


def test_load_model_names_paths_without_a_model(tmp_path):
    with pytest.raises(CheckpointError, match=r"config\.json: missing"):
        load_model(tmp_path)
    with pytest.raises(CheckpointError, match="no such directory"):
        load_model(tmp_path / "none")
    (tmp_path / "file").write_text("x")
    with pytest.raises(CheckpointError, match="is a file"):
        load_model(tmp_path / "file")


def test_model_directory_detects_200_random_corruptions(tmp_path):
    rng = random.Random(0)
    save_model(fresh_model(), tmp_path / "whole", extra_files={"spiece.model": b"pieces"})
    names = sorted(path.name for path in (tmp_path / "whole").iterdir())
    for _ in range(200):
        shutil.copytree(tmp_path / "whole", tmp_path / "m")
        victim = tmp_path / "m" / rng.choice(names)
        injure(victim, rng)
        with pytest.raises((CheckpointError, ConfigError)) as refused:
            load_model(tmp_path / "m")
        assert str(tmp_path / "m") in str(refused.value)
        shutil.rmtree(tmp_path / "m")


@pytest.mark.parametrize("change", [Path.unlink, lambda card: card.write_text("edited")], ids=["removed", "edited"])
@pytest.mark.parametrize("listed", [False, True], ids=["manifest", "manifest-with-card"])
def test_model_directory_loads_with_an_edited_card(tmp_path, change, listed):
    """Models that litebert saved earlier list the card in their manifest."""
    directory = save_model(fresh_model(), tmp_path / "m", extra_files={"README.md": b"card"})
    assert "README.md" not in read_manifest(directory)
    if listed:
        update_manifest(directory, ["README.md"])
    change(directory / "README.md")
    load_model(directory)


def injure(path: Path, rng: random.Random) -> None:
    """Flip a bit, truncate, or delete. The manifest is not deleted: without one there is nothing to detect."""
    content = bytearray(path.read_bytes())
    kind = rng.choice(["flip", "flip", "truncate", "delete"])
    if kind == "flip" or path.name == "SHA256SUMS":
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
    elif kind == "truncate":
        path.write_bytes(content[: rng.randrange(len(content))])
    else:
        path.unlink()


def test_model_directory_detects_an_edited_config(tmp_path):
    saved(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"hidden_dropout_prob": 0.5}))
    with pytest.raises(CheckpointError, match=r"config\.json: damaged"):
        load_model(tmp_path / "m")
