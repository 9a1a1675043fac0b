"""The data of a fine-tuning run, and the warnings about it."""

import logging
from collections import Counter

import pytest

from litebert.commands.finetune.data.run_data import read_data, read_examples
from litebert.commands.finetune.data.task_objective import loss_weights
from litebert.commands.finetune.finetune_settings import load_finetune_config
from litebert.errors import DataError
from support.data.benchmark_files import write_cola
from support.data.labelled_files import write_opinions


def warnings_of(caplog, data, **settings):
    with caplog.at_level(logging.WARNING, "litebert"):
        read_data(load_finetune_config("default", given={"model": "m", "data": data, **settings}))
    return caplog.messages


def test_read_data_warns_of_train_dev_leakage(tmp_path, caplog):
    train, dev = write_opinions(tmp_path / "train.csv"), write_opinions(tmp_path / "dev.csv")
    (message,) = warnings_of(caplog, {"train": str(train), "dev": str(dev)})
    assert message.startswith(
        f"{dev}: 36 of 36 development rows have the text of a row in {train}, and 36 of them its label"
    )


@pytest.mark.parametrize("standardized", [True, False])
@pytest.mark.parametrize("score", ["3", "0.7"])  # the standard deviation of many 0.7 is not exactly 0
def test_scores_that_are_all_equal_are_refused(tmp_path, score, standardized):
    file = tmp_path / "train.csv"
    file.write_text("text,label\n" + "".join(f"text {number},{score}\n" for number in range(230)))
    data = {"train": str(file), "dev": str(file), "task_type": "regression"}
    given = {"model": "m", "data": data, "standardize_scores": standardized}
    run = load_finetune_config("default", given=given)
    with pytest.raises(DataError, match=rf"train\.csv: every training row has the score {score}; give data with diff"):
        loss_weights(run, read_data(run).train)


def test_read_data_holds_out_whole_texts_unless_groups_split_them(tmp_path, caplog):
    file = tmp_path / "train.csv"
    rows = [f"text {number},{number % 2},{who}" for number in range(20) for who in "ab"]
    file.write_text("\n".join(["text,label,who", *rows]) + "\n")
    repeated = f"{file}: 20 of 40 rows repeat an earlier one; all are used"
    assert warnings_of(caplog, {"train": str(file)}) == [repeated]
    caplog.clear()
    first, second = warnings_of(caplog, {"train": str(file), "dev": {"group_by": "who"}}, batch_size=20)
    assert first == repeated
    assert "20 of 20 development rows have the text of a row" in second


@pytest.mark.parametrize("seed", range(4))
def test_read_data_holds_out_a_row_of_each_class_without_a_development_file(tmp_path, seed):
    file = tmp_path / "train.csv"
    rows = [f"text {number},{'rare' if number < 2 else 'usual'}" for number in range(40)]
    file.write_text("\n".join(["text,label", *rows]) + "\n")
    data = read_data(
        load_finetune_config("default", given={"model": "m", "data": {"train": str(file), "dev": {"seed": seed}}})
    )
    for part, usual in ((data.train, 34), (data.dev, 4)):
        assert Counter(part.labels[each.target] for each in part.examples) == {"rare": 1, "usual": usual}


@pytest.mark.parametrize("batch_size", [2, 64])
def test_read_data_warns_of_a_small_dataset(tmp_path, caplog, batch_size):
    data = write_cola(tmp_path)
    (data / "few.tsv").write_text("s\t1\t\tone row\ns\t0\t\tand another\n")
    files = {"task": "cola", "directory": str(data), "split_files": {"train": "few.tsv"}}
    messages = [text for text in warnings_of(caplog, files, batch_size=batch_size) if "training rows" in text]
    missed = "2 for each of 2 labels" + (" and one batch (batch_size 64)" if batch_size > 2 else "")
    assert messages == [f"{data / 'few.tsv'}: 2 training rows, fewer than {missed}; expect low scores"]


def test_split_without_labels_selects_no_model(tmp_path):
    write_cola(tmp_path)
    given = {"model": "albert-base-v2", "data": {"task": "cola", "directory": str(tmp_path), "dev": "test"}}
    with pytest.raises(DataError, match="has no labels, so it selects no model"):
        read_examples(load_finetune_config("cola", given=given))
