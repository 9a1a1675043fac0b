"""Fine-tuned models of transformers and google-research/albert have the same predictions."""

import numpy as np
import pytest
import torch

from litebert.inference.predictor import Predictor
from litebert.interop.convert_weights import convert
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForMultipleChoice, ForSequenceClassification
from litebert.tokenization.tokenizer import Tokenizer
from support.models.tolerances import PROMISED

transformers = pytest.importorskip("transformers")

PAIRS = [("the film was good", "a long movie"), ("the music felt dull", "so bad")]
OPTIONS = ("good", "awful", "a bad film")
WORDS = ["the", "wonderful", "film"]


@pytest.fixture
def theirs(tiny_tokenizer, tmp_path):
    """A directory that transformers saved, with random weights, and the model."""

    def save(name, **options):
        config = transformers.AlbertConfig(
            vocab_size=tiny_tokenizer.vocab_size,
            embedding_size=8,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=48,
            initializer_range=0.5,
            **options,
        )
        torch.manual_seed(0)
        model = getattr(transformers, name)(config).eval()
        model.save_pretrained(tmp_path / name)
        tiny_tokenizer.save(tmp_path / "tokenizer")
        transformers.AutoTokenizer.from_pretrained(tmp_path / "tokenizer").save_pretrained(tmp_path / name)
        (tmp_path / name / "spiece.model").write_bytes((tmp_path / "tokenizer" / "spiece.model").read_bytes())
        return tmp_path / name, model

    return save


def their_logits(model, tokenizer, pairs):
    encoded = tokenizer(
        [first for first, _ in pairs], [second for _, second in pairs], padding=True, return_tensors="pt"
    )
    with torch.inference_mode():
        return model(**encoded).logits


def test_classifier_of_transformers_has_the_same_logits(theirs):
    directory, model = theirs("AlbertForSequenceClassification", id2label={0: "no", 1: "perhaps", 2: "yes"})
    logits = their_logits(model, transformers.AutoTokenizer.from_pretrained(directory), PAIRS)
    for answer, row in zip(Predictor.load(directory).classify(PAIRS), logits, strict=True):
        assert list(answer.probabilities.values()) == pytest.approx(row.softmax(-1).tolist(), abs=PROMISED["outputs"])
        assert answer.label == model.config.id2label[int(row.argmax())]


def test_multi_label_classifier_of_transformers_has_the_same_logits(theirs):
    options = {"id2label": {0: "a", 1: "b"}, "problem_type": "multi_label_classification"}
    directory, model = theirs("AlbertForSequenceClassification", **options)
    logits = their_logits(model, transformers.AutoTokenizer.from_pretrained(directory), PAIRS)
    for answer, row in zip(Predictor.load(directory).classify_multi_label(PAIRS), logits, strict=True):
        assert list(answer.probabilities.values()) == pytest.approx(row.sigmoid().tolist(), abs=PROMISED["outputs"])


def test_regression_of_transformers_has_the_same_predictions(theirs):
    directory, model = theirs("AlbertForSequenceClassification", num_labels=1)
    logits = their_logits(model, transformers.AutoTokenizer.from_pretrained(directory), PAIRS)
    assert Predictor.load(directory).regress(PAIRS) == pytest.approx(logits[:, 0].tolist(), abs=PROMISED["outputs"])


def test_multiple_choice_of_transformers_has_the_same_logits(theirs):
    directory, model = theirs("AlbertForMultipleChoice")
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    text = "the film was good"
    encoded = tokenizer([text] * len(OPTIONS), list(OPTIONS), padding=True, return_tensors="pt")
    with torch.inference_mode():
        logits = model(**{name: value[None] for name, value in encoded.items()}).logits[0]
    (answer,) = Predictor.load(directory).multiple_choice([(text, None, OPTIONS)])
    assert answer.probabilities == pytest.approx(tuple(logits.softmax(-1).tolist()), abs=PROMISED["outputs"])
    assert answer.index == int(logits.argmax())


def test_token_classifier_of_transformers_has_the_same_logits(theirs):
    directory, model = theirs("AlbertForTokenClassification", id2label={0: "O", 1: "B-X", 2: "I-X"})
    tokenizer = Tokenizer.load(directory)
    words = [tokenizer.encode(word) for word in WORDS]
    ids = [tokenizer.cls_id, *(token for word in words for token in word), tokenizer.sep_id]
    with torch.inference_mode():
        logits = model(torch.tensor([ids])).logits[0].numpy()
    firsts = 1 + np.cumsum([0, *(len(word) for word in words[:-1])])
    (answer,) = Predictor.load(directory).classify_tokens([WORDS])
    assert answer.labels == tuple(model.config.id2label[index] for index in logits[firsts].argmax(-1))


@pytest.fixture
def config(small_config):
    return small_config.replace(num_hidden_layers=2, max_position_embeddings=48)


@pytest.fixture
def round_trip(tiny_tokenizer, tmp_path):
    """(our directory, the directory read from a TensorFlow checkpoint of the same weights)."""

    def go(model, *, labels=(), **options):
        ours = save_model(model, tmp_path / "ours", labels=labels, extra_files=tiny_tokenizer.files(), **options)
        convert(str(ours), tmp_path / "original", to="tensorflow")
        convert(
            str(tmp_path / "original"), tmp_path / "read", to="litebert", labels=labels, as_model=type(model).__name__
        )
        return Predictor.load(ours), Predictor.load(tmp_path / "read")

    return go


def test_classifier_head_of_run_classifier_is_read_with_its_labels(config, round_trip):
    model = ForSequenceClassification(config, num_labels=3)
    ours, read = round_trip(model, labels=("contradiction", "entailment", "neutral"))
    assert read.classify(PAIRS) == ours.classify(PAIRS)


def test_regression_head_of_sts_b_is_read(config, round_trip):
    model = ForSequenceClassification(config, num_labels=1)
    ours, read = round_trip(model, labels=("score",), problem_type="regression")
    assert read.regress(PAIRS) == ours.regress(PAIRS)


def test_multiple_choice_head_of_run_race_is_read(config, round_trip):
    ours, read = round_trip(ForMultipleChoice(config))
    questions = [("the film was good", "it was _", OPTIONS)]
    assert read.multiple_choice(questions) == ours.multiple_choice(questions)
