"""The paper's intrinsic development set."""

import json
from pathlib import Path

import pytest

from litebert.corpus.sources.reading_comprehension import write_passages
from litebert.errors import ConfigError, DataError


def write_squad(path: Path, *contexts) -> Path:
    paragraphs = [{"context": context, "qas": []} for context in contexts]
    path.write_text(json.dumps({"version": "1.1", "data": [{"title": "T", "paragraphs": paragraphs}]}))
    return path


def write_race(directory: Path, *articles) -> Path:
    for number, article in enumerate(articles):
        file = directory / ("high", "middle")[number % 2] / f"{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"article": article, "questions": []}))
    return directory


def test_write_passages_writes_every_passage_once(tmp_path):
    squad = [
        write_squad(tmp_path / "dev-v1.1.json", "One. Two.", "Three."),
        write_squad(tmp_path / "dev-v2.0.json", "Three. ", "Four."),
    ]
    race = [write_race(tmp_path / "dev", "Five.\nSix.", "One.  Two.", " ")]
    report = write_passages(squad, race, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == "One. Two.\n\nThree.\n\nFour.\n\nFive.\nSix.\n"
    assert report.counts == {
        "RACE passages": 3,
        "SQuAD passages": 4,
        "duplicate passages": 2,
        "passages without text": 1,
    }


@pytest.mark.parametrize("source", ["squad", "race"])
def test_write_passages_needs_only_one_source(tmp_path, source):
    squad, race = [write_squad(tmp_path / "s.json", "One.")], [write_race(tmp_path / "dev", "Two.")]
    report = write_passages(squad * (source == "squad"), race * (source == "race"), tmp_path / "out.txt")
    assert report.documents == 1


def test_write_passages_without_files_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="no input"):
        write_passages([], [], tmp_path / "out.txt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{\n"data": [,]}', r"s\.json: .*Invalid JSON: .* at line 2"),
        (b'{"data": "\xe9"}', r"s\.json: .*Invalid JSON: invalid unicode .* column 11"),
        (b'{"rows": []}', r"s\.json: data: .*expected a SQuAD file"),
        (b"[]", r"s\.json: .*expected a SQuAD file"),
        (
            b'{"data": [{"paragraphs": [{"context": 7}]}]}',
            r"data\.0\.paragraphs\.0\.context: .* valid string",
        ),
    ],
)
def test_squad_invalid_file_is_refused(tmp_path, content, message):
    (tmp_path / "s.json").write_bytes(content)
    with pytest.raises(DataError, match=message):
        write_passages([tmp_path / "s.json"], [], tmp_path / "out.txt")


@pytest.mark.parametrize("content", ["[]", '{"text": "a"}', '{"article": 7}', "{"])
def test_race_invalid_file_is_refused(tmp_path, content):
    (tmp_path / "1.txt").write_text(content)
    with pytest.raises(DataError, match=r"1\.txt"):
        write_passages([], [tmp_path / "1.txt"], tmp_path / "out.txt")


def test_race_refuses_an_empty_directory_and_a_missing_file(tmp_path):
    (tmp_path / "dev").mkdir()
    with pytest.raises(DataError, match="no RACE files here"):
        write_passages([], [tmp_path / "dev"], tmp_path / "out.txt")
    with pytest.raises(DataError, match="cannot be read"):
        write_passages([tmp_path / "none.json"], [], tmp_path / "out.txt")
