"""Encoding of words with labels at their first tokens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError
from litebert.model.losses import NO_LABEL
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.types.token_classification.token_examples import TokenExample, encode_words

SETTINGS = InputSettings(max_length=32)
WORDS = st.lists(st.sampled_from(["film", "the", "wonderful", "x", "1999", "\u200b"]), max_size=30)


@given(st.lists(WORDS, min_size=1, max_size=4), st.integers(5, 20))
def test_token_sequences_cover_every_word_once_for_any_max_length(tiny_tokenizer, sentences, max_length):
    examples = [TokenExample(words=tuple(words), target=tuple(range(len(words)))) for words in sentences]
    encoded = encode_words(examples, tiny_tokenizer, InputSettings(max_length=max_length))
    assert encoded.lengths.max() <= max_length
    assert encoded.num_examples == len(examples)
    # The label of a word, spelt as logits at its first piece, comes back in its place
    outputs = []
    for index in range(len(encoded)):
        labels = encoded.batch(np.array([index])).labels[0].numpy()
        outputs.append(np.eye(40)[np.where(labels == NO_LABEL, 39, labels)])
    for example, given_back in zip(examples, encoded.by_example(outputs), strict=True):
        assert given_back.argmax(-1).tolist() == list(example.target)


def test_token_sequence_of_a_short_sentence_is_cls_words_sep(tiny_tokenizer):
    encoded = encode_words([TokenExample(words=("the", "film"), target=(1, 0))], tiny_tokenizer, SETTINGS)
    ids = [*tiny_tokenizer.encode("the"), *tiny_tokenizer.encode("film")]
    batch = encoded.batch(np.array([0]))
    assert batch.inputs.input_ids.tolist() == [[tiny_tokenizer.cls_id, *ids, tiny_tokenizer.sep_id]]
    assert batch.labels[0, 1] == 1
    assert int((batch.labels != NO_LABEL).sum()) == 2
    assert batch.num_tokens == len(ids) + 2


def test_encode_words_needs_no_labels(tiny_tokenizer):
    encoded = encode_words([TokenExample(words=("the", "film"))], tiny_tokenizer, SETTINGS)
    assert encoded.inputs(np.array([0])).attention_mask.all()


def test_token_sequences_fingerprint_depends_on_words_and_labels(tiny_tokenizer):
    def fingerprint(words, tags):
        return encode_words([TokenExample(words=words, target=tags)], tiny_tokenizer, SETTINGS).fingerprint

    assert len({fingerprint(("the",), (0,)), fingerprint(("the",), (1,)), fingerprint(("film",), (0,))}) == 3


def test_encode_words_rejects_a_max_length_without_a_word(tiny_tokenizer):
    with pytest.raises(ConfigError, match="max_length: 2 is too short for a word"):
        encode_words(
            [TokenExample(words=("a",), target=(0,))], tiny_tokenizer, InputSettings.model_construct(max_length=2)
        )
