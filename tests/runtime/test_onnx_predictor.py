"""Predictions of exported models are those of torch."""

import json
import shutil
import sys
from dataclasses import asdict

import numpy as np
import pytest
import torch

from litebert.errors import CheckpointError, ConfigError, DataError, MissingExtraError
from litebert.export.export_model import export_model
from litebert.inference.predictor import Predictor as TorchPredictor
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForMaskedLM, ForPretraining
from litebert.runtime import Predictor
from litebert.runtime.export_metadata import KEY
from litebert.runtime.onnx_model import OnnxModel
from support.models.tolerances import PROMISED, close_to, tolerance

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

TEXTS = [
    *("the film was good", "this story is awful, in 1999.", "music"),
    *(("", "bad"), ("the film", "was bad"), "good " * 100),
]
FILM = ("What was good?", "the film was good, in 2024.")
CONTEXTS = [FILM, ("Who?", "The old actor. " * 20), ("", ""), ("Why?", "Ä")]
CHOICES = [("the film", "was _?", ["good", "bad", "x " * 60]), ("a", None, ["b", "c", "d"])]
SENTENCES = [["the", "old", "actor"], ["music"] * 100, ["\u200b", "x"], "the old actor.", ""]
CALLS = {
    "classifier": ("classify", (TEXTS,)),
    "regressor": ("regress", (TEXTS,)),
    "several": ("classify_multi_label", (TEXTS,)),
    "chooser": ("multiple_choice", (CHOICES,)),
    "tagger": ("classify_tokens", (SENTENCES,)),
    "reader": ("answer_batch", (CONTEXTS,)),
    "doubter": ("answer_batch", (CONTEXTS,)),
    "pretraining": ("fill_mask", ("the [MASK] was [MASK].",)),
    "masked": ("fill_mask", ("the [MASK] was [MASK].",)),
    "embedder": ("similarity", (["the film was good"], ["the old actor", "music"])),
}


def close(value, other, largest):
    """Equal but for the last digits of numbers, at any depth."""
    if isinstance(value, np.ndarray | float):
        return value == pytest.approx(other, abs=largest, rel=largest)
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(close(value[key], other[key], largest) for key in value)
    if isinstance(value, list | tuple):
        return len(value) == len(other) and all(close(*pair, largest) for pair in zip(value, other, strict=True))
    return close(asdict(value), asdict(other), largest) if hasattr(value, "__dataclass_fields__") else value == other


@pytest.mark.parametrize("name", CALLS)
def test_answers_equal_those_of_torch(saved, exported, name):
    method, arguments = CALLS[name]
    expected = getattr(TorchPredictor.load(saved[name], precision="fp32"), method)(*arguments)
    found = getattr(Predictor.load(exported / name, threads=1), method)(*arguments)
    assert close(found, expected, tolerance(depth="compound"))


@pytest.mark.parametrize("name", ["pretraining", "classifier", "embedder"])
@pytest.mark.parametrize("options", [{}, {"pooling": "cls", "dimensions": 5}, {"normalize": False, "max_length": 4}])
def test_embeddings_equal_those_of_torch(saved, exported, name, options):
    texts = ["the film was good, in 2024.", "music"]
    expected = TorchPredictor.load(saved[name], precision="fp32").embed(texts, **options)
    found = Predictor.load(exported / name).embed(texts, **options)
    assert found.dtype == expected.dtype
    assert found == pytest.approx(expected, abs=PROMISED["outputs"])


def test_order_equals_that_of_torch(saved, exported):
    pair = ("the film was good.", "the music was bad.")
    found = Predictor.load(exported / "pretraining").order(*pair)
    assert found == pytest.approx(
        TorchPredictor.load(saved["pretraining"], precision="fp32").order(*pair), abs=PROMISED["outputs"]
    )


def test_order_of_an_exported_model_rejects_a_head_trained_with_nsp(tiny_tokenizer, small_config, tmp_path):
    from litebert.export.export_model import export_model

    model = ForPretraining(small_config, pairing="nsp")
    source = save_model(model, tmp_path / "model", extra_files=tiny_tokenizer.files())
    export_model(source, tmp_path / "exported")
    with pytest.raises(ConfigError, match=r"was trained on next-sentence prediction \(sampling.pairing=nsp\)"):
        Predictor.load(tmp_path / "exported").order("the film", "was good")


def test_int8_answers_are_near_those_of_fp32(exported):
    exact, small = (Predictor.load(exported / "classifier", precision=each) for each in ("fp32", "int8"))
    for one, other in zip(exact.classify(TEXTS), small.classify(TEXTS), strict=True):
        assert list(one.probabilities.values()) == pytest.approx(list(other.probabilities.values()), abs=0.05)


def test_fewer_layers_give_other_answers(exported):
    first, whole = (Predictor.load(exported / "classifier", layers=layers) for layers in (1, None))
    assert first.classify(["the film"]) != whole.classify(["the film"])


@pytest.mark.parametrize("name", ["classifier", "masked", "embedder"])
def test_fewer_layers_give_the_answers_of_torch(saved, exported, name):
    method, arguments = CALLS[name]
    own = getattr(Predictor.load(exported / name, layers=1), method)(*arguments)
    torch_predictor = TorchPredictor.load(saved[name], precision="fp32", layers=1)
    assert close(own, getattr(torch_predictor, method)(*arguments), tolerance(depth="compound"))


def test_threshold_decides_whether_there_is_an_answer(exported):
    never, always = (Predictor.load(exported / "doubter", threshold=threshold) for threshold in (1e9, -1e9))
    assert never.answer(*FILM).text
    assert not always.answer(*FILM).text


def test_onnx_predictor_truncates_or_refuses_a_million_characters(exported):
    text = "film " * 200_000
    (answer,) = Predictor.load(exported / "classifier").classify([text])
    assert answer.label in ("bad", "fair", "good")
    with pytest.raises(DataError, match="tokens, the model reads 48; shorten the text"):
        Predictor.load(exported / "masked").fill_mask(text + "[MASK]")


@pytest.mark.parametrize(
    ("name", "call", "message"),
    [
        ("classifier", lambda p: p.fill_mask("a [MASK]"), "the model's task is 'classification'; call 'classify'"),
        ("masked", lambda p: p.classify(["a"]), "the model's task is 'fill_mask'; call 'fill_mask'"),
        ("embedder", lambda p: p.regress(["a"]), "the model's task is 'embedding'; call 'embed'"),
        ("masked", lambda p: p.order("a", "b"), "a ForMaskedLM has no sentence-pair head"),
        ("chooser", lambda p: p.embed(["a"]), "the graph reads questions with options"),
        ("embedder", lambda p: p.embed(["a"], dimensions=99), "99 is more than the 16 of the model"),
        ("embedder", lambda p: p.embed(["a"], max_length=2), "max_length: 2, expected at least 3"),
        ("embedder", lambda p: p.embed([("a", "b")]), r"texts\[0\]: expected a text, found \('a', 'b'\)"),
        ("pretraining", lambda p: p.order_batch([("a", None)]), r"pairs\[0\]: expected two texts"),
        ("reader", lambda p: p.answer_batch([(1, 2)]), r"questions\[0\]: expected \(question, context\)"),
        ("chooser", lambda p: p.multiple_choice([("t", "q", [])]), "one of them has no options"),
        ("tagger", lambda p: p.classify_tokens([[1, 2]]), r"sentences\[0\]: expected a list of words, found 1 in it"),
        ("embedder", lambda p: p.embed(["a"], dimensions=0), "dimensions: 0, expected 1 or more"),
        ("embedder", lambda p: p.embed(["a"], pooling="max"), "pooling: 'max', expected one of mean, cls"),
        ("masked", lambda p: p.fill_mask("[MASK]", top_k=0), "top_k: 0, expected 1 or more"),
        ("masked", lambda p: p.fill_masks(["[MASK]"], top_k=-1), "top_k: -1, expected 1 or more"),
        ("classifier", lambda p: p.classify("a"), "expected a list of texts"),
    ],
)
def test_wrong_calls_are_refused(exported, name, call, message):
    with pytest.raises(ConfigError, match=message):
        call(Predictor.load(exported / name))


def test_embeddings_of_no_texts_have_the_dimensions_of_the_model(exported):
    predictor = Predictor.load(exported / "embedder")
    assert predictor.embed([]).shape == (0, 16)
    assert predictor.embed([], dimensions=4).shape == (0, 4)
    assert predictor.similarity([], ["a"]).shape == (0, 1)


def test_order_names_the_text_without_a_token(exported):
    with pytest.raises(DataError, match="pair 1: a segment has no tokens"):
        Predictor.load(exported / "pretraining").order("a", " ")


def test_text_without_a_token_has_the_results_of_the_torch_predictor(exported, saved, caplog):
    texts = ["a", " ", ("", "")]
    expected = TorchPredictor.load(saved["classifier"], precision="fp32").classify(texts)
    found = Predictor.load(exported / "classifier").classify(texts)
    assert close(found, expected, PROMISED["outputs"])
    expected = TorchPredictor.load(saved["embedder"], precision="fp32").embed(texts[:2])
    assert Predictor.load(exported / "embedder").embed(texts[:2]) == close_to(expected)
    warnings = [record.getMessage()[:13] for record in caplog.records if record.levelname == "WARNING"]
    assert warnings == ["texts: 2 of 3"] * 2 + ["texts: 1 of 2"] * 2
    with pytest.raises(DataError, match=r"has no \[MASK\]"):
        Predictor.load(exported / "masked").fill_mask("no mask")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "int4"}, "precision: 'int4', expected one of fp32, int8"),
        ({"layers": 3}, "layers: 3, expected 1 to 2"),
        ({"layers": 2.5}, "layers: 2.5, expected a whole number"),
        ({"threads": 0}, "threads: 0, expected 1 or more"),
        ({"threshold": "0.5"}, "threshold: '0.5', expected a number"),
        ({"threshold": 1.0}, 'a model for classification never predicts "no answer"'),
    ],
)
def test_wrong_options_are_refused(exported, options, message):
    with pytest.raises(ConfigError, match=message):
        Predictor.load(exported / "classifier", **options)


WRONG_TYPES = (
    *({"format": True}, {"format": 1.0}, {"task": []}, {"labels": "abc"}, {"labels": [1, 2, 3]}, {"settings": None}),
    *({"text_settings": None}, {"vocabulary": None}, {"tokenizer": None}, {"max_length": "96"}, {"pairing": 1}),
    {"reads_single_texts": "yes"},
)


def update_metadata(path, new):
    change_metadata(path, lambda values: json.dumps({**values, **new}))


def change_metadata(path, change):
    graph = onnx.load(path)
    for each in list(graph.metadata_props):
        if each.key == KEY:
            graph.metadata_props.remove(each)
            if (value := change(json.loads(each.value))) is not None:
                onnx.helper.set_model_props(graph, {KEY: value})
    onnx.save(graph, path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-500]), "onnxruntime cannot load it"),
        (lambda path: path.write_bytes(b"text"), "onnxruntime cannot load it"),
        (lambda path: path.unlink(), "has no onnx/model.onnx or onnx/model_quantized.onnx"),
        (lambda path: (path.parents[1] / "spiece.model").unlink(), "spiece.model: missing"),
        (lambda path: (path.parents[1] / "spiece.model").write_bytes(b"x"), "spiece.model: damaged"),
        (lambda path: change_metadata(path, lambda values: None), "has no metadata of litebert"),
        (lambda path: change_metadata(path, lambda values: "{"), "the metadata are damaged"),
        (lambda path: change_metadata(path, lambda values: '{"format": 1}'), "the metadata are damaged"),
        (lambda path: change_metadata(path, lambda values: json.dumps({**values, "new": 1})), "metadata are damaged"),
        *((lambda path, new=new: update_metadata(path, new), "the metadata are damaged") for new in WRONG_TYPES),
        (lambda path: update_metadata(path, {"labels": ["bad", "good"]}), "has no label for each of 3 logits"),
        (lambda path: update_metadata(path, {"settings": {}}), "has no max_length; export the model again"),
        (lambda path: update_metadata(path, {"task": "extractive_qa"}), "has no doc_stride, end_logits, max_answer"),
        (
            lambda path: change_metadata(path, lambda values: json.dumps({**values, "format": 9, "litebert": "7.0"})),
            "format 9 of litebert 7.0, expected format 1; export the model again",
        ),
    ],
)
def test_damaged_exports_are_refused(exported, tmp_path, damage, message):
    copy = tmp_path / "copy"
    shutil.copytree(exported / "classifier", copy, ignore=shutil.ignore_patterns("*quantized*"))
    damage(copy / "onnx" / "model.onnx")
    with pytest.raises(CheckpointError, match=message):
        Predictor.load(copy)


def test_exports_that_do_not_say_whether_they_read_single_texts_are_read(exported, tmp_path):
    """Those of earlier versions."""
    copy = tmp_path / "copy"
    shutil.copytree(exported / "classifier", copy, ignore=shutil.ignore_patterns("SHA256SUMS"))
    without = {"reads_single_texts"}
    change_metadata(
        copy / "onnx" / "model.onnx", lambda values: json.dumps({key: values[key] for key in values.keys() - without})
    )
    assert not Predictor.load(copy, precision="fp32").metadata.reads_single_texts


def test_graph_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="cannot be read"):
        OnnxModel.load(tmp_path)


def test_predictor_without_the_extra_names_it(exported, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"litebert\[runtime\]"):
        Predictor.load(exported / "classifier")


def test_vocabulary_of_another_model_is_refused(exported, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(exported / "classifier", copy, ignore=shutil.ignore_patterns("SHA256SUMS"))
    path = copy / "onnx" / "model.onnx"
    change_metadata(path, lambda values: json.dumps({**values, "tokenizer": "0" * 64}))
    with pytest.raises(CheckpointError, match=r"the model was exported with 000000000000…"):
        Predictor.load(copy)
    update_metadata(path, {"text_settings": {"lowercase": True}})
    with pytest.raises(CheckpointError, match="the metadata are damaged"):
        Predictor.load(copy)


@pytest.mark.parametrize(
    ("name", "method", "inputs"),
    [
        ("classifier", "classify", ["the film", "music"]),
        ("classifier", "probabilities", ["the film", "music"]),
        ("masked", "fill_masks", ["the [MASK]", "[MASK]"]),
        ("embedder", "embed", ["the film", "music"]),
        ("pretraining", "order_batch", [("the film", "was good"), ("music", "was bad")]),
    ],
)
def test_method_of_an_exported_model_accepts_a_generator(exported, name, method, inputs):
    call = getattr(Predictor.load(exported / name), method)
    found, expected = call(each for each in inputs), call(inputs)
    assert len(found) == 2
    assert np.array_equal(found, expected)


def test_fill_masks_of_an_exported_model_refuses_one_text(exported):
    with pytest.raises(ConfigError, match="expected a list of texts, found one text; put it into a list"):
        Predictor.load(exported / "masked").fill_masks("the [MASK]")


def test_probabilities_of_an_exported_model_are_those_of_its_results(exported):
    predictor = Predictor.load(exported / "several")
    found = predictor.probabilities(["the film", "music"])
    expected = [list(each.probabilities.values()) for each in predictor.classify_multi_label(["the film", "music"])]
    assert found.dtype == np.float32
    assert found == pytest.approx(np.array(expected, np.float32), abs=0)


def test_masks_are_filled_with_pieces_where_the_model_has_more_tokens(tiny_tokenizer, small_config, tmp_path):
    """Vocabularies are often padded to a multiple of 64."""
    model = ForMaskedLM(small_config.replace(vocab_size=tiny_tokenizer.vocab_size + 8))
    with torch.no_grad():
        model.mlm.bias[tiny_tokenizer.vocab_size :] = 9.0
    directory = save_model(model, tmp_path / "model", extra_files=tiny_tokenizer.files())
    export_model(directory, tmp_path / "exported")
    for predictor in (TorchPredictor.load(directory, precision="fp32"), Predictor.load(tmp_path / "exported")):
        candidates = predictor.fill_mask("the [MASK]", top_k=tiny_tokenizer.vocab_size)[0]
        assert len(candidates) == tiny_tokenizer.vocab_size
        assert sum(each.probability for each in candidates) == pytest.approx(1)
