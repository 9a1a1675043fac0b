"""The encoders of the repository: their files are complete and small, and they know words and agreement."""

import json
from importlib.resources import files
from pathlib import Path

import pytest
import torch

from litebert import Predictor, hub_download
from litebert.commands.evaluate.minimal_pairs import evaluate_minimal_pairs
from litebert.commands.export import ExportRun, export
from litebert.manifest import verify_manifest
from litebert.model.io.model_directory import REMOTE_CODE, load_model
from support.models.tolerances import tolerance

ENCODERS = Path(__file__).parents[2] / "encoders"
FILES = {
    "tiny": 5e6,
    "night": 10e6,
    "night-balanced": 15e6,
    "night-large": 15e6,
    "night-large-masked": 15e6,
    "night-unshared": 15e6,
}
"""Encoder → limit of its bytes."""
ALBERT = {"tiny"}
"""ALBERT's own block, without next tokens."""
AGREEMENT = [
    ("the boys were here.", "the boys was here."),
    ("she has seen these houses.", "she has seen these house."),
    ("this man is very old.", "this men is very old."),
    ("the women are in the garden.", "the women is in the garden."),
    ("he had gone to the city.", "he had go to the city."),
    ("they have written a letter.", "they have wrote a letter."),
    ("that child was happy.", "that children was happy."),
    ("the king himself came.", "the king herself came."),
]
"""A grammatical sentence and one that is not, of words that books and Wikipedia have often."""


@pytest.fixture(params=FILES)
def encoder(request):
    """The directory of each encoder in turn."""
    return ENCODERS / request.param


def test_encoders_are_those_of_the_folder():
    found = {path.parent.name for path in ENCODERS.glob("*/config.json")}
    assert found == set(FILES) == {Path(each).name for each in hub_download.ENCODERS}


def test_files_are_those_of_the_manifest_and_a_few_megabytes(encoder):
    verify_manifest(encoder)
    assert sum(path.stat().st_size for path in encoder.iterdir()) < FILES[encoder.name]


def test_card_names_licence_language_and_uses(encoder):
    card = (encoder / "README.md").read_text(encoding="utf-8")
    front_matter = ("\nlicense: apache-2.0\n", "\nlanguage:\n- en\n")
    for part in (*front_matter, "\n## Training text\n", "\n## Intended uses and limitations\n", "| parameters | "):
        assert part in card


def test_card_and_page_count_its_parameters(encoder):
    count = sum(parameter.numel() for parameter in load_model(encoder).parameters())
    assert f"| parameters | {count:,} |" in (encoder / "README.md").read_text(encoding="utf-8")
    assert f"| {count / 1e6:.1f} million |" in (encoder.parent / "README.md").read_text(encoding="utf-8")


def test_code_for_transformers_is_that_of_the_package(encoder):
    for name in REMOTE_CODE if encoder.name not in ALBERT else ():
        assert (encoder / name).read_bytes() == (files("litebert.model.io") / "remote_code" / name).read_bytes()


def test_masked_words_are_predicted(encoder):
    """A model that knows only frequencies predicts a comma everywhere."""
    predictor = Predictor.load(encoder)
    texts = {
        "he opened the [MASK] and went into the room.": "door",
        "the population of the [MASK] was 25,000 in 1990.": "city",
        "she took him by the [MASK] and led him away.": "hand",
    }
    found = {}
    for text, word in texts.items():
        (candidates,) = predictor.fill_mask(text, top_k=5)
        found[word] = word in [candidate.word for candidate in candidates]
    assert sum(found.values()) >= (2 if encoder.name == "tiny" else 3), found


def test_grammatical_sentences_are_preferred(encoder, tmp_path):
    lines = [json.dumps({"sentence_good": good, "sentence_bad": bad}) for good, bad in AGREEMENT]
    (tmp_path / "agreement.jsonl").write_text("\n".join(lines), encoding="utf-8")
    masking = "token" if encoder.name in ALBERT else None  # None: next tokens
    assert evaluate_minimal_pairs(encoder, tmp_path, masking=masking).mean.accuracy >= 7 / 8


@pytest.mark.parametrize("name", ALBERT)
def test_albert_of_transformers_loads_it_with_the_same_outputs(name):
    transformers = pytest.importorskip("transformers")
    assert not {path.name for path in (ENCODERS / name).iterdir()} & set(REMOTE_CODE)
    theirs = transformers.AlbertForMaskedLM.from_pretrained(ENCODERS / name, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(ENCODERS / name)
    inputs = tokenizer(["he opened the [MASK] and went into the room.", "a city"], padding=True, return_tensors="pt")
    own = load_model(ENCODERS / name, as_model="ForMaskedLM").eval()
    real = inputs["attention_mask"].bool()
    with torch.no_grad():
        outputs = [model(**inputs).logits[real] for model in (theirs, own)]
    assert torch.allclose(*outputs, atol=tolerance(depth="compound"))


def test_int8_export_is_below_6_megabytes(encoder, tmp_path):
    pytest.importorskip("onnx")
    export(ExportRun(model=str(encoder), out=tmp_path / "int8", precision=("int8",)))
    assert (tmp_path / "int8" / "onnx" / "model_quantized.onnx").stat().st_size < 6e6
