"""`litebert adapt`: a pretrained encoder is pretrained further on text of a domain."""

import json
import shutil
from pathlib import Path

import pytest

import litebert
from litebert.commands.pretrain.adapt import adapt, adaptation
from litebert.commands.pretrain.adapt_settings import AdaptRun
from litebert.commands.pretrain.adapt_texts import DomainTexts
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import CheckpointError, ConfigError, DataError
from litebert.files import locked, read_json_object
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.io.model_spec import ModelSpec
from litebert.model.models import ForMaskedLM, ForPretraining, ForSequenceClassification
from litebert.settings import read_yaml, with_overrides
from litebert.training.callbacks.callback import Callback

TEXTS = ["the film was good, really", "the music was awful", "a story of an old actor", "bad, in 1999"]
SAMPLING = SamplingSettings(max_length=32, pairing="none", single_segment=True, causal_fraction=0.5).to_dict()
QUICK = ("train.duration=2 steps", "train.device=cpu", "train.precision=fp32")


@pytest.fixture
def encoder(small_config, tiny_tokenizer, tmp_path):
    """A model directory with the record of its pretraining."""
    files = {**tiny_tokenizer.files(), "pretraining_settings.json": json.dumps({"sampling": SAMPLING}).encode()}
    return save_model(ForPretraining(small_config), tmp_path / "encoder", extra_files=files)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("review,label\n" + "".join(f'"{text} {number}",x\n' for number in range(8) for text in TEXTS))
    return path


def run_of(encoder, *texts, out, **more):
    options = {"text": "review", "settings": QUICK} | more
    return AdaptRun(model=str(encoder), texts=tuple(map(str, texts)), out=out, **options)


def test_rows_of_tables_and_lines_of_files_are_trained_on(encoder, table, tmp_path):
    lines = tmp_path / "more.txt"
    lines.write_text("the old actor\nwas good\n")
    result = adapt(run_of(encoder, table, lines, out=tmp_path / "out"))
    assert documents(tmp_path / "out") == 8 * len(TEXTS) + 2
    assert result.steps == 2
    before, after = load_model(encoder).state_dict(), load_model(result.model).state_dict()
    assert before.keys() == after.keys()
    assert any(not before[name].equal(after[name]) for name in before)


def test_examples_are_those_of_the_pretraining_of_the_model(encoder, table, tmp_path):
    adapt(run_of(encoder, table, out=tmp_path / "out"))
    record = read_json_object(tmp_path / "out" / "model" / "pretraining_settings.json", if_missing="")
    assert record["sampling"] == SAMPLING


def test_the_same_command_returns_the_result_and_other_texts_are_refused(encoder, table, tmp_path):
    run = run_of(encoder, table, out=tmp_path / "out")
    first = adapt(run)
    assert adapt(run) == first
    table.write_text(table.read_text().replace("good", "fine"))
    with pytest.raises(ConfigError, match="corpus: is of other texts, another column or other documents"):
        adapt(run)


@pytest.mark.parametrize("text", ["the film was good. bad.\n\na story.\n", "the film was good\n" * 40])
def test_texts_that_are_too_few_for_validation_are_all_trained_on(encoder, tmp_path, caplog, text):
    (tmp_path / "text.txt").write_text(text)
    result = adapt(run_of(encoder, tmp_path / "text.txt", out=tmp_path / "out"))
    assert "too few different documents for a validation split, so all are trained on" in caplog.text
    assert result.end is None


def documents(out):
    corpus = out / "data" / "adapt" / "corpus"
    return sum(Corpus.open(corpus, split).num_documents for split in ("train", "validation"))


def test_directories_globs_and_json_lines_are_read_and_equal_documents_once(encoder, table, tmp_path, caplog):
    texts = tmp_path / "texts" / "more"
    texts.mkdir(parents=True)
    (texts / "a.tsv").write_text("review\nthe old actor\n")
    (texts / "b.jsonl").write_text('{"review": "music, good"}\n{"review": null}\n{"review": "the old actor"}\n')
    (texts / "c.txt").write_text("a film of 2024\n")
    (texts / "notes.pdf").touch()
    (tmp_path / "texts" / "empty").mkdir()
    adapt(run_of(encoder, tmp_path / "texts", f"{tmp_path}/texts/*", table, out=tmp_path / "out"))
    assert documents(tmp_path / "out") == 8 * len(TEXTS) + 3
    assert "more: 1 files of other formats are not read" in caplog.text


def test_names_of_data_sets_are_part_of_the_fingerprint(tiny_tokenizer, tmp_path):
    names = ("hf:stanfordnlp/imdb", "hf:stanfordnlp/imdb:test")
    found = {DomainTexts.of(run_of("model", name, out=tmp_path)).fingerprint(tiny_tokenizer) for name in names}
    assert len(found) == 2


def test_batches_are_larger_for_short_texts(encoder, table, tmp_path):
    run = run_of(encoder, table, out=tmp_path / "out")
    adapt(run)
    assert read_yaml(run.out / "settings.yaml")["batch_size"] == 128


def test_a_stopped_run_continues(encoder, table, tmp_path):
    class Stop(Callback):
        def on_step(self, run, record):
            raise KeyboardInterrupt

    run = run_of(encoder, table, out=tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        adapt(run, callbacks=[Stop()])
    assert adapt(run).steps == 2


@pytest.mark.parametrize("stops", [True, False])
def test_a_run_that_was_moved_continues(encoder, table, tmp_path, stops):
    class Stop(Callback):
        def on_step(self, run, record):
            if stops:
                raise KeyboardInterrupt

    try:
        adapt(run_of(encoder, table, out=tmp_path / "first"), callbacks=[Stop()])
    except KeyboardInterrupt:
        assert stops
    (tmp_path / "first").rename(tmp_path / "second")
    if not stops:  # a finished run needs no checkpoints
        shutil.rmtree(tmp_path / "second" / "checkpoints")
    result = adapt(run_of(encoder, table, out=tmp_path / "second"))
    assert result.steps == 2
    assert load_model(tmp_path / "second" / "model").state_dict().keys()


def test_a_metric_needs_a_validation_split(encoder, tmp_path):
    (tmp_path / "text.txt").write_text("the film was good\n" * 40)
    settings = (*QUICK, "metric_for_best_model=mlm_loss")
    with pytest.raises(ConfigError, match="metric_for_best_model: the texts have too few different documents"):
        adapt(run_of(encoder, tmp_path / "text.txt", out=tmp_path / "out", settings=settings))


def test_a_pattern_of_tables_is_read(encoder, table, tmp_path):
    table.with_name("others.tsv").write_text("review\nthe old actor\n")
    adapt(run_of(encoder, tmp_path / "*.csv", tmp_path / "*.tsv", out=tmp_path / "out"))
    assert documents(tmp_path / "out") == 33


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"settings": ("train.duratio=1",)}, ConfigError, "adapt: unknown setting 'train.duratio'"),
        (
            {"settings": ("model.num_hidden_layers=1",)},
            ConfigError,
            "settings: model: as the model and the texts",
        ),
        ({"settings": ("corpus=c", "init_checkpoint=m")}, ConfigError, "settings: corpus, init_checkpoint: as the"),
        ({"settings": ("train=5",)}, ConfigError, "adapt: .*train"),
        ({"settings": ("sampling=x",)}, ConfigError, "adapt: .*sampling"),
        ({"settings": ("sampling.max_length=x",)}, ConfigError, "adapt: .*sampling.max_length"),
        ({"text": "text"}, DataError, "no column 'text'"),
        ({"texts": ("absent.csv",)}, DataError, "absent.csv: no such file, and no file matches it"),
        ({"texts": ("absent.txt",)}, DataError, "absent.txt: no such file, and no file matches it"),
        ({"model": "absent"}, CheckpointError, "absent: no such directory"),
    ],
)
def test_wrong_arguments_leave_no_directory(encoder, table, tmp_path, change, error, message):
    run = run_of(encoder, table, out=tmp_path / "out").model_copy(update=change)
    with pytest.raises(error, match=message):
        adapt(run)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("other.csv", "text\na\n", "no column 'review'"),
        ("blank.txt", "\n\n", "the files have no text"),
        ("picture.png", "x", "picture.png: unknown file format"),
        ("folder/picture.png", "x", "folder: no files of text; expected names ending in"),
    ],
)
def test_files_without_texts_leave_no_directory(encoder, table, tmp_path, name, content, message):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(content)
    given = tmp_path / name.partition("/")[0]
    texts = [given] if name == "blank.txt" else [table, given]
    with pytest.raises(DataError, match=message):
        adapt(run_of(encoder, *texts, out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_run_of_another_command_is_left_alone(encoder, table, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "settings.yaml").write_text("command: finetune\n")
    with pytest.raises(ConfigError, match="out: is no run of `adapt`, or its corpus was removed; choose another --out"):
        adapt(run_of(encoder, table, out=tmp_path / "out"))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["settings.yaml"]


def test_a_folder_of_data_of_the_user_is_left_alone(encoder, table, tmp_path):
    data = tmp_path / "out" / "data"
    data.mkdir(parents=True)
    (data / "texts.json").write_text("{}")
    with pytest.raises(ConfigError, match="out: exists and is not a run of `adapt`; choose another --out"):
        adapt(run_of(encoder, table, out=tmp_path / "out"))
    assert (data / "texts.json").read_text() == "{}"


def test_a_directory_that_was_there_stays_if_nothing_can_be_built(encoder, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "blank.txt").write_text("\n")
    with pytest.raises(DataError, match="the files have no text"):
        adapt(run_of(encoder, tmp_path / "blank.txt", out=tmp_path / "out"))
    assert list((tmp_path / "out").iterdir()) == []


def test_a_corpus_without_a_record_is_not_taken(encoder, table, tmp_path):
    run = run_of(encoder, table, out=tmp_path / "out")
    adapt(run)
    (run.out / "data" / "adapt" / "texts.json").unlink()
    with pytest.raises(CheckpointError, match=r"texts.json: missing; choose another --out"):
        adapt(run)


def test_the_same_files_by_other_names_are_the_same_texts(encoder, table, tmp_path, monkeypatch):
    other = tmp_path / "a" / "other.csv"
    other.parent.mkdir()
    other.write_text("review\nthe old actor\n")
    first = adapt(run_of(encoder, table, other, out=tmp_path / "out"))
    monkeypatch.chdir(other.parent)
    assert adapt(run_of(encoder, "../texts.csv", "other.csv", "./other.csv", out=Path("../out"))) == first


def test_several_processes_are_refused(encoder, table, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="adapt: runs in one process; for several, `litebert pretrain`"):
        adapt(run_of(encoder, table, out=tmp_path / "out"))


def test_two_builds_at_once_are_refused(encoder, table, tmp_path):
    with (
        locked(tmp_path / "out" / "data" / "adapt" / "texts.lock", busy=ConfigError("busy")),
        pytest.raises(ConfigError, match="corpus: is being built by another command"),
    ):
        adapt(run_of(encoder, table, out=tmp_path / "out"))


def test_a_classifier_is_refused(small_config, tiny_tokenizer, table, tmp_path):
    model = save_model(
        ForSequenceClassification(small_config, num_labels=2), tmp_path / "model", extra_files=tiny_tokenizer.files()
    )
    with pytest.raises(ConfigError, match="is a ForSequenceClassification, which predicts no masked tokens"):
        adapt(run_of(model, table, out=tmp_path / "out"))


def test_another_directory_is_not_written_into(encoder, table, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").touch()
    with pytest.raises(ConfigError, match="exists and is not a run directory"):
        adapt(run_of(encoder, table, out=tmp_path / "out"))


def test_a_model_without_a_record_predicts_masked_tokens_alone(small_config, tiny_tokenizer, table, tmp_path, caplog):
    caplog.set_level("INFO")
    model = save_model(ForMaskedLM(small_config), tmp_path / "model", extra_files=tiny_tokenizer.files())
    assert adapt(run_of(model, table, out=tmp_path / "out")).steps == 2
    assert "has no record of its pretraining, so 15 % of the tokens are masked and no pairs trained" in caplog.text
    sampling = read_yaml(tmp_path / "out" / "settings.yaml")["sampling"]
    assert (sampling["pairing"], sampling["causal_fraction"]) == ("none", 0)


@pytest.mark.parametrize(("text", "expected"), [("a film. ", "none"), ("The film was good. The music was bad.", "sop")])
def test_pairs_of_segments_are_trained_where_documents_have_sentences(
    small_config, tiny_tokenizer, tmp_path, text, expected
):
    record = {"sampling": SamplingSettings(max_length=32, pairing="sop").to_dict()}
    files = {**tiny_tokenizer.files(), "pretraining_settings.json": json.dumps(record).encode()}
    model = save_model(ForPretraining(small_config, pairing="sop"), tmp_path / "model", extra_files=files)
    (tmp_path / "a.txt").write_text("".join(f"{number} {text}\n" for number in range(40)))
    adapt(run_of(model, tmp_path / "a.txt", out=tmp_path / "out"))
    assert read_yaml(tmp_path / "out" / "settings.yaml")["sampling"]["pairing"] == expected


def settings_of(config, corpus, given=(), **options):
    spec = ModelSpec(model="ForPretraining", config=config)
    return adaptation("m", spec, corpus, with_overrides({}, given), SAMPLING, **options)


@pytest.mark.parametrize(
    ("length", "given", "expected"),
    [
        (8.0, (), (128, 64)),
        (50.0, (), (128, 64)),  # examples have 32 tokens
        (50.0, ("sampling.max_length=60",), (64, 64)),
        (128.0, ("sampling.max_length=64",), (64, 64)),
        (128.0, ("sampling.max_length=90",), (32, 32)),
        (8.0, ("batch_size=7", "microbatch_size=7"), (7, 7)),
    ],
)
def test_short_examples_have_larger_batches(small_config, tmp_path, length, given, expected):
    found = settings_of(small_config.replace(max_position_embeddings=96), tmp_path, given, length=length)
    assert (found.batch_size, found.microbatch_size) == expected


@pytest.mark.parametrize(
    ("hidden_size", "given", "optimizer", "rates"),
    [
        (384, (), "muon", (0.001, 0.1)),
        (768, (), "adamw", (1e-4, 0.01)),
        (384, ("train.optimizer=adamw",), "adamw", (1e-4, 0.01)),
        (768, ("train.optimizer=lamb", "train.learning_rate=0.002"), "lamb", (0.002, 0.01)),
    ],
)
def test_rates_are_those_of_the_optimizer(small_config, tmp_path, hidden_size, given, optimizer, rates):
    train = settings_of(small_config.replace(hidden_size=hidden_size), tmp_path, given).train
    assert (train.optimizer, (train.learning_rate, train.weight_decay)) == (optimizer, rates)


def test_settings_may_stand_among_the_texts_unless_they_are_files(encoder, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a=b.txt").write_text("the film was good\n")
    Path("split=train").mkdir()
    Path("split=train/c.txt").write_text("the film was good\n")
    partitioned = run_of(encoder, "split=train/*.txt", "lang=de/x.txt", out=tmp_path / "out", settings=())
    assert partitioned.texts == ("split=train/*.txt", "lang=de/x.txt")
    given = run_of(
        encoder, table, "train.duration=1 steps", "a=b.txt", "seed=3", out=tmp_path / "out", settings=("x=1",)
    )
    assert given.settings == ("x=1", "train.duration=1 steps", "seed=3")
    assert given.texts == (str(table), "a=b.txt")


def test_python_has_the_settings_by_their_names(encoder, table, tmp_path):
    options = {"duration": "2 steps", "device": "cpu", "precision": "fp32"}
    adapted = litebert.adapt(encoder, [table], tmp_path / "out", text="review", callbacks=[], **options)
    assert adapted.result.steps == 2
    assert adapted.metrics["mlm_loss"] > 0
    expected = adapt(run_of(encoder, table, out=tmp_path / "command"))
    assert load_model(adapted.model).state_dict()["mlm.bias"].equal(load_model(expected.model).state_dict()["mlm.bias"])
