"""The log file of a run: written from its beginning, appended to, and not at all by a run that is refused."""

import logging
import os
import re
from pathlib import Path

import pytest

from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.runs.run_log import run_log
from litebert.errors import CheckpointError, ConfigError, StoppedBySignalError
from support.data.labelled_files import write_opinions
from support.runs.pretrain_runs import plan

LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (INFO|WARNING|ERROR) (.*)")
logger = logging.getLogger("litebert.tests")


@pytest.fixture(autouse=True)
def logged(caplog):
    caplog.set_level(logging.INFO, logger="litebert")
    return caplog


def messages(file):
    return [LINE.fullmatch(line)[2] for line in file.read_text(encoding="utf-8").splitlines()]


def test_log_has_the_records_before_its_file_is_named_and_none_after_the_run(tmp_path):
    with run_log() as log:
        logger.info("before")
        log.write_to(tmp_path / "train.log")
        logger.warning("ä")
    logger.info("after")
    assert messages(tmp_path / "train.log") == ["before", "ä"]


def test_second_run_appends(tmp_path):
    for number in (1, 2):
        with run_log() as log:
            log.write_to(tmp_path / "train.log")
            logger.info("run %s", number)
    assert messages(tmp_path / "train.log") == ["run 1", "run 2"]


def test_error_that_ends_a_run_is_in_its_log_alone(tmp_path, logged):
    def stopped():
        with run_log() as log:
            log.write_to(tmp_path / "train.log")
            raise StoppedBySignalError("stopped 100 % safely", signal_number=15)

    with pytest.raises(StoppedBySignalError):
        stopped()
    assert messages(tmp_path / "train.log") == ["stopped 100 % safely"]
    assert logged.messages == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_does_not_end_a_run_and_prints_nothing(capsys):
    with run_log() as log:
        log.write_to(Path("/dev/full"))
        logger.info("lost")
    assert capsys.readouterr().err == ""


def test_log_that_cannot_be_opened_does_not_end_a_run(tmp_path):
    with run_log() as log:
        logger.info("lost")
        log.write_to(tmp_path)
        logger.info("lost too")


def test_log_has_names_of_files_that_are_not_utf8(tmp_path):
    with run_log() as log:
        log.write_to(tmp_path / "train.log")
        # Not by the logger: a report with a lone surrogate cannot be sent by a process of tests.
        name = Path(os.fsdecode(b"caf\xe9.csv"))
        log.handle(logging.makeLogRecord({"levelname": "INFO", "msg": "read %s", "args": (name,)}))
    assert messages(tmp_path / "train.log") == [r"read caf\udce9.csv"]


@pytest.fixture(scope="module")
def run(corpus_directory, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    package = logging.getLogger("litebert")
    level = package.level
    package.setLevel(logging.INFO)
    pretrain(plan(corpus_directory, "train.duration=2 steps", "max_eval_examples=2"), out)
    package.setLevel(level)
    return out


def test_pretraining_writes_its_log(run):
    assert any(message.startswith("validation of the finished model") for message in messages(run / "train.log"))


def test_refused_settings_and_a_finished_run_leave_the_log_as_it_was(run, corpus_directory):
    before = (run / "train.log").read_bytes()
    with pytest.raises(ConfigError, match="the run there has other settings"):
        pretrain(plan(corpus_directory, "train.duration=2 steps", "max_eval_examples=2", "seed=9"), run)
    pretrain(plan(corpus_directory, "train.duration=2 steps", "max_eval_examples=2"), run)
    assert (run / "train.log").read_bytes() == before


def test_fine_tuning_writes_its_log_and_a_resumed_run_appends_to_it(run, tmp_path, logged):
    rows = write_opinions(tmp_path / "train.tsv")
    values = {
        "model": str(run),
        "data": {"train": rows, "dev": rows},
        "train": {"duration": "2 steps", "learning_rate": 0.001, "precision": "fp32"},
        "baseline": False,
    }
    out = tmp_path / "tuned"
    logged.clear()
    finetune(FinetuneRun.parse(values, where="test"), out)
    first = messages(out / "train.log")
    assert first == logged.messages
    longer = {**values["train"], "duration": "3 steps", "allow_config_changes": ["train.duration"]}
    finetune(FinetuneRun.parse({**values, "train": longer}, where="test"), out)
    assert messages(out / "train.log")[: len(first)] == first
    assert len(messages(out / "train.log")) > len(first)


def test_run_that_fails_before_it_begins_writes_no_log(tmp_path):
    rows = write_opinions(tmp_path / "train.tsv")
    train = {"duration": "2 steps", "learning_rate": 0.1}
    values = {"model": str(tmp_path / "absent"), "data": {"train": rows}, "train": train}
    with pytest.raises(CheckpointError, match="absent"):
        finetune(FinetuneRun.parse(values, where="test"), tmp_path / "tuned")
    assert not (tmp_path / "tuned").exists()
