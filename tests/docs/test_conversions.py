"""Shell lines of the guides that convert files of other tools."""

import shutil
import subprocess

import pytest

from litebert.tasks.benchmarks.benchmark_files import read_benchmark
from litebert.tasks.read_labelled import read_labelled
from support.pages.documented_examples import text_of

pytestmark = pytest.mark.skipif(shutil.which("awk") is None, reason="needs awk")


def convert(file, directory):
    """Run the lines of the guide that name the file."""
    lines = text_of("docs/guides/tasks.md").splitlines()
    (command,) = (line for line in lines if line.startswith("awk ") and f" {file}" in line)
    subprocess.run(["sh", "-c", command], cwd=directory, check=True)


def test_files_of_fasttext_become_labelled_tables(tmp_path):
    lines = [
        '__label__good a "quiet" film',
        "__label__bad dull , and __label__ too long",
        "__label__good __label__short a play",
        "__label__short a song",
    ]
    (tmp_path / "train.txt").write_text("\n".join(lines) + "\n")
    convert("train.txt", tmp_path)
    data = read_labelled(tmp_path / "train.tsv")
    assert [example.text for example in data.examples] == [
        'a "quiet" film',
        "dull , and __label__ too long",
        "a play",
        "a song",
    ]
    assert [{data.labels[n] for n, given in enumerate(each.target) if given} for each in data.examples] == [
        {"good"},
        {"bad"},
        {"good", "short"},
        {"short"},
    ]


def test_files_of_microsoft_and_glue_become_mrpc(tmp_path):
    header = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
    rows = [f'{n % 2}\t{n}\t{n + 10}\tone "{n}\tother {n}\r\n' for n in range(6)]
    directory = tmp_path / "MRPC"
    directory.mkdir()
    (directory / "msr_paraphrase_train.txt").write_text(header + "".join(rows[:4]), newline="")
    (directory / "msr_paraphrase_test.txt").write_text(header + "".join(rows[4:]), newline="")
    (directory / "mrpc_dev_ids.tsv").write_text("3\t13\n1\t11\n")
    convert("msr_paraphrase_train.txt", directory)
    convert("msr_paraphrase_test.txt", directory)
    read = {split: read_benchmark("mrpc", tmp_path, split).examples for split in ("train", "dev", "test")}
    assert [example.text for example in read["train"]] == ['one "0', 'one "2']
    assert [(example.text_pair, example.target) for example in read["dev"]] == [("other 1", 1), ("other 3", 1)]
    assert [(example.text, example.target, example.id) for example in read["test"]] == [
        ('one "4', None, "0"),
        ('one "5', None, "1"),
    ]
