"""Encoding and padding of texts."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.encoded import Encoded, Feature, LabelledBatch, pad
from litebert.tasks.labelled_data import Example
from litebert.tasks.questions import Question
from litebert.tasks.types.multiple_choice.choice_examples import ChoiceExample
from litebert.tasks.types.pronoun_resolution.pronoun_examples import PronounExample
from litebert.tasks.types.registry import get_task_type
from litebert.tasks.types.token_classification.token_examples import TokenExample

LONG = "the film was good " * 10
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
    assert inputs.attention_mask.any(axis=0).all(), "no column is all padding"


def test_labelled_batch_moves_to_a_device():
    batch = LabelledBatch(pad([feature_of([5, 6])], pad_id=0).to_tensors(), torch.tensor([1]), num_tokens=2)
    moved = batch.to("meta")
    tensors = (moved.inputs.input_ids, moved.inputs.attention_mask, moved.inputs.token_type_ids, moved.labels)
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert (moved.num_examples, moved.num_tokens) == (1, 2)


@pytest.mark.parametrize(
    ("name", "example"),
    [
        ("classification", Example(text=LONG)),
        ("classification", Example(text="a", text_pair=LONG)),
        ("multiple_choice", ChoiceExample(text=LONG, question=None, options=("a", "b"))),
        ("multiple_choice", ChoiceExample(text="a", question=None, options=("b", LONG))),
        ("pronoun_resolution", PronounExample(text=f"it {LONG}", pronoun=(0, 2), candidate="the film")),
        ("token_classification", TokenExample(words=tuple(LONG.split()))),
        ("extractive_qa", Question(id="a", text="a", context=LONG)),
    ],
)
def test_num_truncated_counts_the_examples_that_lack_tokens(tiny_tokenizer, name, example):
    task_type = get_task_type(name)
    longest = int(
        task_type.inference.encode([example], tiny_tokenizer, task_type.settings(max_length=256)).lengths.max()
    )
    for max_length, expected in ((256, 0), (24, 0 if task_type.windows else 1)):
        settings = task_type.settings(max_length=max_length)
        assert task_type.inference.encode([example], tiny_tokenizer, settings).num_truncated == expected
    assert longest > 24


def test_num_empty_counts_the_choices_whose_options_are_all_empty():
    full, empty = feature_of([2, 5, 3]), replace(feature_of([2, 3]), is_empty=True)
    assert Encoded([(full, empty), (empty, empty), full, empty], [None] * 4, pad_id=0).num_empty == 2


def labels_of(targets):
    features = [Feature(np.array([5], np.int32), np.zeros(1, np.int8)) for _ in targets]
    return Encoded(features, targets, pad_id=0).batch(np.arange(len(targets))).labels


def test_sequences_labels_have_the_dtype_of_the_targets():
    assert labels_of([1, 0]).dtype == torch.int64
    assert labels_of([1.0, 0.5]).dtype == torch.float32
    assert labels_of([(1.0, 0.0), (0.0, 1.0)]).shape == (2, 2)
    assert labels_of([(1.0, 0.0), (0.0, 1.0)]).dtype == torch.float32
