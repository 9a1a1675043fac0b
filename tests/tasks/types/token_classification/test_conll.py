"""CoNLL columns."""

import pytest

from litebert.errors import DataError
from litebert.tasks.types.task_type import ReadOptions
from litebert.tasks.types.token_classification.conll import read_conll
from litebert.tasks.types.token_classification.token_examples import token_labels

NEWS = "-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n\nPeter NNP B-NP B-PER\n"


def conll(directory, text, **options):
    path = directory / "train.conll"
    path.write_text(text)
    return read_conll(path, ReadOptions(**options))


@pytest.mark.parametrize("separator", [" ", "\t", "   "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_conll_words_are_in_the_first_column_and_labels_in_the_last(tmp_path, separator, end):
    data = conll(tmp_path, NEWS.replace(" ", separator).replace("\n", end))
    assert [example.words for example in data.examples] == [("EU", "rejects"), ("Peter",)]
    assert data.labels == ("O", "B-ORG", "B-PER")
    assert [example.target for example in data.examples] == [(1, 0), (2,)]


def test_token_labels_start_with_o():
    assert token_labels(["B-X", "O", "A", "B-X"]) == ("O", "A", "B-X")


def test_conll_last_sentence_needs_no_blank_line_after_it(tmp_path):
    assert len(conll(tmp_path, "a O\n\nb B-X").examples) == 2


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a O\nb\n", {}, r"train\.conll:2: 1 columns, expected 2; write one word a line"),
        ("a\n", {}, r"train\.conll:1: 1 columns, expected a word and its label"),
        ("a\tO\nb\t \n", {}, r"train\.conll:2: field 'tag': the word or its label is empty"),
        ("-DOCSTART- O\n", {}, r"train\.conll: no sentences"),
        (
            "a O\nb B-PERS\n",
            {"labels": ("O", "B-PER")},
            r"train\.conll:2: field 'tag': unknown label 'B-PERS' \(did you mean 'B-PER'\?\)",
        ),
    ],
)
def test_conll_errors_name_file_and_line(tmp_path, text, options, message):
    with pytest.raises(DataError, match=message):
        conll(tmp_path, text, **options)
