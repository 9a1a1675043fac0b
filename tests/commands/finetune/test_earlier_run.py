"""A command whose run directory has a run already: its rows, and files that are gone."""

import json
import logging
import shutil

import pytest

from litebert.commands.finetune.default_settings import SMALL_BATCH_ROWS
from litebert.commands.finetune.earlier_run import validate_same_rows
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun, load_finetune_config
from litebert.errors import CheckpointError, ConfigError, DataError
from support.data.benchmark_files import write_cola
from support.data.labelled_files import write_opinions
from support.runs.callbacks import KilledError, killer
from support.runs.tiny_runs import opinions_run, save_pretrained


@pytest.fixture(scope="module")
def pretrained(tiny_tokenizer, tmp_path_factory):
    return save_pretrained(tiny_tokenizer, tmp_path_factory.mktemp("pretrained") / "model")


@pytest.fixture
def values(pretrained, tmp_path):
    """Settings of a run of one step with a file for training and one for evaluation."""
    settings = opinions_run(pretrained, tmp_path / "train.csv", duration="1 steps") | {"baseline": False}
    settings["data"] = {
        "train": str(tmp_path / "train.csv"),
        "dev": str(write_opinions(tmp_path / "dev.csv")),
    }
    return settings


def run(values, **changes):
    return FinetuneRun.parse({**values, **changes}, where="test")


def flip_labels(file):
    flipped = {"good": "bad", "bad": "good"}
    header, *rows = file.read_text().splitlines()
    rows = [",".join((text, flipped[label])) for text, label in (row.split(",") for row in rows)]
    file.write_text("\n".join([header, *rows]) + "\n")


@pytest.mark.parametrize(("changed", "use"), [("train", "trained"), ("dev", "evaluated")])
def test_finished_run_with_other_rows_is_refused(values, tmp_path, changed, use):
    finetune(run(values), tmp_path / "run")
    flip_labels(tmp_path / f"{changed}.csv")
    message = rf"{changed}.csv: its rows are not those that the finished run in .*run was {use} on; .* another --out"
    with pytest.raises(CheckpointError, match=message):
        finetune(run(values), tmp_path / "run")


def test_finished_run_is_returned_while_rows_are_the_same_in_another_layout(values, tmp_path):
    first = finetune(run(values), tmp_path / "run")
    train = tmp_path / "train.csv"
    train.write_text("".join(f"{line},{number}\n" for number, line in enumerate(train.read_text().splitlines())))
    assert finetune(run(values), tmp_path / "run").best == first.best


def test_finished_run_with_held_out_rows_is_refused_with_other_rows(values, tmp_path):
    del values["data"]["dev"]
    finetune(run(values), tmp_path / "run")
    flip_labels(tmp_path / "train.csv")
    with pytest.raises(CheckpointError, match=r"train\.csv: its rows are not those"):
        finetune(run(values), tmp_path / "run")


def test_finished_run_reads_neither_model_nor_tokenizer(values, tmp_path, monkeypatch):
    finetune(run(values), tmp_path / "run")
    monkeypatch.delattr("litebert.commands.finetune.start.finetune_start.load_start")
    assert finetune(run(values), tmp_path / "run").steps == 1


@pytest.mark.parametrize("name", ["train", "dev"])
def test_finished_run_whose_file_is_gone_is_returned_with_a_warning(values, tmp_path, caplog, name):
    first = finetune(run(values), tmp_path / "run")
    (tmp_path / f"{name}.csv").unlink()
    with caplog.at_level(logging.WARNING, "litebert"):
        again = finetune(run(values), tmp_path / "run")
    assert again.best == first.best
    assert [each for each in caplog.messages if f"{name}.csv: no such file; check the path. It cannot be" in each]


def test_finished_run_on_a_benchmark_that_is_gone_is_returned_with_a_warning(values, tmp_path, caplog):
    values["data"] = {"task": "cola", "directory": str(write_cola(tmp_path / "data"))}
    finetune(run(values), tmp_path / "run")
    (tmp_path / "data").rename(tmp_path / "moved")
    with caplog.at_level(logging.WARNING, "litebert"):
        assert finetune(run(values), tmp_path / "run").steps == 1
    assert "cannot be compared with the rows of the finished run" in caplog.text


def test_data_set_of_the_hub_that_cannot_be_loaded_is_not_compared(values, tmp_path, caplog, monkeypatch):
    def load_split(name):
        raise DataError(f"{name}: cannot be loaded")

    result = finetune(run(values), tmp_path / "run")
    monkeypatch.setattr("litebert.commands.finetune.earlier_run.load_split", load_split)
    with caplog.at_level(logging.WARNING, "litebert"):
        validate_same_rows(run(values, data={"train": "hf:owner/name"}), result, tmp_path / "run")
    assert "hf:owner/name: cannot be loaded. It cannot be compared" in caplog.text


def test_finished_run_of_a_version_without_fingerprints_is_returned(values, tmp_path):
    finetune(run(values), tmp_path / "run")
    file = tmp_path / "run" / "result.json"
    file.write_text(json.dumps({name: each for name, each in json.loads(file.read_text()).items() if name != "rows"}))
    flip_labels(tmp_path / "train.csv")
    assert finetune(run(values), tmp_path / "run").rows == {}


def test_other_rows_of_a_finished_run_are_reported_before_the_settings_that_follow_from_them(values, tmp_path):
    finetune(run(values), tmp_path / "run")
    flip_labels(tmp_path / "train.csv")
    with pytest.raises(CheckpointError, match="its rows are not those"):
        finetune(run(values, batch_size=24), tmp_path / "run")


@pytest.mark.parametrize("name", ["train", "dev"])
def test_missing_file_is_reported_before_other_settings(values, tmp_path, name):
    finetune(run(values), tmp_path / "run")
    (tmp_path / f"{name}.csv").unlink()
    with pytest.raises(DataError, match=rf"{name}\.csv: no such file"):
        finetune(run(values, batch_size=24), tmp_path / "run")


def test_other_settings_are_reported_in_a_directory_with_another_result(values, tmp_path):
    finetune(run(values), tmp_path / "run")
    (tmp_path / "run" / "result.json").write_text('{"steps": 3}')
    with pytest.raises(ConfigError, match=r"other settings \(batch_size\)"):
        finetune(run(values, batch_size=24), tmp_path / "run")


def test_other_settings_of_the_data_are_named_though_they_select_other_rows(values, tmp_path):
    values["data"] = {**values["data"], "dev": {"fraction": 0.25}}
    finetune(run(values), tmp_path / "run")
    values["data"] = {**values["data"], "dev": {"fraction": 0.5}}
    with pytest.raises(ConfigError, match=r"other settings \(data.dev.fraction\)"):
        finetune(run(values), tmp_path / "run")


@pytest.fixture
def default_run(pretrained, tmp_path):
    """A run of the recipe `default`, whose batch size depends on its rows: with few rows, 16."""

    def settings():
        given = {"model": str(pretrained), "baseline": False, "data": {"train": str(tmp_path / "train.csv")}}
        short = ["train.duration=2 steps", "train.device=cpu", "train.precision=fp32"]
        return load_finetune_config("default", short, given=given, out=tmp_path / "run")

    write_opinions(tmp_path / "train.csv")
    return settings


def test_missing_file_of_an_unfinished_run_is_the_error(default_run, tmp_path):
    with pytest.raises(KilledError):
        finetune(default_run(), tmp_path / "run", callbacks=[killer("step", 1)])
    (tmp_path / "train.csv").rename(tmp_path / "moved.csv")
    with pytest.raises(DataError, match=r"train\.csv: no such file; check the path$"):
        finetune(default_run(), tmp_path / "run")


def test_run_that_was_killed_before_its_first_checkpoint_may_have_other_development_rows(values, tmp_path):
    values["train"] |= {"duration": "6 steps", "evaluate_every": "1 steps", "checkpoint_every": "100 steps"}
    with pytest.raises(KilledError):
        finetune(run(values), tmp_path / "run", callbacks=[killer("step", 3)])
    assert (tmp_path / "run" / "model" / "evaluation.json").exists()
    assert not (tmp_path / "run" / "checkpoints").exists()
    dev = tmp_path / "dev.csv"
    dev.write_text("\n".join(dev.read_text().splitlines()[:-2]) + "\n")
    assert finetune(run(values), tmp_path / "run").steps == 6


def test_finished_run_is_returned_without_the_file_that_its_settings_were_chosen_by(default_run, tmp_path):
    first = finetune(default_run(), tmp_path / "run")
    (tmp_path / "train.csv").rename(tmp_path / "moved.csv")
    assert default_run().batch_size == 16
    assert finetune(default_run(), tmp_path / "run").best == first.best


def test_rows_that_were_added_to_the_file_of_a_finished_run_are_the_error(default_run, tmp_path):
    finetune(default_run(), tmp_path / "run")
    with (tmp_path / "train.csv").open("a") as file:
        file.writelines(f"the film number {number} was good,good\n" for number in range(SMALL_BATCH_ROWS))
    assert default_run().batch_size == 32
    with pytest.raises(CheckpointError, match=r"train\.csv: its rows are not those"):
        finetune(default_run(), tmp_path / "run")


def test_other_rows_of_an_unfinished_run_are_refused_in_words_and_may_be_permitted(values, tmp_path):
    values["train"] |= {"duration": "3 steps", "checkpoint_every": "1 steps"}
    with pytest.raises(KilledError):
        finetune(run(values), tmp_path / "run", callbacks=[killer("checkpoint", 1)])
    flip_labels(tmp_path / "train.csv")
    message = r"the training rows of .*train\.csv, as tokens, are not those that the run began with \(batches\)\. .*"
    with pytest.raises(CheckpointError, match=message + r"train\.allow_config_changes=\[batches\]"):
        finetune(run(values), tmp_path / "run")
    values["train"]["allow_config_changes"] = ["batches"]
    result = finetune(run(values), tmp_path / "run")
    assert finetune(run(values), tmp_path / "run").rows == result.rows


def test_finished_run_from_another_model_of_the_same_name_is_refused(values, tiny_tokenizer, tmp_path):
    values["model"] = str(save_pretrained(tiny_tokenizer, tmp_path / "encoder"))
    assert finetune(run(values), tmp_path / "run").model_fingerprint
    assert finetune(run(values), tmp_path / "run").steps == 1, "returned"
    shutil.rmtree(tmp_path / "encoder")
    assert finetune(run(values), tmp_path / "run").steps == 1, "returned, as there is nothing to compare"
    save_pretrained(tiny_tokenizer, tmp_path / "encoder", intermediate_size=32)
    with pytest.raises(CheckpointError, match=r"encoder: not the model that the finished run in .*run started from"):
        finetune(run(values), tmp_path / "run")


def test_run_that_begins_anew_answers_for_its_own_model(values, tiny_tokenizer, tmp_path):
    """A run that was killed before its first checkpoint, and whose model was trained again."""
    values["train"] |= {"duration": "3 steps", "checkpoint_every": "3 steps"}
    values["model"] = str(save_pretrained(tiny_tokenizer, tmp_path / "encoder"))
    with pytest.raises(KilledError):
        finetune(run(values), tmp_path / "run", callbacks=[killer("step", 1)])
    shutil.rmtree(tmp_path / "encoder")
    save_pretrained(tiny_tokenizer, tmp_path / "encoder", intermediate_size=32)
    result = finetune(run(values), tmp_path / "run")
    assert finetune(run(values), tmp_path / "run").model_fingerprint == result.model_fingerprint


def test_run_that_begins_anew_names_the_rows_that_it_holds_out_itself(values, tmp_path):
    values["train"] |= {"duration": "3 steps", "checkpoint_every": "3 steps"}
    values["data"] = {"train": str(tmp_path / "train.csv"), "dev": {"fraction": 0.25}}
    with pytest.raises(KilledError):
        finetune(run(values), tmp_path / "run", callbacks=[killer("step", 1)])
    with (tmp_path / "train.csv").open("a") as file:
        file.writelines(f"the film number {number} was good,good\n" for number in range(9))
    finetune(run(values), tmp_path / "run")
    finetune(run(values), tmp_path / "fresh")
    for name in ("rows.json", "dev.csv"):
        assert (tmp_path / "run" / name).read_text() == (tmp_path / "fresh" / name).read_text()


def test_run_whose_environment_is_gone_finishes(values, tmp_path):
    values["train"] |= {"duration": "3 steps", "checkpoint_every": "1 steps"}
    with pytest.raises(KilledError):
        finetune(run(values), tmp_path / "run", callbacks=[killer("checkpoint", 1)])
    (tmp_path / "run" / "environment.json").unlink()
    assert finetune(run(values), tmp_path / "run").model_fingerprint == ""


def test_run_that_is_shortened_to_before_its_best_model_is_refused(values, tmp_path):
    values["train"] |= {"duration": "6 steps", "checkpoint_every": "2 steps", "evaluate_every": "3 steps"}
    with pytest.raises(KilledError):
        finetune(run(values), tmp_path / "run", callbacks=[killer("step", 4)])
    values["train"] |= {"duration": "2 steps", "allow_config_changes": ["train.duration"]}
    message = r"model: is of step 3, the last step is 2: the run was shortened to before its first evaluation: raise"
    with pytest.raises(CheckpointError, match=message):
        finetune(run(values), tmp_path / "run")


def test_random_weights_are_not_compared(values, tmp_path):
    assert finetune(run(values, from_scratch=True), tmp_path / "run").model_fingerprint == ""
