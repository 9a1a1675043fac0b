"""The text of a quickstart: split by whole documents, labelled by where it is from, from any number of files."""

import json

import pytest

from litebert.commands.quickstart import quickstart_text
from litebert.commands.quickstart.python_docs import Page
from litebert.commands.quickstart.quickstart_text import MOST_DEV_ROWS, MOST_TRAIN_ROWS, TextFiles, split_text
from litebert.errors import DataError
from support.texts import write_documents


def written(tmp_path, text):
    files = TextFiles(tmp_path / "text")
    files.write(text, seed=0)
    paths = (files.train, files.held_out, files.labelled_train, files.labelled_dev)
    return [[json.loads(line) for line in path.read_text().splitlines()] for path in paths]


def test_no_document_is_on_both_sides(tmp_path):
    files = [str(write_documents(tmp_path / f"{n}.txt", documents=30, seed=n)) for n in range(2)]
    train, held_out, labelled_train, labelled_dev = written(tmp_path, split_text(files))
    names = [{row["name"] for row in rows} for rows in (train, held_out)]
    assert names[0].isdisjoint(names[1])
    assert len(names[0] | names[1]) == 60
    assert {row["document"] for row in labelled_train} <= names[0]
    assert {row["document"] for row in labelled_dev} <= names[1]


def test_several_files_are_the_labels(tmp_path):
    files = [str(write_documents(tmp_path / f"{n}.txt", documents=25, seed=n)) for n in range(3)]
    for rows in written(tmp_path, split_text(files))[2:]:
        assert {row["label"] for row in rows} == {"0.txt", "1.txt", "2.txt"}


def test_of_one_file_the_parts_are_the_labels(tmp_path):
    text = split_text([str(write_documents(tmp_path / "a.txt", documents=60))])
    assert text.families == ["part 1", "part 2", "part 3", "part 4"]


@pytest.mark.parametrize("documents", [1, 2, 39])
def test_few_documents_are_cut_into_blocks_and_every_line_kept(tmp_path, documents):
    path = write_documents(tmp_path / "a.txt", documents=documents, lines=100)
    text = split_text([str(path)])
    assert text.held_out
    lines = [line for page in (*text.train, *text.held_out) for line in page.paragraphs]
    assert sorted(lines) == sorted(filter(None, path.read_text().splitlines()))


@pytest.mark.parametrize("seed", range(8))
def test_every_file_of_several_documents_has_one_held_out(tmp_path, seed):
    files = [str(write_documents(tmp_path / f"{seed}-{n}.txt", documents=3, lines=20)) for n in range(2)]
    assert len(split_text(files).families) == 2


def test_classes_are_no_larger_than_the_limit(tmp_path):
    files = [str(write_documents(tmp_path / f"{n}.txt", documents=150, seed=n)) for n in range(2)]
    *_, labelled_train, labelled_dev = written(tmp_path, split_text(files))
    counts = [len([row for row in rows if row["label"] == "0.txt"]) for rows in (labelled_train, labelled_dev)]
    assert counts[0] == MOST_TRAIN_ROWS
    assert 0 < counts[1] <= MOST_DEV_ROWS


def test_which_rows_are_labelled_depends_on_the_seed_alone(tmp_path):
    text = split_text([str(write_documents(tmp_path / f"{n}.txt", documents=100, seed=n)) for n in range(2)])
    contents = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        files = TextFiles(tmp_path / name)
        files.write(text, seed=seed)
        contents.append(files.labelled_train.read_text())
    assert contents[0] == contents[1] != contents[2]


def test_the_place_of_the_files_does_not_decide_what_is_held_out(tmp_path):
    held_out = []
    for place in ("here", "elsewhere"):
        (tmp_path / place).mkdir()
        files = [str(write_documents(tmp_path / place / f"{n}.txt", documents=60, seed=n)) for n in range(2)]
        held_out.append([page.paragraphs for page in split_text(files).held_out])
    assert held_out[0] == held_out[1]


@pytest.mark.parametrize("content", ["One line of text that is all there is.\n", "Few words.\n\n" * 90])
def test_too_little_text_is_refused(tmp_path, content):
    (tmp_path / "a.txt").write_text(content)
    with pytest.raises(DataError, match="expected two or more; give more text or more files"):
        split_text([str(tmp_path / "a.txt")])


def test_without_files_the_documentation_on_this_machine_is_taken(monkeypatch):
    prose = "this paragraph is long enough to be put into a class"
    pages = [Page(f"{family}/{n}", family, (f"{prose} {n}",)) for family in ("numpy.ma", "torch.nn") for n in range(80)]
    monkeypatch.setattr(quickstart_text, "python_pages", lambda: iter(pages))
    text = split_text([])
    assert text.families == ["numpy.ma", "torch.nn"]
    assert 0 < len(text.held_out) < len(text.train)
