"""Tokenizers that transformers saved, without the vocabulary file, are those that were saved."""

import json
import shutil
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings

import litebert
from litebert.errors import DataError
from litebert.interop.convert_weights import convert
from litebert.manifest import MANIFEST
from litebert.tokenization.sentencepiece_model import SentencePieceModel
from litebert.tokenization.sentencepiece_proto import parse_model, serialize_model
from litebert.tokenization.text_settings import TextSettings
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.vocabulary_training import TokenizerSettings, train_tokenizer
from litebert.tokenization.wordpiece_model import WordPieceModel
from support.data.damage import DAMAGES, damaged_files
from support.data.tokenizer_material import (
    RELEASED_VOCABULARY,
    lines_of_books,
    number_like_texts,
    number_texts,
    odd_texts,
    texts_of_scripts,
)
from support.models.tolerances import PROMISED
from support.runs.full_mode import trials

transformers = pytest.importorskip("transformers")

ENCODERS = Path(__file__).parents[2] / "encoders"
ENGLISH = {"unk": "<unk>", "pad": "<pad>"}
WORDS = (
    "the café",
    "Ｆｕｌｌ　ｗｉｄｔｈ",
    "👩\u200d👩\u200d👧 👍🏽",
    "In 1,050 or 12,345,678, and 9,",
    "[MASK]",
    "",
    "ΟΔΟΣ",
    "£5 – €6",
)
TEXTS = [f"{one}{between}{other}" for one, other in product(WORDS, WORDS) for between in ("", " ", "\t", ", ", "``")]
LABELLED = [{"text": f"a {word} film", "label": int(word == "good")} for word in ("good", "bad") * 8]


def saved_by_transformers(source: Path, target: Path) -> Path:
    transformers.AutoTokenizer.from_pretrained(source, trust_remote_code=True).save_pretrained(target)
    assert not (target / "spiece.model").exists()
    return target


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """A function: a tokenizer whose vocabulary has pieces such as "▁12,", and what transformers saves of it."""
    options = TokenizerSettings(vocab_size=80, character_coverage=1.0)
    content = train_tokenizer(number_texts(), options, tmp_path_factory.mktemp("numbers")).model.content

    def pair(**values: bool) -> tuple[Tokenizer, Path]:
        original = Tokenizer(SentencePieceModel(content, TextSettings(**values), where="numbers"))
        directory = tmp_path_factory.mktemp("original")
        original.save(directory)
        (directory / "config.json").write_text(json.dumps({"model_type": "albert"}))
        return original, saved_by_transformers(directory, tmp_path_factory.mktemp("saved"))

    return pair


@pytest.fixture(scope="module")
def saved_numbers(numbers):
    return numbers()


@pytest.fixture(scope="module")
def loaded_numbers(saved_numbers):
    original, directory = saved_numbers
    return original, Tokenizer.load(directory)


def change(directory: Path, target: Path, edit) -> Path:
    """A copy of a tokenizer directory whose `tokenizer.json` is edited."""
    copy = shutil.copytree(directory, target / "changed")
    content = json.loads((copy / "tokenizer.json").read_text(encoding="utf-8"))
    edit(content)
    (copy / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    return copy


@pytest.mark.parametrize("name", ["tiny", "night"])
def test_tokenizer_of_an_encoder_is_the_same_after_transformers_saved_it(name, tmp_path):
    original = Tokenizer.load(ENCODERS / name)
    loaded = Tokenizer.load(saved_by_transformers(ENCODERS / name, tmp_path / "saved"))
    assert loaded.encode_batch(TEXTS) == original.encode_batch(TEXTS)
    assert loaded.fingerprint == original.fingerprint
    assert loaded.files() == original.files()


@pytest.mark.parametrize("values", list(product([True, False], repeat=3)))
def test_tokenizer_with_any_settings_is_the_same_after_transformers_saved_it(numbers, values):
    original, directory = numbers(**dict(zip(TextSettings.model_fields, values, strict=True)))
    loaded = Tokenizer.load(directory)
    assert loaded.settings == original.settings
    assert loaded.has_ids_of(original)
    assert loaded.encode_batch(TEXTS) == original.encode_batch(TEXTS)
    assert loaded.files()["tokenizer.json"] == original.files()["tokenizer.json"]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(text=odd_texts() | number_like_texts() | texts_of_scripts())
def test_ids_and_offsets_are_those_of_the_original(loaded_numbers, text):
    original, loaded = loaded_numbers
    assert loaded.encode_with_offsets(text) == original.encode_with_offsets(text)
    assert loaded.pieces(text) == original.pieces(text)
    assert loaded.decode(loaded.encode(text)) == original.decode(original.encode(text))


def test_tokenizer_is_the_same_however_often_transformers_saves_it(saved_numbers, tmp_path):
    original, directory = saved_numbers
    (directory / "config.json").write_text(json.dumps({"model_type": "albert"}))
    again = saved_by_transformers(saved_by_transformers(directory, tmp_path / "second"), tmp_path / "third")
    assert Tokenizer.load(again).has_ids_of(original)


def test_fingerprint_is_that_of_the_original_with_the_default_coverage(tmp_path):
    options = TokenizerSettings(vocab_size=80, user_defined_symbols=("(", "--", "é,", "7,"), keep_accents=True)
    original = train_tokenizer(number_texts(), options, tmp_path / "original")
    loaded = Tokenizer.load(saved_by_transformers(tmp_path / "original", tmp_path / "saved"))
    assert loaded.fingerprint == original.fingerprint


def test_fingerprint_differs_with_another_coverage_but_not_the_ids(loaded_numbers):
    original, loaded = loaded_numbers
    assert loaded.fingerprint != original.fingerprint
    assert loaded.has_ids_of(original)


def test_model_is_written_as_sentencepiece_writes_it():
    content = (ENCODERS / "tiny" / "spiece.model").read_bytes()
    assert serialize_model(parse_model(content), **ENGLISH) == content


@pytest.mark.parametrize("options", [{}, {"do_lower_case": False}, {"keep_accents": True}])
@pytest.mark.parametrize("known", ["spiece.model", "tokenizer.json"])
def test_tokenizer_that_albert_tokenizer_saved_is_the_original(tmp_path, options, known):
    (tmp_path / "original").mkdir()
    shutil.copy(ENCODERS / "tiny" / known, tmp_path / "original")
    transformers.AlbertTokenizer.from_pretrained(tmp_path / "original", **options).save_pretrained(tmp_path / "saved")
    loaded = Tokenizer.load(tmp_path / "saved")
    expected = {"lowercase": options.get("do_lower_case", True), "keep_accents": options.get("keep_accents", False)}
    assert loaded.settings == TextSettings(**expected)
    assert loaded.model.content == (ENCODERS / "tiny" / "spiece.model").read_bytes()


def test_scores_that_transformers_lowers_for_the_digit_comma_rule_are_restored(saved_numbers, tmp_path):
    def as_albert_converter(content):
        """The vocabulary and normalizers of `AlbertConverter` in transformers."""
        pieces = parse_model(original.model.content).pieces
        content["model"]["vocab"] = [
            (each.piece, each.score - 100 if each.piece.endswith(",") and each.piece[-2:-1].isdigit() else each.score)
            for each in pieces
        ]
        precompiled = [step for step in content["normalizer"]["normalizers"] if step["type"] == "Precompiled"]
        quotes = [{"type": "Replace", "pattern": {"String": each}, "content": '"'} for each in ("``", "''")]
        spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
        folding = [{"type": name} for name in ("NFKD", "StripAccents", "Lowercase")]
        content["normalizer"]["normalizers"] = [*quotes, *folding, *precompiled, spaces]

    original, directory = saved_numbers
    loaded = Tokenizer.load(change(directory, tmp_path, as_albert_converter))
    assert loaded.has_ids_of(original)


def test_settings_of_a_call_of_transformers_have_no_effect(saved_numbers, tmp_path):
    original, directory = saved_numbers
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    tokenizer(["a", "b c"], truncation=True, max_length=8, padding="max_length")
    tokenizer.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))["truncation"] is not None
    assert Tokenizer.load(tmp_path).has_ids_of(original)


def test_characters_of_another_version_of_unicode_have_no_effect(saved_numbers, tmp_path):
    def older(content):
        marks = [step for step in content["normalizer"]["normalizers"] if step["type"] == "Replace"][1]
        marks["pattern"]["Regex"] = marks["pattern"]["Regex"][:-20] + "]"

    original, directory = saved_numbers
    assert Tokenizer.load(change(directory, tmp_path, older)).has_ids_of(original)


def test_released_vocabulary_is_the_same_after_transformers_saved_it(tmp_path):
    if not RELEASED_VOCABULARY.is_file():
        pytest.skip("the released vocabulary is not here")
    original = Tokenizer.load(RELEASED_VOCABULARY)
    original.save(tmp_path / "original")
    (tmp_path / "original" / "config.json").write_text(json.dumps({"model_type": "albert"}))
    loaded = Tokenizer.load(saved_by_transformers(tmp_path / "original", tmp_path / "saved"))
    assert loaded.has_ids_of(original)
    lines = lines_of_books(2000) + TEXTS
    assert loaded.encode_batch(lines) == original.encode_batch(lines)


def test_wordpiece_vocabulary_is_the_same_after_transformers_saved_it(tmp_path):
    pieces = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "我", "é", ".")
    original = Tokenizer(WordPieceModel("".join(f"{each}\n" for each in pieces).encode(), TextSettings(), where="v"))
    original.save(tmp_path / "original")
    (tmp_path / "original" / "config.json").write_text(json.dumps({"model_type": "albert"}))
    loaded = Tokenizer.load(saved_by_transformers(tmp_path / "original", tmp_path / "saved"))
    assert loaded.fingerprint == original.fingerprint
    assert loaded.encode("The cats 我 É.") == original.encode("The cats 我 É.")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """A directory with a classifier that transformers fine-tuned from `encoders/tiny`, and its model and tokenizer."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(ENCODERS / "tiny")
    torch.manual_seed(0)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(ENCODERS / "tiny", num_labels=2)
    inputs = tokenizer([row["text"] for row in LABELLED], padding=True, return_tensors="pt")
    labels = torch.tensor([row["label"] for row in LABELLED])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(8):
        model(**inputs, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    directory = tmp_path_factory.mktemp("classifier")
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory, model.eval(), tokenizer


def test_classifier_of_transformers_has_the_same_outputs_in_litebert(classifier):
    directory, model, tokenizer = classifier
    texts = [
        text for text in TEXTS if "[MASK]" not in text and "``" not in text and "1,050" not in text and text.strip()
    ]
    with torch.no_grad():
        expected = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits.softmax(-1)
    predictions = litebert.Predictor.load(directory, precision="fp32").classify(texts)
    found = torch.tensor([list(each.probabilities.values()) for each in predictions])
    torch.testing.assert_close(found, expected, atol=PROMISED["outputs"], rtol=0)


def test_classifier_of_transformers_is_evaluated(classifier):
    directory, model, tokenizer = classifier
    inputs = tokenizer([row["text"] for row in LABELLED], padding=True, return_tensors="pt")
    with torch.no_grad():
        right = model(**inputs).logits.argmax(-1) == torch.tensor([row["label"] for row in LABELLED])
    assert litebert.evaluate(directory, LABELLED).metrics["accuracy"] == right.float().mean().item()


def test_convert_writes_the_vocabulary_file_that_transformers_left_out(classifier, tmp_path):
    directory, _, _ = classifier
    convert(directory, tmp_path / "out", to="litebert")
    original = (ENCODERS / "tiny" / "spiece.model").read_bytes()
    assert (tmp_path / "out" / "spiece.model").read_bytes() == original


def test_tokens_that_were_added_are_refused(saved_numbers, tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(saved_numbers[1])
    tokenizer.add_tokens(["<entity>"])
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(
        DataError, match=r"tokenizer\.json: the token '<entity>' was added to the vocabulary, .*; put spi"
    ):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize("damage", DAMAGES)
def test_any_damage_is_refused_or_without_effect(saved_numbers, tmp_path, damage):
    original, directory = saved_numbers
    copy = shutil.copytree(directory, tmp_path / "copy")
    for _ in damaged_files([copy / "tokenizer.json"], damage, number=trials(10, 200)):
        with suppress(DataError):
            assert Tokenizer.load(copy).vocab_size == original.vocab_size


@pytest.mark.parametrize("change_ids", [{"cat": 11}, {"a\r": 11}], ids=["a gap", "a line break"])
def test_wordpiece_vocabulary_that_is_no_list_of_lines_is_refused(tmp_path, change_ids):
    pieces = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "我", "é", ".")
    original = Tokenizer(WordPieceModel("".join(f"{each}\n" for each in pieces).encode(), TextSettings(), where="v"))
    original.save(tmp_path / "original")
    for name in ("vocab.txt", MANIFEST):
        (tmp_path / "original" / name).unlink()
    copy = change(tmp_path / "original", tmp_path, lambda each: each["model"]["vocab"].update(change_ids))
    with pytest.raises(DataError, match=r"tokenizer\.json: its vocabulary cannot be written as lines: .*; put"):
        Tokenizer.load(copy)


def remove_mask(content):
    content["model"]["vocab"][4][0] = "<mask>"


def make_score_unknown(content):
    """As litebert wrote it until it could read it again."""
    (number,) = (each for each in content["model"]["vocab"] if each[0] == "▁12,")
    number[1] = -23.1


def add_a_piece(content):
    pieces = [piece for piece, _ in content["model"]["vocab"]]
    content["added_tokens"].append({"id": pieces.index("▁12,"), "content": "▁12,"})


def lower_twice(content):
    content["normalizer"]["normalizers"].append({"type": "Lowercase"})


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (lambda each: each["model"].update(type="BPE", vocab={"a": 0}), "a tokenizer of type BPE, expected Unigram or"),
        (
            lambda each: each["model"].update(type="WordPiece"),
            "a tokenizer of type WordPiece, expected Unigram or Word",
        ),
        (lambda each: each["model"].update(byte_fallback=True), "byte_fallback: True, expected False"),
        (lambda each: each["model"].update(unk_id=0), "unk_id: 0, expected 1"),
        (remove_mask, r"has no piece '\[MASK\]', which every ALBERT vocabulary needs"),
        (make_score_unknown, "the score -23.1 of the piece '▁12,' is not that of its SentencePiece model"),
        (add_a_piece, "the token '▁12,' was added to the vocabulary"),
        (lambda each: each.update(normalizer=None), r'normalizer: found nothing, expected {"type": "Replace"'),
        (lambda each: each.update(normalizer={"type": "NFC"}), r'normalizer: found {"type": "NFC"}, expected'),
        (lower_twice, r'normalizer: found {"type": "Lowercase"}, expected nothing with lowercase=True'),
        (lambda each: each.update(pre_tokenizer={"type": "Whitespace"}), 'pre_tokenizer: found {"type": "Whitespace"}'),
        (lambda each: each["pre_tokenizer"].update(prepend_scheme="never"), 'pre_tokenizer: .*"never"'),
        (lambda each: each["post_processor"]["pair"].pop(), "post_processor: found"),
    ],
)
def test_tokenizer_json_with_other_ids_is_refused_with_what_to_do(saved_numbers, tmp_path, edit, problem):
    copy = change(saved_numbers[1], tmp_path, edit)
    todo = "put spiece.model or vocab.txt of the original model beside it, or `litebert convert DIRECTORY OUT --to lite"
    with pytest.raises(DataError, match=rf"tokenizer\.json: {problem}.*; {todo}"):
        Tokenizer.load(copy)


@pytest.mark.parametrize("key", ["do_lower_case", "keep_accents", "digit_comma_rule"])
def test_settings_that_do_not_fit_the_steps_are_refused(saved_numbers, tmp_path, key):
    copy = shutil.copytree(saved_numbers[1], tmp_path / "copy")
    config = json.loads((copy / "tokenizer_config.json").read_text())
    (copy / "tokenizer_config.json").write_text(json.dumps({**config, key: not config[key]}))
    problem = "the piece '.*,' has the score -1.*, expected" if key == "digit_comma_rule" else "normalizer: found"
    with pytest.raises(DataError, match=problem):
        Tokenizer.load(copy)


def damage_charsmap(content):
    (step,) = (each for each in content["normalizer"]["normalizers"] if each["type"] == "Precompiled")
    step["precompiled_charsmap"] = "é"


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (lambda each: each.pop("model"), "not a file of the library tokenizers, or a damaged one; take a fresh copy"),
        (lambda each: each["model"].update(vocab=[["a", 1e9]]), "not a file of the library tokenizers"),
        (lambda each: each["model"]["vocab"].append(["▁12,", -2.5]), "not a SentencePiece model, or a damaged one"),
        (damage_charsmap, "its precompiled_charsmap is damaged; take a fresh copy"),
    ],
)
def test_damaged_tokenizer_json_is_refused(saved_numbers, tmp_path, edit, problem):
    with pytest.raises(DataError, match=rf"tokenizer\.json: {problem}"):
        Tokenizer.load(change(saved_numbers[1], tmp_path, edit))
