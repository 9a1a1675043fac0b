import numpy as np

from litebert.corpus.format.shards import Vocabulary


def test_vocabulary_of_a_tokenizer(tokenizer):
    vocabulary = Vocabulary.of(tokenizer)
    assert vocabulary.size == tokenizer.vocab_size
    assert (vocabulary.cls_id, vocabulary.mask_id) == (tokenizer.cls_id, tokenizer.mask_id)
    assert np.array_equal(vocabulary.word_starts, tokenizer.word_starts)


def test_vocabulary_non_special_ids():
    vocabulary = Vocabulary(pad_id=5, unk_id=0, cls_id=2, sep_id=3, mask_id=7, word_starts=np.ones(9, dtype=bool))
    assert vocabulary.non_special_ids.tolist() == [1, 4, 6, 8]
