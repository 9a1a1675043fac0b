"""A column `text_pair` is the second text of a pair unless another column is named; what is read is logged."""

import json
import logging
import sys

import pytest

from litebert.commands.finetune.data.run_data import read_examples
from litebert.commands.finetune.finetune_settings import load_finetune_config
from litebert.errors import ConfigError, DataError
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.columns import Columns, SavedTask, resolve_columns
from litebert.tasks.readers.tables import Row, Table
from litebert.tasks.task_of_data import task_for
from litebert.tasks.types.task_type import ReadOptions

ROWS = "id,text,text_pair,note,label\n" + "".join(
    f"{index},a{index},b{index},n{index},{'xy'[index % 2]}\n" for index in range(20)
)


@pytest.fixture
def pairs(tmp_path):
    (tmp_path / "pairs.csv").write_text(ROWS)
    return tmp_path / "pairs.csv"


def examples_of(train, dev=None):
    files = {"train": str(train)} | ({"dev": str(dev)} if dev else {})
    return read_examples(load_finetune_config("default", given={"model": "m", "data": files}, open_files=False))


@pytest.mark.parametrize("named", [{}, {"text": "note"}, {"label": "label"}])
def test_column_text_pair_is_the_pair_by_default(pairs, named):
    columns = Columns(**named)
    data = read_labelled(pairs, columns, default_pair=True)
    assert [each.text_pair for each in data.examples] == [f"b{index}" for index in range(20)]
    assert task_for(data, columns).text == (columns.text_name, "text_pair")


@pytest.mark.parametrize("named", [{"text": "text_pair"}, {"text_pair": "note"}, {"slice": "text_pair"}])
def test_column_text_pair_with_another_use_is_not_the_pair(pairs, named):
    data = read_labelled(pairs, Columns(**named), default_pair=True)
    assert data.examples[3].text_pair == ("n3" if "text_pair" in named else None)


def test_only_training_has_a_default_pair(pairs):
    """Of a model without a record of its task `predict` reads single texts, and so does `evaluate`."""
    assert {each.text_pair for each in read_labelled(pairs).examples} == {None}


@pytest.mark.parametrize("value", ['""', "null", '["b"]', '{"id": 1}'])
def test_column_text_pair_without_texts_is_not_the_pair(tmp_path, value):
    lines = (f'{{"text": "a{index}", "text_pair": {value}, "label": "{"xy"[index % 2]}"}}\n' for index in range(4))
    (tmp_path / "rows.jsonl").write_text("".join(lines))
    assert read_labelled(tmp_path / "rows.jsonl", default_pair=True).text_pair is None


@pytest.mark.parametrize("first", [{}, {"text_pair": None}])
def test_column_text_pair_that_the_first_row_lacks_is_the_pair(tmp_path, first):
    rows = [{"text": "a", **first, "label": "x"}, {"text": "b", "text_pair": "c", "label": "y"}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = read_labelled(tmp_path / "rows.jsonl", default_pair=True)
    assert (data.text_pair, [each.text_pair for each in data.examples]) == ("text_pair", ["", "c"])


def test_label_of_questions_may_be_a_column_named_text(tmp_path):
    (tmp_path / "questions.csv").write_text("question,context,text\nwho,it is me,me\n")
    options = ReadOptions(task_type="extractive_qa")
    data = read_labelled(tmp_path / "questions.csv", Columns(label="text"), options=options)
    assert data.examples[0].context == "it is me"


def test_development_file_needs_no_library_for_metrics_that_are_not_asked_for(tmp_path, monkeypatch):
    (tmp_path / "scores.csv").write_text("text,label\n" + "".join(f"t{n},{n}.5\n" for n in range(8)))
    files = {"train": str(tmp_path / "scores.csv"), "dev": str(tmp_path / "scores.csv")}
    given = {"model": "m", "data": files, "metrics": ["neg_mean_absolute_error"]}
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    data = read_examples(load_finetune_config("default", given=given, open_files=False))
    assert data.task.metrics == ("neg_mean_absolute_error",)


def test_finetuning_reads_and_remembers_the_default_pair(pairs):
    data = examples_of(pairs)
    assert {each.text_pair is None for each in (*data.train.examples, *data.dev.examples)} == {False}
    assert SavedTask.of(data.task).text_pair == "text_pair"


def test_development_file_is_read_as_the_training_file(pairs, tmp_path):
    (tmp_path / "single.csv").write_text("text,label\na,x\nb,y\n")
    with pytest.raises(DataError, match=r"single\.csv: no column 'text_pair'; the model was trained on pairs"):
        examples_of(pairs, tmp_path / "single.csv")
    data = examples_of(tmp_path / "single.csv", pairs)
    assert {each.text_pair for each in data.dev.examples} == {None}


def test_words_and_questions_have_no_default_pair(tmp_path):
    (tmp_path / "words.jsonl").write_text('{"text": ["a"], "label": ["O"], "text_pair": "b"}\n')
    assert read_labelled(tmp_path / "words.jsonl", default_pair=True).text_pair is None
    (tmp_path / "questions.csv").write_text("question,context,answer,text_pair\nwho,it is me,me,x\n")
    assert read_labelled(tmp_path / "questions.csv", default_pair=True).examples[0].context == "it is me"


def test_log_names_the_columns_that_are_read_and_the_others(pairs, caplog):
    with caplog.at_level(logging.INFO, "litebert"):
        read_labelled(pairs, Columns(text="note"), default_pair=True)
    assert "pairs.csv: columns read: text 'note', text_pair, label; not read: 'id', 'text'" in caplog.text


def test_model_of_single_texts_does_not_read_the_default_pair_and_says_so(tmp_path, caplog):
    table = Table(tmp_path / "new.csv", ("text", "text_pair"), (Row(2, {"text": "a", "text_pair": "b"}),))
    with caplog.at_level(logging.INFO, "litebert"):
        found = resolve_columns(Columns(), SavedTask(task_type="classification", text="text"), table)
    assert found.text_pair is None
    assert "the column 'text_pair' is not read; the model was trained on single texts" in caplog.text


@pytest.mark.parametrize(
    ("named", "option"),
    [({"label": "text"}, "--text or"), ({"text": "label"}, "--text or"), ({"text_pair": "label"}, "--text-pair or")],
)
def test_one_column_as_text_and_label_is_an_error(pairs, named, option):
    with pytest.raises(ConfigError, match=rf"is both the text and the label; name another one \({option} --label\)"):
        read_labelled(pairs, Columns(**named))
