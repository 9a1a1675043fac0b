"""Published layouts with all their quirks, in files of a few rows."""

import json
import logging

import pytest

from litebert.errors import ConfigError, DataError
from litebert.tasks.benchmarks.benchmark_files import available_splits, read_benchmark


def put(directory, name, content):
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode())


def test_cola_files_except_test_have_no_header(tmp_path):
    put(tmp_path, "CoLA/train.tsv", "gj04\t1\t\tThey won't buy it.\ngj04\t0\t*\tThey buys \"it.\n")
    put(tmp_path, "CoLA/test.tsv", "index\tsentence\n0\tBill whistled.\n")
    train = read_benchmark("cola", tmp_path, "train")
    assert [(each.text, each.target) for each in train.examples] == [("They won't buy it.", 1), ('They buys "it.', 0)]
    (test,) = read_benchmark("cola", tmp_path, "test").examples
    assert (test.text, test.target, test.id) == ("Bill whistled.", None, "0")


def test_mrpc_files_have_a_byte_order_mark_and_literal_quotes(tmp_path):
    header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
    put(tmp_path, "MRPC/dev.tsv", "\ufeff" + header + '1\t7\t8\t"Said he\tHe said "so\r\n')
    (example,) = read_benchmark("mrpc", tmp_path, "dev").examples
    assert (example.text, example.text_pair, example.target) == ('"Said he', 'He said "so', 1)


def test_qqp_rows_of_another_width_are_skipped_with_a_warning(tmp_path, caplog):
    header = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
    put(tmp_path, "QQP/train.tsv", header + "1\t2\t3\ta\tb\t0\n4\t5\t6\tcut\n7\t8\t9\tc\td\t1\n")
    train = read_benchmark("qqp", tmp_path, "train")
    assert ([each.target for each in train.examples], train.lines) == ([0, 1], (2, 4))
    assert "train.tsv: skipped 1 rows without 6 fields, at lines 3" in caplog.text


def test_mnli_files_have_different_columns_and_genres_as_slices(tmp_path):
    common = "index\tgenre\tsentence1\tsentence2"
    put(tmp_path, "MNLI/train.tsv", f"{common}\tlabel1\tgold_label\n0\tfiction\ta\tb\tneutral\tneutral\n")
    put(
        tmp_path,
        "MNLI/dev_mismatched.tsv",
        f"{common}\tlabel1\tlabel2\tgold_label\n0\tn/a\ta\tb\tneutral\tentailment\tcontradiction\n",
    )
    (train,) = read_benchmark("mnli", tmp_path, "train").examples
    (dev,) = read_benchmark("mnli", tmp_path, "dev-mismatched").examples
    assert (train.target, train.slice, dev.target, dev.slice) == (2, "fiction", 0, None)
    assert available_splits("mnli", tmp_path, start="dev") == ("dev-mismatched",)


def test_sts_b_targets_are_numbers(tmp_path):
    put(tmp_path, "STS-B/dev.tsv", "index\tgenre\tsentence1\tsentence2\tscore\n0\tnews\ta\tb\t4.750\n")
    data = read_benchmark("sts-b", tmp_path, "dev")
    assert (data.task_type, data.examples[0].target) == ("regression", 4.75)


@pytest.mark.parametrize("folder", ["diagnostic", "AX"])
def test_glue_diagnostics_are_found_under_either_folder_name(tmp_path, folder):
    put(tmp_path, f"{folder}/diagnostic.tsv", "index\tsentence1\tsentence2\n0\ta\tb\n")
    assert read_benchmark("ax", tmp_path, "diagnostic").examples[0].id == "0"


def test_benchmark_directory_may_be_that_of_the_task(tmp_path):
    put(tmp_path, "train.tsv", "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tnot_entailment\n")
    assert read_benchmark("rte", tmp_path, "train").examples[0].target == 1


def test_benchmark_file_with_another_number_of_rows_is_logged(tmp_path, caplog):
    content = "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tentailment\n"
    put(tmp_path, "RTE/train.tsv", content)
    put(tmp_path, "RTE/some.tsv", content)
    with caplog.at_level(logging.WARNING, "litebert"):
        read_benchmark("rte", tmp_path, "train", files={"train": "some.tsv"})
        assert caplog.text == ""
        read_benchmark("rte", tmp_path, "train")
    assert "1 examples; the official file has 2490" in caplog.text


def test_missing_benchmark_file_or_split_is_an_error(tmp_path):
    message = (
        r"found neither RTE/train\.tsv nor train\.tsv; give the directory that holds .* docs/guides/tasks\.md says"
    )
    with pytest.raises(DataError, match=message):
        read_benchmark("rte", tmp_path, "train")
    with pytest.raises(ConfigError, match="GLUE diagnostics has no 'train'; it has diagnostic"):
        read_benchmark("ax", tmp_path, "train")
    with pytest.raises(DataError, match=r"mine\.tsv: no such file, neither as a path nor in"):
        read_benchmark("rte", tmp_path, "train", files={"train": "mine.tsv"})


def passage(name, *questions):
    return json.dumps(
        {
            "article": f"article of {name}",
            "id": name,
            "questions": list(questions),
            "options": [["w", "x", "y", "z"]] * len(questions),
            "answers": ["D"] * len(questions),
        }
    )


def test_race_levels_are_slices_and_questions_have_ids(tmp_path):
    put(tmp_path, "RACE/dev/high/10.txt", passage("high10.txt", "a", "b"))
    put(tmp_path, "RACE/dev/high/9.txt", passage("high9.txt", "c"))
    put(tmp_path, "RACE/dev/middle/1.txt", passage("middle1.txt", "d"))
    data = read_benchmark("race", tmp_path, "dev")
    assert [(each.id, each.slice, each.question) for each in data.examples] == [
        ("middle1.txt-0", "middle", "d"),
        ("high9.txt-0", "high", "c"),
        ("high10.txt-0", "high", "a"),
        ("high10.txt-1", "high", "b"),
    ]
    assert {each.target for each in data.examples} == {3}
    assert {each.slice for each in read_benchmark("race-high", tmp_path, "dev").examples} == {"high"}


def test_race_level_may_be_one_file_of_json_lines(tmp_path):
    put(tmp_path, "RACE/dev/high/all.txt", passage("one", "a") + "\n" + passage("two", "b") + "\n")
    assert [each.id for each in read_benchmark("race-high", tmp_path, "dev").examples] == ["one-0", "two-0"]


def test_race_without_passages_is_an_error(tmp_path):
    (tmp_path / "RACE" / "dev").mkdir(parents=True)
    with pytest.raises(DataError, match=r"no \.txt files; give the directory with train, dev and test"):
        read_benchmark("race", tmp_path, "dev")


@pytest.mark.parametrize("content", ['{"questions": 5}', '{"questions": null}', "[" * 100_000 + "]" * 100_000])
def test_damaged_race_passage_is_an_error_with_file_and_line(tmp_path, content):
    fields = '{"article": "a", "options": [], "answers": [], "id": "x", '
    put(tmp_path, "RACE/dev/high/1.txt", content.replace("{", fields))
    with pytest.raises(DataError, match=r"1\.txt:1"):
        read_benchmark("race-high", tmp_path, "dev")
