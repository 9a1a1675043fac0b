"""Features and padding: masks tell real tokens, nothing is lost between texts and tensors."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.features import Feature, LabelledBatch, encode, pad

SEQUENCES = st.lists(st.lists(st.integers(5, 99), min_size=1, max_size=9), min_size=1, max_size=5)


def feature_of(ids):
    return Feature(np.array(ids, np.int32), np.array([index % 2 for index in range(len(ids))], np.int8))


@given(SEQUENCES)
def test_padding_hides_nothing_and_attends_to_nothing_else(sequences):
    inputs = pad([feature_of(ids) for ids in sequences], pad_id=0)
    for row, ids in enumerate(sequences):
        assert inputs.input_ids[row][inputs.attention_mask[row]].tolist() == ids
        assert inputs.token_type_ids[row][inputs.attention_mask[row]].tolist() == [i % 2 for i in range(len(ids))]
    assert not inputs.input_ids[~inputs.attention_mask].any()
    assert inputs.attention_mask.any(dim=0).all(), "no column is all padding"


def test_encoding_is_that_of_the_tokenizer_for_one_text_and_for_two(tiny_tokenizer):
    texts = [("a good film", None), ("a bad film", "so long, so dull"), ("x " * 50, "y " * 50)]
    for (first, second), feature in zip(texts, encode(texts, tiny_tokenizer, max_length=16), strict=True):
        expected = tiny_tokenizer.encode_pair(first, second, max_length=16)
        assert feature.input_ids.tolist() == expected.input_ids
        assert feature.token_type_ids.tolist() == expected.token_type_ids
        assert len(feature.input_ids) <= 16


def test_a_batch_moves_as_a_whole():
    batch = LabelledBatch(pad([feature_of([5, 6])], pad_id=0), torch.tensor([1]), num_tokens=2)
    moved = batch.to("meta")
    tensors = (moved.inputs.input_ids, moved.inputs.attention_mask, moved.inputs.token_type_ids, moved.labels)
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert (moved.num_examples, moved.num_tokens) == (1, 2)
