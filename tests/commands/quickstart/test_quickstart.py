"""The quickstart end to end on text files, interrupted at several places and resumed by the same command."""

import json
import shutil
from dataclasses import replace

import pytest

from litebert.commands.pretrain import pretrain_settings
from litebert.commands.quickstart import quickstart as quickstart_module
from litebert.commands.quickstart.quickstart import QuickstartResult, quickstart
from litebert.commands.quickstart.quickstart_settings import QuickstartRun
from litebert.errors import ConfigError, DataError
from litebert.inference.predictor import Predictor
from litebert.model.io.model_directory import load_model
from litebert.tokenization.tokenizer import Tokenizer
from support.data.texts import write_documents
from support.runs.callbacks import At

STAGES = ("text", "tokenizer", "corpus", "pretrain", "finetune", "from-scratch")
FILES = {"north.txt": 1, "south.txt": 2}


class StoppedError(Exception):
    """Raised by a test to end a run."""


SIZES = [f"model.{n}={v}" for n, v in {"hidden_size": 32, "embedding_size": 16, "intermediate_size": 64}.items()]


@pytest.fixture
def short(monkeypatch):
    """Pretraining of a few steps of a smaller model."""
    load = pretrain_settings.load_pretrain_config
    less = ["train.duration=4 steps", "batch_size=8", "microbatch_size=8", "max_eval_examples=64", *SIZES]
    monkeypatch.setattr(pretrain_settings, "load_pretrain_config", lambda *a, **o: load(a[0], [*a[1], *less], **o))


@pytest.fixture
def text(tmp_path, monkeypatch):
    """The user's files in the working directory."""
    monkeypatch.chdir(tmp_path)
    for name, seed in FILES.items():
        write_documents(tmp_path / name, documents=40, seed=seed)
    return tuple(FILES)


def plan(text, **changes):
    return QuickstartRun.parse({"text": text, "minutes": 0.02, "vocab_size": 60, **changes}, where="test")


def stages(out):
    return {path.name for path in out.iterdir() if not path.name.startswith(".")}


def test_quickstart_trains_a_model_and_reports_its_scores(text, tmp_path):
    out = tmp_path / "out"
    result = quickstart(plan(text), out)
    assert {
        "text",
        "tokenizer",
        "corpus",
        "pretrain",
        "finetune",
        "from-scratch",
        "curve.png",
        "result.json",
    } <= stages(out)
    assert QuickstartResult.read(out / "result.json") == result
    assert result.labels == tuple(FILES)
    assert Predictor.load(result.model).fill_mask("The baker finds the [MASK].")[0]
    rows = [json.loads(line) for line in (out / "text" / "labelled-dev.jsonl").read_text().splitlines()]
    assert result.dev_rows == len(rows)
    assert result.majority_accuracy == max(sum(row["label"] == name for row in rows) for name in FILES) / len(rows)
    assert result.masks
    for mask in result.masks:
        assert mask.sentence.count("[MASK]") == 1
        assert len(mask.candidates) == 5
        assert mask.sentence.replace("[MASK]", mask.answer) in (out / "text" / "validation.jsonl").read_text()
    shown = result.to_text()
    assert f"{result.pretrained_accuracy:.1%}" in shown
    assert str(result.model) in shown
    config = load_model(result.model).config
    assert (config.position_embedding, config.norm_first, config.gated_feed_forward) == ("rotary", True, True)
    assert "recipe modern-quickstart" in shown
    assert "trust_remote_code" in shown
    assert "the best evaluation on these paragraphs: slightly optimistic" in shown
    assert "times that of the majority-token baseline" in shown
    zero = replace(result, end=replace(result.end, majority_token_accuracy=0.0), linear_accuracy=0.0).to_text()
    assert "times that of" not in zero
    assert "tf-idf and logistic regression      0.0%" in zero

    before = (out / "pretrain" / "metrics.jsonl").read_bytes()
    assert quickstart(plan(text), out) == result, "a finished quickstart returns its result"
    assert (out / "pretrain" / "metrics.jsonl").read_bytes() == before
    with pytest.raises(ConfigError, match=r"other settings \(seed\)"):
        quickstart(plan(text, seed=1), out)


def stop():
    raise StoppedError


@pytest.mark.usefixtures("short")
def test_quickstart_resumes_after_a_stop_during_pretraining(text, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(StoppedError):
        quickstart(plan(text), out, callbacks=[At("step", 1, stop)])
    assert "pretrain" in stages(out)
    assert "result.json" not in stages(out)
    kept = {
        path: path.stat().st_mtime_ns for name in ("text", "tokenizer", "corpus") for path in (out / name).rglob("*")
    }
    quickstart(plan(text), out)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "finished stages are not repeated"


@pytest.mark.usefixtures("short")
def test_quickstart_resumes_between_stages(text, tmp_path):
    out = tmp_path / "out"
    result = quickstart(plan(text), out)
    for name in ("result.json", "from-scratch", "finetune", "curve.png"):
        path = out / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    again = quickstart(plan(text), out)
    assert again.end == result.end, "the pretrained model is the same"
    assert again.pretrained_accuracy == result.pretrained_accuracy
    assert again.masks == result.masks


@pytest.mark.usefixtures("short")
def test_quickstart_works_with_one_file(text, tmp_path):
    file = tmp_path / text[0]
    file.write_text(file.read_text().replace(" in the ", " in\u2028the "))  # a line separator inside of a line
    result = quickstart(plan(text[:1]), tmp_path / "out")
    assert set(result.labels) <= {"part 1", "part 2", "part 3", "part 4"}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (("absent.txt",), "absent.txt: no such file"),
        (("short.txt",), "give more text"),
        (("empty.txt",), "give more text"),
        (("binary.txt",), "NUL"),
    ],
)
def test_quickstart_refuses_unsuitable_text_and_leaves_no_files(text, tmp_path, files, message):
    (tmp_path / "short.txt").write_text("A single line.\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)))
    before = stages(tmp_path)
    with pytest.raises(DataError, match=message):
        quickstart(plan(files), tmp_path / "out")
    assert stages(tmp_path) == before


@pytest.mark.parametrize("keep_accents", [False, True])
def test_quickstart_warns_of_a_tokenizer_that_drops_the_marks_of_many_words(
    tmp_path, monkeypatch, caplog, keep_accents
):
    monkeypatch.setattr(quickstart_module, "_corpus", lambda *_: stop())  # the stage after the tokenizer
    (tmp_path / "a.txt").write_text(
        "\n\n".join(f"Das Boot {number} ist schön, und der Hund schläft schon wieder." for number in range(100))
    )
    with pytest.raises(StoppedError):
        quickstart(plan((str(tmp_path / "a.txt"),), keep_accents=keep_accents), tmp_path / "out")
    assert ("schön → schon" in caplog.text and "--keep-accents" in caplog.text) is not keep_accents


def test_quickstart_reduces_the_vocabulary_for_a_small_text(text, tmp_path, monkeypatch):
    monkeypatch.setattr(quickstart_module, "_corpus", lambda *_: stop())  # the stage after the tokenizer
    with pytest.raises(StoppedError):
        quickstart(plan(text, vocab_size=4000), tmp_path / "out")
    assert Tokenizer.load(tmp_path / "out" / "tokenizer").vocab_size < 100
