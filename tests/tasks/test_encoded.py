"""Texts and pairs as the model reads them."""

import numpy as np
import torch

from litebert.tasks.encoded import Sequences, encode_sequences
from litebert.tasks.features import Feature
from litebert.tasks.labelled_data import Example


def test_examples_become_sequences_in_their_order(tiny_tokenizer):
    examples = [Example("the film", None, 1), Example("the film was good", "a movie", 0)]
    encoded = encode_sequences(examples, tiny_tokenizer, max_length=32)
    for example, feature in zip(examples, encoded.features, strict=True):
        expected = tiny_tokenizer.encode_pair(example.text, example.text_pair, max_length=32)
        assert feature.input_ids.tolist() == expected.input_ids
    assert (len(encoded), encoded.num_examples) == (2, 2)
    assert encoded.lengths.tolist() == [len(feature.input_ids) for feature in encoded.features]
    assert encoded.batch(np.array([1, 0])).labels.tolist() == [0, 1]


def labels_of(targets):
    features = [Feature(np.array([5], np.int32), np.zeros(1, np.int8)) for _ in targets]
    return Sequences(features, targets, pad_id=0).batch(np.arange(len(targets))).labels


def test_targets_are_integers_for_labels_and_floats_for_scores_and_sets():
    assert labels_of([1, 0]).dtype == torch.int64
    assert labels_of([1.0, 0.5]).dtype == torch.float32
    assert labels_of([(1.0, 0.0), (0.0, 1.0)]).shape == (2, 2)
    assert labels_of([(1.0, 0.0), (0.0, 1.0)]).dtype == torch.float32


def test_examples_without_a_target_can_be_read(tiny_tokenizer):
    encoded = encode_sequences([Example("the film", None, None)], tiny_tokenizer, max_length=32)
    assert encoded.inputs(np.array([0])).attention_mask.all()
