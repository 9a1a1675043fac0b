"""CoNLL columns: sentences, words and tags as they stand, nothing guessed."""

import pytest

from litebert.errors import DataError
from litebert.tasks.readers.conll import read_conll, tag_names

NEWS = "-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n\nPeter NNP B-NP B-PER\n"


def conll(directory, text, **options):
    path = directory / "train.conll"
    path.write_text(text)
    return read_conll(path, **options)


@pytest.mark.parametrize("separator", [" ", "\t", "   "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_words_are_first_and_tags_last_whatever_stands_between(tmp_path, separator, end):
    data = conll(tmp_path, NEWS.replace(" ", separator).replace("\n", end))
    assert [example.words for example in data.examples] == [("EU", "rejects"), ("Peter",)]
    assert data.labels == ("O", "B-ORG", "B-PER")
    assert [example.tags for example in data.examples] == [(1, 0), (2,)]
    assert data.kind == "tokens"


def test_the_tag_for_nothing_comes_first():
    assert tag_names(["B-X", "O", "A", "B-X"]) == ("O", "A", "B-X")


def test_the_last_sentence_needs_no_blank_line_behind_it(tmp_path):
    assert len(conll(tmp_path, "a O\n\nb B-X").examples) == 2


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a O\nb\n", {}, r"train\.conll:2: 1 columns, expected 2; one word a line"),
        ("a\n", {}, r"train\.conll:1: 1 columns, expected a word and its tag"),
        ("a\tO\nb\t \n", {}, r"train\.conll:2: field 'tag': the word or its tag is empty"),
        ("-DOCSTART- O\n", {}, r"train\.conll: no sentences"),
        (
            "a O\nb B-PERS\n",
            {"labels": ("O", "B-PER")},
            r"train\.conll:2: field 'tag': unknown label 'B-PERS' \(did you mean 'B-PER'\?\)",
        ),
    ],
)
def test_what_is_not_as_it_should_be_is_refused_with_its_place(tmp_path, text, options, message):
    with pytest.raises(DataError, match=message):
        conll(tmp_path, text, **options)
