"""Entities as conlleval counts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.metrics.entities import entities, entity_scores

TAGS = st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y", "E-X", "S-Y"]), max_size=12)


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("O B-X I-X O", {("X", 1, 3)}),
        ("B-X B-X", {("X", 0, 1), ("X", 1, 2)}),
        ("I-X I-X I-Y", {("X", 0, 2), ("Y", 2, 3)}),  # IOB1: an entity may begin with I-
        ("B-X I-Y", {("X", 0, 1), ("Y", 1, 2)}),
        ("B-X I-X E-X S-Y", {("X", 0, 3), ("Y", 3, 4)}),  # IOBES
        ("B-X E-X I-X", {("X", 0, 2), ("X", 2, 3)}),
        ("B-a-b I-a-b", {("a-b", 0, 2)}),
        ("B-X I-X L-X U-Y U-Y", {("X", 0, 3), ("Y", 3, 4), ("Y", 4, 5)}),  # BILOU
        ("DET NOUN NOUN O VERB", {("DET", 0, 1), ("NOUN", 1, 3), ("VERB", 4, 5)}),  # types only
        ("-LRB- PRP$", {("-LRB-", 0, 1), ("PRP$", 1, 2)}),
        ("B I O B", {("", 0, 2), ("", 3, 4)}),  # one type without a name
        ("O O", set()),
        ("", set()),
    ],
)
def test_entities_of_every_tagging_scheme(tags, found):
    assert entities(tags.split()) == found


@given(TAGS)
def test_entities_do_not_overlap_and_cover_all_other_labels(tags):
    covered = sorted(index for _, start, end in entities(tags) for index in range(start, end))
    assert covered == [index for index, tag in enumerate(tags) if tag != "O"]


def test_entity_scores_count_exact_boundaries_and_types():
    true = [["B-X", "I-X", "O", "B-Y"], ["B-X", "O"]]
    predicted = [["B-X", "I-X", "O", "B-X"], ["B-X", "I-X"]]
    assert entity_scores(predicted, true) == {
        "entity_f1": pytest.approx(1 / 3),
        "entity_precision": pytest.approx(1 / 3),
        "entity_recall": pytest.approx(1 / 3),
    }


@given(st.lists(TAGS, min_size=1, max_size=4))
def test_entity_scores_of_perfect_and_empty_predictions(sentences):
    nothing = [["O"] * len(tags) for tags in sentences]
    has_entities = any(entities(tags) for tags in sentences)
    assert entity_scores(sentences, sentences)["entity_f1"] == float(has_entities)
    assert entity_scores(nothing, sentences)["entity_f1"] == 0


def test_letters_alone_are_types_among_tags_without_prefixes():
    """As in the XPOS tags of Italian: S, V, E, B."""
    tags = ["S", "V", "E", "B"]
    assert entities(tags, letters=False) == {(tag, place, place + 1) for place, tag in enumerate(tags)}
    assert entity_scores([tags], [["B", "V", "E", "S"]])["entity_f1"] == 0.5
    assert entity_scores([["B", "E", "S"]], [["B", "M", "E"]])["entity_f1"] == 0.0  # word segmentation: prefixes
