"""The text of a quickstart: split by documents, labelled by source."""

import json

import pytest

from litebert.commands.quickstart import quickstart_text
from litebert.commands.quickstart.quickstart_text import MAX_DEV_ROWS, MAX_TRAIN_ROWS, Page, TextFiles, split_text
from litebert.errors import DataError
from support.data.texts import write_documents


def written(tmp_path, text):
    files = TextFiles(tmp_path / "text")
    files.write(text, seed=0)
    paths = (files.train, files.validation, files.labelled_train, files.labelled_dev)
    return [[json.loads(line) for line in path.read_text().splitlines()] for path in paths]


def test_split_text_puts_no_document_into_both_splits(tmp_path):
    files = [str(write_documents(tmp_path / f"{n}.txt", documents=30, seed=n)) for n in range(2)]
    train, validation, labelled_train, labelled_dev = written(tmp_path, split_text(files))
    names = [{row["name"] for row in rows} for rows in (train, validation)]
    assert names[0].isdisjoint(names[1])
    assert len(names[0] | names[1]) == 60
    assert {row["document"] for row in labelled_train} <= names[0]
    assert {row["document"] for row in labelled_dev} <= names[1]


def test_split_text_of_several_files_uses_the_files_as_labels(tmp_path):
    files = [str(write_documents(tmp_path / f"{n}.txt", documents=25, seed=n)) for n in range(3)]
    for rows in written(tmp_path, split_text(files))[2:]:
        assert {row["label"] for row in rows} == {"0.txt", "1.txt", "2.txt"}


def test_files_of_equal_names_are_labelled_by_their_folders_too(tmp_path):
    for place in ("en", "de"):
        (tmp_path / place).mkdir()
        write_documents(tmp_path / place / "text.txt", documents=25, seed=len(place) + ord(place[0]))
    files = [str(tmp_path / place / "text.txt") for place in ("en", "de")]
    assert split_text(files).labels == ["de/text.txt", "en/text.txt"]
    (tmp_path / "deutsch.txt").symlink_to(files[1])
    assert split_text([files[0], str(tmp_path / "deutsch.txt")]).labels == ["deutsch.txt", "text.txt"]


def test_split_text_of_one_file_uses_its_parts_as_labels(tmp_path):
    text = split_text([str(write_documents(tmp_path / "a.txt", documents=60))])
    assert text.labels == ["part 1", "part 2", "part 3", "part 4"]


@pytest.mark.parametrize("documents", [1, 2, 39])
def test_split_text_cuts_few_documents_into_blocks_without_losing_lines(tmp_path, documents):
    path = write_documents(tmp_path / "a.txt", documents=documents, lines=100)
    text = split_text([str(path)])
    assert text.validation
    lines = [line for page in (*text.train, *text.validation) for line in page.paragraphs]
    assert sorted(lines) == sorted(filter(None, path.read_text().splitlines()))


@pytest.mark.parametrize("seed", range(8))
def test_split_text_has_validation_documents_of_every_file(tmp_path, seed):
    files = [str(write_documents(tmp_path / f"{seed}-{n}.txt", documents=3, lines=20)) for n in range(2)]
    assert len(split_text(files).labels) == 2


def test_text_files_have_at_most_the_maximum_of_rows_per_label(tmp_path):
    files = [str(write_documents(tmp_path / f"{n}.txt", documents=150, seed=n)) for n in range(2)]
    *_, labelled_train, labelled_dev = written(tmp_path, split_text(files))
    counts = [len([row for row in rows if row["label"] == "0.txt"]) for rows in (labelled_train, labelled_dev)]
    assert counts[0] == MAX_TRAIN_ROWS
    assert 0 < counts[1] <= MAX_DEV_ROWS


def test_text_files_choose_labelled_rows_by_the_seed(tmp_path):
    text = split_text([str(write_documents(tmp_path / f"{n}.txt", documents=100, seed=n)) for n in range(2)])
    contents = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        files = TextFiles(tmp_path / name)
        files.write(text, seed=seed)
        contents.append(files.labelled_train.read_text())
    assert contents[0] == contents[1] != contents[2]


def test_split_text_does_not_depend_on_the_directory(tmp_path):
    validation = []
    for place in ("here", "elsewhere"):
        (tmp_path / place).mkdir()
        files = [str(write_documents(tmp_path / place / f"{n}.txt", documents=60, seed=n)) for n in range(2)]
        validation.append([page.paragraphs for page in split_text(files).validation])
    assert validation[0] == validation[1]


@pytest.mark.parametrize("content", ["One line of text that is all there is.\n", "Few words.\n\n" * 90])
def test_split_text_refuses_too_little_text(tmp_path, content):
    (tmp_path / "a.txt").write_text(content)
    with pytest.raises(DataError, match="expected two or more; give more text or more files"):
        split_text([str(tmp_path / "a.txt")])


def test_split_text_without_files_uses_the_python_documentation(monkeypatch):
    prose = "this paragraph is long enough to be put into a class"
    pages = [Page(f"{label}/{n}", label, (f"{prose} {n}",)) for label in ("numpy.ma", "torch.nn") for n in range(80)]
    monkeypatch.setattr(quickstart_text, "python_pages", lambda: iter(pages))
    text = split_text([])
    assert text.labels == ["numpy.ma", "torch.nn"]
    assert 0 < len(text.validation) < len(text.train)
