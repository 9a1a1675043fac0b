"""Predictions from Python."""

import shutil

import numpy as np
import pytest
import torch

from litebert.errors import ConfigError, DataError
from litebert.hub_download import HubOptions
from litebert.inference.fill_mask import FillMask
from litebert.inference.predictor import Candidate, Predictor
from litebert.model.io.model_directory import load_model
from litebert.model.models import ForMaskedLM
from litebert.tasks.encoded import Encoded, build_feature
from litebert.tasks.masked_text import masked_feature
from support.models.tolerances import close_to, tolerance

TEXTS = ["the film was good", "this story is awful, in 1999.", "music", "old"]


@pytest.mark.parametrize("name", ["pretraining", "masked"])
def test_fill_mask_candidates_are_the_most_probable_tokens(saved, tiny_tokenizer, name):
    (candidates,) = Predictor.load(saved[name]).fill_mask("the film was [MASK].", top_k=tiny_tokenizer.vocab_size)
    probabilities = [candidate.probability for candidate in candidates]
    assert sum(probabilities) == pytest.approx(1.0, abs=tolerance())
    assert probabilities == sorted(probabilities, reverse=True)
    assert {candidate.piece for candidate in candidates} == {
        tiny_tokenizer.id_to_piece(index) for index in range(tiny_tokenizer.vocab_size)
    }


def test_fill_mask_gives_no_probability_to_rows_beyond_the_vocabulary(tiny_tokenizer, config):
    """A model may have more rows than the tokenizer has pieces, to fill its vocabulary up to a multiple of 8."""
    size = tiny_tokenizer.vocab_size
    model = ForMaskedLM(config.replace(vocab_size=size + 8), seed=1).eval()
    with torch.no_grad():
        model.mlm.bias[size:] = 50.0
    (found,) = FillMask(model=model, tokenizer=tiny_tokenizer, max_length=48).results(["the [MASK]"], top_k=size)
    (candidates,) = found.masks
    assert len(candidates) == size
    assert sum(candidate.probability for candidate in candidates) == close_to(1.0)


def test_fill_mask_puts_the_mask_token_where_the_text_has_it(tiny_tokenizer):
    feature = masked_feature("the [MASK] was good[MASK].", tiny_tokenizer, max_length=48)
    mask = tiny_tokenizer.mask_id
    expected = [
        tiny_tokenizer.cls_id,
        *tiny_tokenizer.encode("the "),
        mask,
        *tiny_tokenizer.encode(" was good"),
        mask,
        *[index for index in tiny_tokenizer.encode(".") if tiny_tokenizer.id_to_piece(index) != "▁"],
        tiny_tokenizer.sep_id,
    ]
    assert feature.input_ids.tolist() == expected


def test_fill_mask_has_candidates_for_each_mask(saved):
    predictor = Predictor.load(saved["masked"])
    both = predictor.fill_mask("[MASK] was [MASK]", top_k=2)
    assert [len(candidates) for candidates in both] == [2, 2]


def test_candidate_word_has_no_marker():
    assert (Candidate("▁good", 0.5).word, Candidate("ing", 0.5).word) == ("good", "ing")


def test_classify_is_the_softmax_of_the_model_in_the_order_of_the_texts(saved, tiny_tokenizer):
    predictor = Predictor.load(saved["classifier"])
    model = load_model(saved["classifier"])
    for text, answer in zip(TEXTS, predictor.classify(TEXTS), strict=True):
        encoding = tiny_tokenizer.encode_pair(text)
        inputs = torch.tensor([encoding.input_ids])
        with torch.inference_mode():
            logits = model(inputs, torch.ones_like(inputs, dtype=torch.bool), torch.zeros_like(inputs)).logits[0]
        expected = dict(zip(("bad", "fair", "good"), logits.softmax(-1).tolist(), strict=True))
        assert answer.probabilities == pytest.approx(expected, abs=tolerance())
        assert answer.label == max(expected, key=expected.__getitem__)
        assert answer.probability == answer.probabilities[answer.label]


def test_classify_encodes_pairs_as_two_segments(saved):
    predictor = Predictor.load(saved["classifier"])
    pair, joined = predictor.classify([("the film", "was good"), "the film was good"])
    assert pair.probabilities != joined.probabilities


def test_regress_gives_a_number_for_each_text(saved):
    scores = Predictor.load(saved["regressor"]).regress(TEXTS)
    assert len(scores) == len(TEXTS)
    assert all(isinstance(score, float) for score in scores)


def test_classify_multi_label_predicts_labels_from_probability_one_half(saved):
    for answer in Predictor.load(saved["several"]).classify_multi_label(TEXTS):
        assert list(answer.probabilities) == ["long", "dull", "loud"]
        assert answer.labels == tuple(name for name, value in answer.probabilities.items() if value >= 0.5)


def test_multiple_choice_is_the_most_probable_option(saved):
    questions = [("the film was good", "it was _", ["good", "bad", "long"]), ("a", None, ["x", "y", "z"])]
    for answer in Predictor.load(saved["chooser"]).multiple_choice(questions):
        assert sum(answer.probabilities) == pytest.approx(1)
        assert answer.probability == max(answer.probabilities) == answer.probabilities["ABC".index(answer.letter)]


def test_classify_tokens_labels_every_word_of_a_long_sentence(saved):
    words = ["wonderful", "film"] * 60
    short, long = Predictor.load(saved["tagger"]).classify_tokens([["the", "film"], words])
    assert (len(short.labels), len(long.labels)) == (2, 120)
    for entity in long.entities:
        assert entity.text == " ".join(words[entity.start : entity.end])


def test_predictor_of_no_texts_is_empty(saved):
    assert Predictor.load(saved["classifier"]).classify([]) == []
    assert Predictor.load(saved["regressor"]).regress([]) == []


def test_predictor_in_bf16_is_close_to_fp32(saved):
    exact, fast = (Predictor.load(saved["classifier"], precision=name).classify(TEXTS) for name in ("fp32", "bf16"))
    difference = [
        np.abs(np.subtract(list(a.probabilities.values()), list(b.probabilities.values()))).max()
        for a, b in zip(exact, fast, strict=True)
    ]
    assert 0 < max(difference) < 0.1


def test_predictor_sets_the_threads(saved):
    before = torch.get_num_threads()
    try:
        Predictor.load(saved["masked"], threads=2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("name", "call", "message"),
    [
        (
            "masked",
            lambda model: model.classify(["a"]),
            r"Predictor.classify: the model's task is 'fill_mask'; call 'fill_mask'",
        ),
        ("classifier", lambda model: model.fill_mask("[MASK]"), r"task is 'classification'; call 'classify'"),
        ("classifier", lambda model: model.regress(["a"]), r"task is 'classification'; call 'classify'"),
        ("regressor", lambda model: model.classify(["a"]), r"call 'regress'"),
        ("several", lambda model: model.classify(["a"]), r"call 'classify_multi_label'"),
        (
            "tagger",
            lambda model: model.classify_tokens([["a"], ["some", 5]]),
            r"sentences\[1\]: expected a list of words, found 5 in it",
        ),
        (
            "tagger",
            lambda model: model.classify_tokens("some words"),
            "sentences: expected a list of texts, found one text; put it into a list",
        ),
        ("tagger", lambda model: model.classify_tokens([[]]), r"sentences\[0\]: has no words; remove it"),
        (
            "chooser",
            lambda model: model.multiple_choice([("a", None, ["x", "y"]), ("b", None, ["x", "y", "z"])]),
            r"they have different numbers of options",
        ),
        ("classifier", lambda model: model.classify("a text"), r"expected a list of texts, found one text"),
        ("classifier", lambda model: model.classify(["a", None]), r"texts\[1\]: expected .* found None"),
        ("classifier", lambda model: model.classify([("a", "b", "c")]), r"texts\[0\]: expected a text or a pair"),
        ("classifier", lambda model: model.classify([("a", 1)]), r"texts\[0\]: expected a text or a pair"),
        (
            "tagger",
            lambda model: model.classify_tokens([["a"], 5]),
            r"sentences\[1\]: expected a text or a list of words, found 5",
        ),
        ("masked", lambda model: model.fill_mask("[MASK]", top_k=-1), "top_k: -1, expected 1 or more"),
        ("masked", lambda model: model.fill_masks(["[MASK]"], top_k=0), "top_k: 0, expected 1 or more"),
        (
            "reader",
            lambda model: model.answer_batch(["what?"]),
            r"questions\[0\]: expected \(question, context\), found",
        ),
        ("reader", lambda model: model.answer_batch("what?"), "questions: expected a list of texts"),
        ("pretraining", lambda model: model.order_batch("ab"), "pairs: expected a list of texts"),
        ("embedder", lambda model: model.search(["a"], ["b", "c"]), r"expected an array .* found list"),
        ("embedder", lambda model: model.search(["a"], np.zeros((1, 16)), top_k=0), "top_k: 0, expected 1 or more"),
        ("embedder", lambda model: model.embed([None]), r"texts\[0\]: expected a text, found None"),
    ],
)
def test_predictor_rejects_methods_and_inputs_of_other_tasks(saved, name, call, message):
    with pytest.raises(ConfigError, match=message):
        call(Predictor.load(saved[name]))


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("graphics", "device: unknown 'graphics'; expected auto, cpu, cuda"),
        ("cuda:99", "torch finds [0-9]+ CUDA devices"),
    ],
)
@pytest.mark.parametrize("name", ["classifier", "masked"])
def test_predictor_load_refuses_a_device_that_is_not_there(saved, name, device, message):
    with pytest.raises(ConfigError, match=message):
        Predictor.load(saved[name], device=device)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "int4"}, "precision: 'int4', expected one of auto, fp32"),
        ({"threads": -1}, "threads: -1, expected 1 or more"),
        ({"layers": 0}, "layers: 0, expected 1 or more"),
        ({"layers": 9}, "layers: 9, expected 1 to "),
        ({"device": "cuda", "precision": "int8"}, "torch finds 0 CUDA devices|int8 is computed on processors"),
        ({"device": "mps"}, "device: 'mps'; expected auto, cpu, cuda"),
    ],
)
def test_predictor_load_refuses_wrong_options(saved, options, message):
    with pytest.raises(ConfigError, match=message):
        Predictor.load(saved["classifier"], **options)


@pytest.mark.parametrize("text", ["", " ", "\u200b", ("", " ")])
def test_text_without_a_token_is_predicted_with_one_warning(saved, text, caplog):
    predictor = Predictor.load(saved["classifier"], precision="fp32")
    _, found, _ = predictor.classify(["a", text, ("", "a pair with one text")])
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1
    assert warnings[0].startswith("texts: 1 of 3 texts are empty or have no tokens")
    special = build_feature([], None if isinstance(text, str) else [], predictor.backend.tokenizer, max_length=8)
    (expected,) = predictor.backend.predict_encoded(Encoded([special], [None], predictor.backend.tokenizer.pad_id))
    assert list(found.probabilities.values()) == close_to(expected.tolist())


@pytest.mark.parametrize(
    ("text", "message"),
    [("no mask here", r"has no \[MASK\]"), ("so long " * 40 + "[MASK]", r"tokens, the model reads 48; shorten")],
)
def test_fill_mask_rejects_texts_without_a_mask_or_too_long(saved, text, message):
    with pytest.raises(DataError, match=message):
        Predictor.load(saved["masked"]).fill_mask(text)


def test_predictor_load_accepts_a_name_of_the_hub(saved, tmp_path):
    repository = tmp_path / "models--someone--albert"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit := "0123456789abcdef0123456789abcdef01234567")
    shutil.copytree(saved["classifier"], repository / "snapshots" / commit)
    predictor = Predictor.load("someone/albert", hub=HubOptions(cache=tmp_path, local_files_only=True))
    assert predictor.classify(TEXTS) == Predictor.load(saved["classifier"]).classify(TEXTS)


def test_predictor_of_a_sentence_embedder_only_embeds(saved):
    predictor = Predictor.load(saved["embedder"])
    assert (predictor.task, predictor.labels) == ("embedding", ())
    with pytest.raises(ConfigError, match="the model's task is 'embedding'; call 'embed'"):
        predictor.classify(["the film"])
    with pytest.raises(ConfigError, match="call 'embed'"):
        predictor.predict(["the film"])


def test_classify_truncates_long_texts(saved, tiny_tokenizer):
    predictor, text = Predictor.load(saved["classifier"]), "the film was good "
    short, long, longer = (predictor.classify([text * times])[0].probabilities for times in (1, 50, 60))
    assert long == pytest.approx(longer, abs=tolerance())
    assert long != pytest.approx(short, abs=tolerance())


def test_classify_does_not_depend_on_padding(saved):
    predictor = Predictor.load(saved["classifier"])
    together = predictor.classify(TEXTS)
    for text, answer in zip(TEXTS, together, strict=True):
        assert predictor.classify([text])[0].probabilities == pytest.approx(answer.probabilities, abs=tolerance())
