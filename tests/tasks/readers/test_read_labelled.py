"""The ending of a file's name tells how it is read."""

import pytest

from litebert.errors import ConfigError
from litebert.tasks.readers.read_labelled import read_labelled


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("x.csv", "text,label\na,b\nc,d\n", "classification"),
        ("x.tsv", "text\tlabel\na\t0.5\n", "regression"),
        ("x.jsonl", '{"text": "a", "label": ["x"]}\n{"text": "b", "label": ["y"]}\n', "multi_label"),
        ("x.conll", "a O\n", "tokens"),
        ("x.bio", "a O\n", "tokens"),
    ],
)
def test_every_format_is_read_by_its_ending(tmp_path, name, content, kind):
    (tmp_path / name).write_text(content)
    assert read_labelled(tmp_path / name).kind == kind


def test_json_holds_questions_and_nothing_else(tmp_path):
    with pytest.raises(ConfigError, match=r"a \.json file holds questions with answers, not 'tokens'; leave the kind"):
        read_labelled(tmp_path / "x.json", kind="tokens")
