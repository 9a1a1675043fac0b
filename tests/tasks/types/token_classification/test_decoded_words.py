"""Labels, entities, positions and probabilities of running texts and of lists of words."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.results import decode_words
from litebert.tasks.types.token_classification.token_examples import TokenExample
from support.models.tolerances import close_to

LABELS = ("O", "B-PER", "I-PER", "B-LOC")
ALPHABET = st.sampled_from("aé1 .,\n🙂\u0301")
texts = st.text(ALPHABET, max_size=30).map(TokenExample.of_text)
lists = st.lists(st.text(ALPHABET, min_size=1, max_size=3), max_size=8).map(lambda x: TokenExample(words=tuple(x)))


def probabilities_of(example, seed):
    return np.random.default_rng(seed).dirichlet(np.ones(len(LABELS)), len(example.words))


def decoded(example, seed):
    return decode_words(probabilities_of(example, seed), example, LABELS, None)


@given(texts | lists, st.integers(0, 1000))
def test_entities_and_words_slice_to_the_text_or_to_the_list(example, seed):
    prediction = decoded(example, seed)
    sentence = example.words if example.text is None else example.text
    parts = [sentence[start:end] for start, end in prediction.word_spans]
    assert parts == ([(word,) for word in example.words] if example.text is None else list(example.words))
    for entity in prediction.entities:
        part = sentence[entity.start : entity.end]
        assert entity.text == (part if isinstance(part, str) else " ".join(part))


@given(texts | lists, st.integers(0, 1000))
def test_probability_of_an_entity_is_the_mean_of_those_of_the_labels_of_its_words(example, seed):
    prediction = decoded(example, seed)
    assert list(prediction.probabilities) == probabilities_of(example, seed).max(-1).tolist()
    by_word = dict(zip(prediction.word_spans, prediction.probabilities, strict=True))
    for entity in prediction.entities:
        own = [value for (start, end), value in by_word.items() if entity.start <= start and end <= entity.end]
        assert entity.probability == close_to(np.mean(own), torch.float64)


def test_entity_of_a_text_is_its_part_with_the_spaces_between_its_words():
    example = TokenExample.of_text("by  Ada\n Lovelace.")
    prediction = decode_words(np.eye(4)[[0, 1, 2, 0]], example, LABELS, None)
    (entity,) = prediction.entities
    assert (entity.label, entity.text, entity.start, entity.end) == ("PER", "Ada\n Lovelace", 4, 17)
    (listed,) = decode_words(np.eye(4)[[0, 1, 2, 0]], TokenExample(words=example.words), LABELS, None).entities
    assert (listed.label, listed.text, listed.start, listed.end) == ("PER", "Ada Lovelace", 1, 3)
