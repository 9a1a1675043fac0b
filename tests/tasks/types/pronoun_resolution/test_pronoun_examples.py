"""Pairs of sentences and spans → pronouns and candidates."""

import json

import pytest

from litebert.errors import DataError
from litebert.tasks.labelled_data import Example
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.columns import Columns
from litebert.tasks.types.pronoun_resolution.pronoun_examples import align, noun_phrases, pronoun_examples
from litebert.tasks.types.task_type import ReadOptions

TROPHY = "The trophy is not in the brown case because it is too big."
FOLLOWS = "Steve follows Fred's example. He admires his work."


@pytest.mark.parametrize(
    ("text", "hypothesis", "pronoun", "phrase"),
    [
        (TROPHY, "The trophy is too big.", "it", "The trophy"),
        (TROPHY, "The brown case is too big.", "it", "The brown case"),
        (FOLLOWS, "Steve admires his work.", "He", "Steve"),
        (FOLLOWS, "He admires Fred's work.", "his", "Fred's"),
        ("The twins came and their mother left.", "The twins' mother left.", "their", "The twins'"),
        ("I saw the dog. I fed it", "I fed the dog", "it", "the dog"),
        ("Ann left because it's late, and she is tired.", "Ann is tired.", "she", "Ann"),
        ("The drain is blocked. It's the hair.", "The drain the hair.", "It", "The drain"),
        ("no such word here", "some phrase here", "here", "some phrase here"),
        ("", "some phrase", "", "some phrase"),
    ],
)
def test_alignment_finds_the_pronoun_and_the_phrase_in_its_place(text, hypothesis, pronoun, phrase):
    (start, end), found = align(text, hypothesis)
    assert (text[start:end], found) == (pronoun, phrase)


def test_noun_phrases_are_names_and_determiners_with_one_or_two_words():
    text = "When Mary Ann took her old hat off, the sheep that she had seen ate a carrot. Bob didn't."
    assert list(noun_phrases(text)) == ["Mary Ann", "the old hat", "the sheep", "the carrot", "Bob"]


def test_pronoun_candidates_are_those_of_the_same_pronoun_and_then_noun_phrases():
    pairs = [
        Example(text=TROPHY, text_pair="The trophy is too big.", target=1),
        Example(text=TROPHY, text_pair="The big shelf is too big.", target=0),
        Example(text=FOLLOWS, text_pair="He admires Fred's work.", target=1),
    ]
    first, second, third = pronoun_examples(pairs)
    assert first.others == ("The big shelf", "the brown case")
    assert second.others == ("The trophy", "the brown case")
    assert third.others == ("Steve's", "the work's")
    assert (first.target, second.target, first.text_pair) == (1, 0, "The trophy")
    assert first.to_text() == TROPHY.replace("because it", "because [it]") + "\nThe trophy"
    assert first.split_key == second.split_key == TROPHY.lower()
    assert first.texts == (TROPHY, "The trophy")


def wsc_row(text, span, pronoun, index, label):
    target = {"span1_text": span, "span1_index": 0, "span2_text": pronoun, "span2_index": index}
    return {"text": text, "target": target, "label": label}


def write_rows(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_rows_of_superglue_are_recognized(tmp_path):
    rows = [wsc_row(TROPHY, "The trophy", "it", 9, True), wsc_row(TROPHY, "the brown case", "it", 9, False)]
    data = read_labelled(write_rows(tmp_path / "wsc.jsonl", *rows))
    assert (data.task_type, data.labels) == ("pronoun_resolution", ("0", "1"))
    assert "spans of a phrase and of a pronoun" in data.reason
    first, second = data.examples
    assert TROPHY[slice(*first.pronoun)] == "it"
    assert (first.target, second.target) == (1, 0)
    assert first.others == ("the brown case",)


def test_pairs_of_a_table_are_read_as_pronouns_where_the_task_type_is_set(tmp_path):
    file = tmp_path / "pairs.tsv"
    file.write_text(f"a\tb\tlabel\n{TROPHY}\tThe trophy is too big.\t1\n")
    options = ReadOptions(task_type="pronoun_resolution")
    (example,) = read_labelled(file, Columns(text="a", text_pair="b"), options=options).examples
    assert (example.candidate, example.target, example.others) == ("The trophy", 1, ("the brown case",))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            wsc_row(TROPHY, "The trophy", "it", 99, True),
            r":1: field 'target': 13 words, none at 99; expected span1_text",
        ),
        (wsc_row(TROPHY, "The trophy", "it", 2, True), "'it' is not the word at 2, 'is'"),
        ({**wsc_row(TROPHY, "x", "it", 9, True), "target": {"span2_index": 9}}, "'span2_text'; expected span1_text"),
        (wsc_row(TROPHY, "The trophy", "it", 9, "perhaps"), "unknown label 'perhaps'; expected 0 or 1"),
    ],
)
def test_wrong_rows_are_errors_with_line_and_field(tmp_path, row, message):
    with pytest.raises(DataError, match=message):
        read_labelled(write_rows(tmp_path / "wsc.jsonl", row))


def test_table_without_pairs_and_spans_is_an_error(tmp_path):
    file = tmp_path / "texts.csv"
    file.write_text("text,label\nthe film,1\n")
    with pytest.raises(DataError, match=r"neither the column 'target' of SuperGLUE's WSC nor a second text"):
        read_labelled(file, options=ReadOptions(task_type="pronoun_resolution"))
