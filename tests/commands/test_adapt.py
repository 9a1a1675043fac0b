"""`litebert adapt`: a pretrained encoder is pretrained further on text of a domain."""

import json

import pytest

import litebert
from litebert.commands.pretrain.adapt import adapt, adaptation
from litebert.commands.pretrain.adapt_settings import AdaptRun
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import CheckpointError, ConfigError, DataError
from litebert.files import read_json_object
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.io.model_spec import ModelSpec
from litebert.model.models import ForMaskedLM, ForPretraining, ForSequenceClassification
from litebert.settings import with_overrides

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
    data = tmp_path / "out" / "data" / "corpus"
    documents = sum(Corpus.open(data, split).num_documents for split in ("train", "validation"))
    assert documents == 8 * len(TEXTS) + 2
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
    with pytest.raises(ConfigError, match=r"texts: not those of .*corpus, which exists"):
        adapt(run)


def test_few_documents_are_all_trained_on(encoder, tmp_path, caplog):
    text = tmp_path / "book.txt"
    text.write_text("the film was good. the music was awful.\n\na story.\n")
    result = adapt(run_of(encoder, text, out=tmp_path / "out", documents="file"))
    assert "fewer than 10 documents, so none is kept for validation" in caplog.text
    assert result.end is None


def test_a_pattern_of_tables_is_read(encoder, table, tmp_path):
    table.with_name("others.tsv").write_text("review\nthe old actor\n")
    adapt(run_of(encoder, tmp_path / "*.csv", tmp_path / "*.tsv", out=tmp_path / "out"))
    data = tmp_path / "out" / "data" / "corpus"
    assert sum(Corpus.open(data, split).num_documents for split in ("train", "validation")) == 33


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"settings": ("train.duratio=1",)}, ConfigError, "adapt: unknown setting 'train.duratio'"),
        ({"text": "text"}, DataError, "no column 'text'"),
        ({"texts": ("absent.csv",)}, DataError, "absent.csv: no such file; check the path"),
        ({"texts": ("absent.txt",)}, DataError, "absent.txt"),
        ({"model": "absent"}, CheckpointError, "absent: no such directory"),
    ],
)
def test_wrong_arguments_leave_no_directory(encoder, table, tmp_path, change, error, message):
    run = run_of(encoder, table, out=tmp_path / "out").model_copy(update=change)
    with pytest.raises(error, match=message):
        adapt(run)
    assert not (tmp_path / "out").exists()


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


def test_a_masked_language_model_without_a_pair_head_can_be_adapted(small_config, tiny_tokenizer, table, tmp_path):
    model = save_model(ForMaskedLM(small_config), tmp_path / "model", extra_files=tiny_tokenizer.files())
    settings = (*QUICK, "sampling.max_length=32")
    assert adapt(run_of(model, table, out=tmp_path / "out", settings=settings)).steps == 2


def settings_of(config, corpus, given=(), **options):
    spec = ModelSpec(model="ForPretraining", config=config)
    return adaptation("m", spec, SAMPLING, corpus, with_overrides({}, given), **options)


@pytest.mark.parametrize(("length", "expected"), [(8.0, (128, 64)), (50.0, (64, 64)), (128.0, (32, 32))])
def test_short_examples_have_larger_batches(small_config, tmp_path, length, expected):
    found = settings_of(small_config, tmp_path, length=length)
    assert (found.batch_size, found.microbatch_size) == expected
    assert settings_of(small_config, tmp_path, ["batch_size=7", "microbatch_size=7"], length=length).batch_size == 7


@pytest.mark.parametrize(("hidden_size", "optimizer", "rate"), [(384, "muon", 0.001), (768, "adamw", 1e-4)])
def test_wide_encoders_have_adamw(small_config, tmp_path, hidden_size, optimizer, rate):
    train = settings_of(small_config.replace(hidden_size=hidden_size), tmp_path).train
    assert (train.optimizer, train.learning_rate) == (optimizer, rate)


def test_python_has_the_settings_by_their_names(encoder, table, tmp_path):
    options = {"duration": "2 steps", "device": "cpu", "precision": "fp32"}
    adapted = litebert.adapt(encoder, [table], tmp_path / "out", text="review", callbacks=[], **options)
    assert adapted.result.steps == 2
    assert adapted.metrics["mlm_loss"] > 0
    expected = adapt(run_of(encoder, table, out=tmp_path / "command"))
    assert load_model(adapted.model).state_dict()["mlm.bias"].equal(load_model(expected.model).state_dict()["mlm.bias"])
