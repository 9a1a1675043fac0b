"""Settings that depend on the size of the model and of the data."""

import shutil
from dataclasses import replace

import pytest

from litebert.commands.finetune.data_settings import LabelledFiles, num_training_rows
from litebert.commands.finetune.default_settings import (
    BASE_HIDDEN_SIZE,
    SMALL_BATCH_ROWS,
    count_rows,
    hidden_size_of,
    settings_for_size,
)
from litebert.commands.finetune.finetune_settings import load_finetune_config
from litebert.commands.finetune.start.start_model import start_config
from litebert.errors import ConfigError
from litebert.files import PRETRAINING_SETTINGS
from litebert.settings import write_yaml
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.types.task_type import ReadOptions
from litebert.training.loop.duration import Duration
from support.data.labelled_files import write_opinions
from support.runs.tiny_runs import save_pretrained


@pytest.mark.parametrize("rows", [10, 1000, 100_000])
def test_settings_for_size_fall_with_the_size_of_the_model(rows):
    found = [settings_for_size(size, rows) for size in (128, 256, 768, 1024, 4096)]
    rates = [each.learning_rate for each in found]
    epochs = [each.epochs for each in found]
    assert rates == sorted(rates, reverse=True)
    assert epochs == sorted(epochs, reverse=True)


def test_settings_for_size_of_a_base_model_are_near_those_of_table_14():
    assert 1e-5 <= settings_for_size(BASE_HIDDEN_SIZE, 10_000).learning_rate <= 5e-5
    assert settings_for_size(BASE_HIDDEN_SIZE, 10_000).batch_size == 32


@pytest.mark.parametrize(
    ("preset", "rate"),
    [
        ("tiny", 2.7e-4),
        ("albert-base-v2", 3e-5),
        ("albert-large-v2", 1.7e-5),
        ("albert-xlarge-v2", 5e-6),
        ("albert-xxlarge-v2", 5e-6),
    ],
)
def test_learning_rate_falls_with_the_width_down_to_the_one_reported_for_xlarge(preset, rate):
    assert settings_for_size(hidden_size_of(preset), 10_000).learning_rate == rate


@pytest.mark.parametrize("size", [128, 768])
def test_settings_for_size_have_fewer_epochs_for_more_rows(size):
    epochs = [settings_for_size(size, rows).epochs for rows in (100, 3000, 10_000, 1_000_000)]
    assert epochs == sorted(epochs, reverse=True)
    assert epochs[-1] == 3


def test_default_recipe_uses_the_size_of_the_model_and_the_rows_of_the_file(tmp_path):
    data = {"train": str(write_opinions(tmp_path / "train.csv"))}
    run = load_finetune_config("default", given={"model": "tiny", "from_scratch": True, "data": data})
    usual = settings_for_size(hidden_size_of("tiny"), 36)
    assert (run.train.learning_rate, run.batch_size) == (usual.learning_rate, usual.batch_size)
    assert run.train.duration == Duration.parse(f"{usual.epochs} epochs")


def test_directory_with_the_name_of_a_preset_has_the_settings_of_its_own_size(tiny_tokenizer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = {"train": str(write_opinions(tmp_path / "train.csv"))}
    save_pretrained(tiny_tokenizer, tmp_path / "albert-base-v2")
    run = load_finetune_config("default", given={"model": "albert-base-v2", "data": data})
    assert start_config(run).hidden_size == hidden_size_of(run.model) == 32
    assert chosen(run) == chosen_for(32, 36)


@pytest.fixture
def encoder(tiny_tokenizer, tmp_path):
    """A small encoder with the record of a pretraining."""
    directory = save_pretrained(tiny_tokenizer, tmp_path / "encoder")
    (directory / PRETRAINING_SETTINGS).write_text('{"sampling": {}}')
    return directory


@pytest.mark.parametrize(
    ("overrides", "fitted"),
    [
        ((), True),
        (("train.learning_rate=0.001", "batch_size=16", "hidden_dropout_prob=0", "train.duration=1 steps"), True),
        (("fit_duplicate_token_heads=false",), False),
        (("fit_duplicate_token_heads=true",), True),
        (("freeze=encoder",), False),
        (("keep_head=true",), False),
        (("from_scratch=true",), False),
    ],
)
def test_default_recipe_fits_heads_to_a_small_encoder_that_is_trained_whole(encoder, tmp_path, overrides, fitted):
    given = {"model": str(encoder), "data": {"train": str(write_opinions(tmp_path / "train.csv"))}}
    assert load_finetune_config("default", overrides, given=given).fits_heads == fitted


def test_default_recipe_fits_no_heads_to_other_models(encoder, tmp_path, tiny_tokenizer, monkeypatch):
    data = {"train": str(write_opinions(tmp_path / "train.csv"))}

    def fits_heads(recipe, *overrides, model=encoder):
        return load_finetune_config(recipe, overrides, given={"model": str(model), "data": data}).fits_heads

    assert not fits_heads("default", model=save_pretrained(tiny_tokenizer, tmp_path / "other" / "model"))
    (tmp_path / "other" / "settings.yaml").write_text("- of another program")
    assert not fits_heads("default", model=tmp_path / "other" / "model")
    assert not fits_heads("default", model=tmp_path / "missing")
    assert not fits_heads("mrpc-small", "max_length=64")
    monkeypatch.setattr("litebert.commands.finetune.default_settings.SMALL_HIDDEN_SIZE", 31)
    assert not fits_heads("default")


def test_default_recipe_trains_a_small_encoder_of_pretrain_with_muon(encoder, tmp_path):
    given = {"model": str(encoder), "data": {"train": str(write_opinions(tmp_path / "train.csv"))}}

    def settings(*overrides, **further):
        return chosen(load_finetune_config("default", overrides, given={**given, **further}))

    assert settings() == settings(from_scratch=True) == chosen_for(32, 36, optimizer="muon")
    adamw = chosen_for(32, 36)
    assert settings("train.optimizer=adamw") == settings("freeze=encoder") == settings("keep_head=true") == adamw
    assert settings(model="tiny", from_scratch=True) == chosen_for(hidden_size_of("tiny"), 36)
    assert settings("train.optimizer=lamb") == chosen_for(32, 36, optimizer="lamb")
    assert settings("train.muon_learning_rate=0.5")["train"]["muon_learning_rate"] == 0.5
    assert settings("train.duration=7 steps")["train"]["optimizer"] == "muon"


def test_muon_trains_a_small_model_for_fewer_epochs_and_changes_nothing_for_others():
    for rows, epochs in ((100, 10), (1999, 10), (2000, 5), (9999, 5), (10_000, 3), (100_000, 3)):
        assert settings_for_size(128, rows, optimizer="muon").epochs == epochs <= settings_for_size(128, rows).epochs
    with_muon = replace(settings_for_size(768, 3000), optimizer="muon", muon_learning_rate=0.002)
    assert settings_for_size(768, 3000, optimizer="muon") == with_muon


def test_a_learning_rate_that_is_given_is_one_of_adamw_unless_muon_is_given_too(encoder, tmp_path):
    given = {"model": str(encoder), "data": {"train": str(write_opinions(tmp_path / "train.csv"))}}
    four = ["train.learning_rate=0.5", "train.duration=7 steps", "batch_size=3", "hidden_dropout_prob=0"]
    for settings in (four[:1], four):
        assert load_finetune_config("default", settings, given=given).train.optimizer == "adamw"
        with_muon = load_finetune_config("default", ["train.optimizer=muon", *settings], given=given).train
        assert (with_muon.learning_rate, with_muon.muon_learning_rate) == (0.5, 0.002)


def test_directory_with_the_name_of_a_larger_preset_decides_nothing_for_the_preset(encoder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(encoder, "albert-base-v2")
    given = {"model": "albert-base-v2", "data": {"train": str(write_opinions(tmp_path / "train.csv"))}}
    assert load_finetune_config("default", given=given).train.optimizer == "muon"
    monkeypatch.setattr("litebert.commands.finetune.finetune_settings.hidden_size_of", lambda model: 768)
    assert load_finetune_config("default", given=given).train.optimizer == "adamw"


def test_a_run_that_has_begun_keeps_its_optimizer(encoder, tmp_path):
    given = {"model": str(encoder), "data": {"train": str(write_opinions(tmp_path / "train.csv"))}}
    write_run(tmp_path / "adamw", {"train": {"optimizer": "adamw", "muon_learning_rate": 0.02}})
    assert chosen(load_finetune_config("default", given=given, out=tmp_path / "adamw")) == chosen_for(32, 36)
    write_run(tmp_path / "muon", {"train": {"optimizer": "muon", "muon_learning_rate": 0.02}})
    run = load_finetune_config("default", ["train.optimizer=muon"], given=given, out=tmp_path / "muon")
    assert run.train.muon_learning_rate == 0.02


@pytest.mark.parametrize(
    "saved", [{}, {"train": None}, {"fit_duplicate_token_heads": False}, {"fit_duplicate_token_heads": "if_pairs"}]
)
def test_a_run_that_has_begun_keeps_whether_heads_are_fitted(encoder, tmp_path, saved):
    given = {"model": str(encoder), "data": {"train": str(write_opinions(tmp_path / "train.csv"))}}
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "settings.yaml").write_text(write_yaml(saved))
    run = load_finetune_config("default", given=given, out=tmp_path / "run")
    assert run.fit_duplicate_token_heads == saved.get("fit_duplicate_token_heads", False)
    told = load_finetune_config("default", ["fit_duplicate_token_heads=true"], given=given, out=tmp_path / "run")
    assert told.fit_duplicate_token_heads is True


def test_default_recipe_keeps_the_settings_that_are_given(tmp_path):
    data = {"train": str(write_opinions(tmp_path / "train.csv"))}
    given = ["train.learning_rate=0.5", "train.duration=7 steps", "batch_size=3"]
    run = load_finetune_config("default", given, given={"model": "tiny", "data": data})
    assert (run.train.learning_rate, str(run.train.duration), run.batch_size) == (0.5, "7 steps", 3)


def test_default_recipe_refuses_wrong_settings_before_it_opens_a_file():
    with pytest.raises(ConfigError, match="train"):
        load_finetune_config("default", ["train=3"], given={"model": "m", "data": {"train": "/no/such.csv"}})


def test_count_rows_of_each_format(tmp_path):
    for name in ("t.csv", "t.tsv", "t.jsonl"):
        assert count_rows(write_opinions(tmp_path / name)) == 36
    (tmp_path / "t.conll").write_text("a O\nb O\n\nc B-X\n")
    assert count_rows(tmp_path / "t.conll") == 2


@pytest.mark.parametrize(
    ("content", "settings", "rows"),
    [
        ("text,stars\na,x\nb,\n,\nc,y\n", {"label": "stars"}, 2),
        ("text,label\na,x|y\nb,\n,\nc,y|x\nd,x\n", {}, 4),
        ("text,label\na,x\nb,\n,\nc,y\n", {"task_type": "multi_label"}, 3),
        ("question,context,answer\nwho,it is me,me\nwho,nobody,\n", {}, 2),
    ],
)
def test_rows_without_a_label_count_where_the_task_type_needs_none(tmp_path, content, settings, rows):
    (tmp_path / "some.csv").write_text(content)
    files = LabelledFiles(train=tmp_path / "some.csv", unlabelled_rows="skip", **settings)
    options = ReadOptions(task_type=files.task_type, unlabelled_rows="skip")
    assert num_training_rows(files) == rows == len(read_labelled(files.train, files.columns, options=options).examples)


def test_default_recipe_is_that_of_a_base_model_with_few_rows_where_sizes_cannot_be_read(tmp_path):
    assert count_rows(tmp_path / "none.csv") is None
    (tmp_path / "some.csv").write_text("text,label\na,x\nb,\n,\n")
    assert count_rows(tmp_path / "some.csv") == 2
    assert count_rows(tmp_path / "some.csv", skip_unlabelled=True) == 1
    (tmp_path / "model").mkdir()
    assert hidden_size_of(str(tmp_path / "model")) is None
    run = load_finetune_config("default", given=missing(tmp_path), out=tmp_path / "run")
    assert chosen(run) == chosen_for(BASE_HIDDEN_SIZE, SMALL_BATCH_ROWS)


def test_default_recipe_keeps_muon_of_the_run_in_its_directory_where_the_model_is_gone(tmp_path):
    given = missing(tmp_path) | {"data": {"train": str(write_opinions(tmp_path / "train.csv"))}}
    train = {"optimizer": "muon", "learning_rate": 0.25, "muon_learning_rate": 0.5, "duration": "9 steps"}
    earlier = {"batch_size": 7, "train": train, "hidden_dropout_prob": 0.4}
    write_run(tmp_path / "run", earlier)
    assert chosen(load_finetune_config("default", given=given, out=tmp_path / "run")) == earlier


@pytest.mark.parametrize("gone", ["file", "model"])
def test_default_recipe_keeps_what_the_run_in_its_directory_has_where_a_size_cannot_be_read(tmp_path, gone):
    given = missing(tmp_path)
    if gone == "model":
        given["data"] = {"train": str(write_opinions(tmp_path / "train.csv"))}
    else:
        given |= {"model": "tiny", "from_scratch": True}
    train = {"optimizer": "adamw", "learning_rate": 0.25, "duration": "9 steps"}
    earlier = {"batch_size": 7, "train": train, "hidden_dropout_prob": 0.4}
    write_run(tmp_path / "run", earlier)
    run = load_finetune_config("default", ["train.learning_rate=0.5"], given=given, out=tmp_path / "run")
    assert chosen(run) == {**earlier, "train": {**train, "learning_rate": 0.5}}


def test_default_recipe_follows_the_sizes_where_they_can_be_read_whatever_the_run_there_has(tmp_path):
    given = {"model": "tiny", "data": {"train": str(write_opinions(tmp_path / "train.csv"))}}
    write_run(tmp_path / "run", {"batch_size": 7})
    run = load_finetune_config("default", given=given, out=tmp_path / "run")
    assert chosen(run) == chosen_for(hidden_size_of("tiny"), 36)


def missing(directory):
    """A model and a file that do not exist."""
    return {"model": str(directory / "model"), "data": {"train": str(directory / "none.csv")}}


def write_run(directory, settings):
    directory.mkdir()
    (directory / "settings.yaml").write_text(write_yaml({"command": "finetune", **settings}))


def chosen_for(hidden_size, rows, **optimizer):
    return settings_for_size(hidden_size, rows, **optimizer).to_dict()


def chosen(run):
    """The settings that depend on the sizes."""
    train = run.train
    train = {
        "optimizer": train.optimizer,
        "learning_rate": train.learning_rate,
        "duration": str(train.duration),
        **({"muon_learning_rate": train.muon_learning_rate} if train.optimizer == "muon" else {}),
    }
    return {"batch_size": run.batch_size, "hidden_dropout_prob": run.hidden_dropout_prob, "train": train}
