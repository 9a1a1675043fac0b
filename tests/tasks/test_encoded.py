"""Encoding and padding of texts."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.encoded import Encoded, Feature, LabelledBatch, encode_sequences, pad
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import Example

SEQUENCES = st.lists(st.lists(st.integers(5, 99), min_size=1, max_size=9), min_size=1, max_size=5)


def feature_of(ids):
    return Feature(np.array(ids, np.int32), np.array([index % 2 for index in range(len(ids))], np.int8))


@given(SEQUENCES)
def test_pad_masks_padding_only(sequences):
    inputs = pad([feature_of(ids) for ids in sequences], pad_id=0)
    for row, ids in enumerate(sequences):
        assert inputs.input_ids[row][inputs.attention_mask[row]].tolist() == ids
        assert inputs.token_type_ids[row][inputs.attention_mask[row]].tolist() == [i % 2 for i in range(len(ids))]
    assert not inputs.input_ids[~inputs.attention_mask].any()
    assert inputs.attention_mask.any(dim=0).all(), "no column is all padding"


def test_labelled_batch_moves_to_a_device():
    batch = LabelledBatch(pad([feature_of([5, 6])], pad_id=0), torch.tensor([1]), num_tokens=2)
    moved = batch.to("meta")
    tensors = (moved.inputs.input_ids, moved.inputs.attention_mask, moved.inputs.token_type_ids, moved.labels)
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert (moved.num_examples, moved.num_tokens) == (1, 2)


def test_encode_sequences_equals_the_tokenizer(tiny_tokenizer):
    examples = [Example(text="the film", target=1), Example(text="the film was good", text_pair="a movie", target=0)]
    encoded = encode_sequences(examples, tiny_tokenizer, InputSettings(max_length=32))
    for example, feature in zip(examples, encoded.features, strict=True):
        expected = tiny_tokenizer.encode_pair(example.text, example.text_pair, max_length=32)
        assert feature.input_ids.tolist() == expected.input_ids
    assert (len(encoded), encoded.num_examples) == (2, 2)
    assert encoded.lengths.tolist() == [len(feature.input_ids) for feature in encoded.features]
    assert encoded.batch(np.array([1, 0])).labels.tolist() == [0, 1]


def labels_of(targets):
    features = [Feature(np.array([5], np.int32), np.zeros(1, np.int8)) for _ in targets]
    return Encoded(features, targets, pad_id=0).batch(np.arange(len(targets))).labels


def test_sequences_labels_have_the_dtype_of_the_targets():
    assert labels_of([1, 0]).dtype == torch.int64
    assert labels_of([1.0, 0.5]).dtype == torch.float32
    assert labels_of([(1.0, 0.0), (0.0, 1.0)]).shape == (2, 2)
    assert labels_of([(1.0, 0.0), (0.0, 1.0)]).dtype == torch.float32


def test_encode_sequences_needs_no_targets(tiny_tokenizer):
    encoded = encode_sequences([Example(text="the film")], tiny_tokenizer, InputSettings(max_length=32))
    assert encoded.inputs(np.array([0])).attention_mask.all()
