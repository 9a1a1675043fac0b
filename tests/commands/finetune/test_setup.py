"""What is odd about the rows of a run is said before it trains, for files of one's own and for published ones."""

import logging

import pytest
from litebert.commands.finetune.finetune_data import read_data

from litebert.commands.finetune.finetune_settings import load_finetune_config
from support.benchmark_files import write_cola
from support.labelled_files import write_opinions


def said_of(caplog, data, **settings):
    with caplog.at_level(logging.WARNING, "litebert"):
        read_data(load_finetune_config("default", given={"model": "m", "data": data, **settings}))
    return caplog.messages


def test_rows_that_training_and_development_share_are_counted(tmp_path, caplog):
    train, dev = write_opinions(tmp_path / "train.csv"), write_opinions(tmp_path / "dev.csv")
    (said,) = said_of(caplog, {"train": str(train), "dev": str(dev)})
    assert said.startswith(
        f"{dev}: 36 of 36 development rows have the text of a row in {train}, and 36 of them its label"
    )


def test_held_out_rows_share_no_text_unless_a_group_parts_them(tmp_path, caplog):
    file = tmp_path / "train.csv"
    rows = [f"text {number},{number % 2},{who}" for number in range(20) for who in "ab"]
    file.write_text("\n".join(["text,label,who", *rows]) + "\n")
    repeated = f"{file}: 20 of 40 rows repeat an earlier one; all are kept"
    assert said_of(caplog, {"train": str(file)}) == [repeated]
    caplog.clear()
    first, second = said_of(caplog, {"train": str(file), "dev": {"group": "who"}}, batch_size=20)
    assert first == repeated
    assert "20 of 20 development rows have the text of a row" in second


@pytest.mark.parametrize("batch_size", [2, 64])
def test_a_training_file_of_few_rows_is_said(tmp_path, caplog, batch_size):
    data = write_cola(tmp_path)
    (data / "few.tsv").write_text("s\t1\t\tone row\ns\t0\t\tand another\n")
    files = {"task": "cola", "directory": str(data), "files": {"train": "few.tsv"}}
    said = [text for text in said_of(caplog, files, batch_size=batch_size) if "to learn from" in text]
    missed = "2 for each of 2 labels" + (" and one batch (batch_size 64)" if batch_size > 2 else "")
    assert said == [f"{data / 'few.tsv'}: 2 rows to learn from, fewer than {missed}; expect little"]
