"""What one function of the package returns is given to the next one, and what cannot be is refused in one sentence."""

import numpy as np
import pytest

import litebert
from litebert.errors import ConfigError
from support.data.texts import write_documents
from support.runs.tiny_runs import API_SETTINGS as SETTINGS

SHORT = {**SETTINGS, "duration": "1 steps"}


def test_a_run_is_a_model_for_all_functions(pretrained, opinions, tmp_path):
    first = litebert.finetune(pretrained, train=opinions, out=tmp_path / "first", **SHORT)
    second = litebert.finetune(first, train=opinions, out=tmp_path / "second", **SHORT)
    assert second.directory == tmp_path / "second"
    texts = ["the film was good"]
    assert litebert.predict(first, texts)[0] == litebert.predict(first.directory, texts)[0]
    assert litebert.evaluate(first, opinions).metrics == litebert.evaluate(first.directory, opinions).metrics
    assert np.array_equal(litebert.embed(first, texts), litebert.embed(str(first.directory), texts))


def test_a_report_is_a_corpus(tiny_tokenizer, tmp_path):
    tiny_tokenizer.save(tmp_path / "tokenizer")
    text = write_documents(tmp_path / "text.txt", documents=30)
    report = litebert.build_corpus(text, tmp_path / "corpus", tokenizer=tmp_path / "tokenizer", validation_fraction=0.2)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    short = {"duration": "1 steps", "device": "cpu", "precision": "fp32", "batch_size": 2, "microbatch_size": 2}
    run = litebert.pretrain(
        "tiny", corpus=report, out=tmp_path / "run", model={**sizes, "embedding_size": 8}, callbacks=[], **short
    )
    assert run.result.steps == 1


def test_missing_texts_have_the_vector_of_an_empty_one(pretrained, caplog):
    vectors = litebert.embed(pretrained, ["a film", None, float("nan"), ""])
    assert "3 of 4 texts are empty" in caplog.text
    assert np.array_equal(vectors[1], vectors[3])
    assert np.array_equal(vectors[2], vectors[3])


@pytest.mark.parametrize("texts", [None, {"text": ["a"]}, "a film"])
def test_embed_refuses_what_is_no_list_of_texts(pretrained, texts):
    with pytest.raises(ConfigError, match="texts"):
        litebert.embed(pretrained, texts)
    frame = pytest.importorskip("pandas").DataFrame({"id": [1], "text": ["a"]})
    with pytest.raises(ConfigError, match="expected a list, found a DataFrame"):
        litebert.embed(pretrained, frame)


def test_what_is_no_path_is_refused(pretrained, opinions, tiny_tokenizer, tmp_path):
    predictor = litebert.Predictor(pretrained)
    calls = {
        "found a Tokenizer; give the directory": lambda: litebert.build_corpus(
            write_documents(tmp_path / "text.txt", documents=3), tmp_path / "c", tokenizer=tiny_tokenizer
        ),
        "found a Predictor; give the directory": lambda: litebert.finetune(predictor, train=opinions),
        "expected paths, found a list; write the texts": lambda: litebert.train_tokenizer([3], tmp_path / "t"),
        "no file 'one text'; texts in memory are not read": lambda: litebert.adapt(pretrained, ["one text"], tmp_path),
        "expected a list of texts, found one text": lambda: litebert.embed(pretrained, "one text"),
    }
    for message, call in calls.items():
        with pytest.raises(ConfigError, match=message):
            call()


def test_a_data_frame_is_no_file(pretrained, tmp_path):
    frame = pytest.importorskip("pandas").DataFrame({"text": ["a"]})
    with pytest.raises(ConfigError, match="files: expected paths, found a DataFrame; write the texts to a file"):
        litebert.adapt(pretrained, frame, tmp_path / "out")
