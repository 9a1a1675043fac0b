"""Shell lines of the guides that convert files of other tools."""

import shutil
import subprocess

import pytest

from litebert.tasks.read_labelled import read_labelled
from support.pages.documented_examples import text_of


@pytest.mark.skipif(shutil.which("awk") is None, reason="needs awk")
def test_files_of_fasttext_become_labelled_tables(tmp_path):
    (command,) = (line for line in text_of("docs/guides/tasks.md").splitlines() if line.startswith("awk "))
    lines = [
        '__label__good a "quiet" film',
        "__label__bad dull , and __label__ too long",
        "__label__good __label__short a play",
        "__label__short a song",
    ]
    (tmp_path / "train.txt").write_text("\n".join(lines) + "\n")
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
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
