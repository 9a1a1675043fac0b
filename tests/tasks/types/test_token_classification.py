"""Words and their labels: every word answered once, at its first piece."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError
from litebert.tasks.labelled_data import TaggedExample
from litebert.tasks.types.token_classification import NO_LABEL, encode_tokens

WORDS = st.lists(st.sampled_from(["film", "the", "wonderful", "x", "1999", "\u200b"]), min_size=1, max_size=30)


@given(st.lists(WORDS, min_size=1, max_size=4), st.integers(5, 20))
def test_every_word_is_answered_once_whatever_the_longest_length(tiny_tokenizer, sentences, max_length):
    examples = [TaggedExample(tuple(words), tuple(range(len(words)))) for words in sentences]
    encoded = encode_tokens(examples, tiny_tokenizer, max_length=max_length)
    assert encoded.lengths.max() <= max_length
    assert encoded.num_examples == len(examples)
    # The label of a word, spelt as logits at its first piece, comes back in its place
    outputs = []
    for index in range(len(encoded)):
        labels = encoded.batch(np.array([index])).labels[0].numpy()
        outputs.append(np.eye(40)[np.where(labels == NO_LABEL, 39, labels)])
    for example, given_back in zip(examples, encoded.by_example(outputs), strict=True):
        assert given_back.argmax(-1).tolist() == list(example.tags)


def test_a_sentence_that_fits_is_one_sequence_with_special_tokens_around_it(tiny_tokenizer):
    encoded = encode_tokens([TaggedExample(("the", "film"), (1, 0))], tiny_tokenizer, max_length=32)
    ids = [*tiny_tokenizer.encode("the"), *tiny_tokenizer.encode("film")]
    batch = encoded.batch(np.array([0]))
    assert batch.inputs.input_ids.tolist() == [[tiny_tokenizer.cls_id, *ids, tiny_tokenizer.sep_id]]
    assert batch.labels[0, 1] == 1
    assert int((batch.labels != NO_LABEL).sum()) == 2
    assert batch.num_tokens == len(ids) + 2


def test_words_need_no_tags_to_be_read(tiny_tokenizer):
    encoded = encode_tokens([TaggedExample(("the", "film"), None)], tiny_tokenizer, max_length=32)
    assert encoded.inputs(np.array([0])).attention_mask.all()


def test_the_fingerprint_follows_words_and_tags(tiny_tokenizer):
    def fingerprint(words, tags):
        return encode_tokens([TaggedExample(words, tags)], tiny_tokenizer, max_length=32).fingerprint

    assert len({fingerprint(("the",), (0,)), fingerprint(("the",), (1,)), fingerprint(("film",), (0,))}) == 3


def test_a_length_without_room_for_a_word_is_refused(tiny_tokenizer):
    with pytest.raises(ConfigError, match="max_length: 2 leaves no room for a word"):
        encode_tokens([TaggedExample(("a",), (0,))], tiny_tokenizer, max_length=2)
