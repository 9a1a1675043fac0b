"""Entities of running texts are the same from torch, onnxruntime, the server and `litebert predict`."""

import json
from dataclasses import asdict

import pytest

from litebert.commands.predict.predict import predict
from litebert.commands.predict.predict_settings import PredictRun
from litebert.inference.predictor import Predictor as TorchPredictor
from litebert.runtime import Predictor
from support.models.tolerances import close_to

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

LONG = "The old actor, in 1999. " * 20
"""More than the model reads at once."""
TEXTS = [
    "Anna lives in Berlin.",
    "Élodie's café — naïve, in São-Paulo…",
    "🙂 the film 👩\u200d👧 was ❤\ufe0f good!",
    "",
    "the   old \t actor  ,  music",
    LONG,
]


def same(found, expected):
    """Equal but for the last digits of probabilities."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[name], expected[name]) for name in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return found == (close_to(expected, depth="compound") if isinstance(expected, float) else expected)


@pytest.fixture(scope="module")
def expected(saved):
    return TorchPredictor.load(saved["tagger"], precision="fp32").classify_tokens(TEXTS)


def test_entities_of_texts_slice_to_the_text(expected):
    for text, prediction in zip(TEXTS, expected, strict=True):
        assert all(text[each.start : each.end] == each.text for each in prediction.entities)
    assert sum(len(each.entities) for each in expected) > 3
    assert len(expected[-1].labels) == 140
    empty = expected[TEXTS.index("")]
    assert (empty.labels, empty.entities, empty.probabilities, empty.word_spans) == ((), (), (), ())


def test_onnxruntime_gives_the_entities_of_torch(exported, expected):
    found = Predictor.load(exported / "tagger").classify_tokens(TEXTS)
    assert same([each.to_record() for each in found], [each.to_record() for each in expected])


@pytest.mark.parametrize("ending", [".txt", ".jsonl"])
def test_predict_writes_the_entities_of_torch(saved, expected, tmp_path, ending):
    source, output = tmp_path / f"in{ending}", tmp_path / "out.jsonl"
    lines = TEXTS if ending == ".txt" else [json.dumps({"text": text}) for text in TEXTS]
    source.write_text("".join(f"{line}\n" for line in lines))
    result = predict(PredictRun(model=str(saved["tagger"]), input=source, output=output, precision="fp32"))
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    records = [json.loads(json.dumps(each.to_record())) for each in expected]
    assert same(rows, [{"text": text, **record} for text, record in zip(TEXTS, records, strict=True)])
    assert result.counts["words"] == sum(len(each.labels) for each in expected)


@pytest.mark.parametrize("runtime", ["torch", "onnx"])
def test_server_gives_the_entities_of_torch(saved, exported, expected, runtime):
    for extra in ("fastapi", "prometheus_client", "httpx"):
        pytest.importorskip(extra)
    from support.programs.serving import Application

    texts, model = [text for text in TEXTS if text], saved["tagger"] if runtime == "torch" else exported / "tagger"
    with Application(model, runtime=runtime) as application:
        found = application.ask("/token-classification", {"inputs": texts}).json()
        empty = application.ask("/token-classification", {"inputs": ["the film", " "]})
    for text, answer, prediction in zip(texts, found, [each for each in expected if each.labels], strict=True):
        assert same(answer["entities"], [asdict(each) for each in prediction.entities])
        assert [(each["start"], each["end"]) for each in answer["words"]] == list(prediction.word_spans)
        assert [each["label"] for each in answer["words"]] == list(prediction.labels)
        assert [each["probability"] for each in answer["words"]] == close_to(list(prediction.probabilities))
        assert all(text[each["start"] : each["end"]] == each["word"] for each in answer["words"])
    assert (empty.status_code, "a text has no words; remove it" in empty.text) == (422, True)
