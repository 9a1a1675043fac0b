"""Fingerprints of labelled data: every part of an example that is trained on changes them."""

from pathlib import Path

import pytest

from litebert.tasks.labelled_data import Example, LabelledData
from litebert.tasks.questions import GoldAnswer, Question
from litebert.tasks.types.multiple_choice.choice_examples import ChoiceExample
from litebert.tasks.types.pronoun_resolution.pronoun_examples import PronounExample
from litebert.tasks.types.token_classification.token_examples import TokenExample

IT = "it saw it"


def question(text="who", context="ann saw ann", **answer):
    return Question(id="a", text=text, context=context, answers=(GoldAnswer(**{"text": "ann", "start": 0} | answer),))


OTHERS = {
    "text": [Example(text="a", target=0), Example(text="b", target=0), Example(text="a", target=1)],
    "pair": [Example(text="a", text_pair="b", target=0), Example(text="a", text_pair="c", target=0)],
    "choice": [
        ChoiceExample(text="a", question="b", options=options, target=target)
        for options, target in ((("c", "d"), 0), (("c", "d"), 1), (("d", "c"), 0))
    ],
    "words": [TokenExample(words=words, target=(0, 1)) for words in (("a", "b"), ("b", "a"))],
    "pronoun": [PronounExample(text=IT, pronoun=span, candidate="ann", target=1) for span in ((0, 2), (7, 9))],
    "question": [
        question(),
        question(start=8),
        question(text="whom"),
        question(context="ann saw ann ."),
        Question(id="a", text="who", context="ann saw ann"),
    ],
}


def fingerprint(*examples, labels=None):
    data = LabelledData(Path("rows"), "classification", examples, labels, reason="")
    return data.fingerprint


@pytest.mark.parametrize("kind", OTHERS)
def test_fingerprint_depends_on_everything_that_is_trained_on(kind):
    found = {fingerprint(each) for each in OTHERS[kind]}
    assert len(found) == len(OTHERS[kind])
    assert fingerprint(OTHERS[kind][0]) in found


def test_fingerprint_depends_on_labels_and_order():
    one, other = OTHERS["text"][:2]
    assert len({fingerprint(one, other), fingerprint(other, one), fingerprint(one, other, labels=("x",))}) == 3
