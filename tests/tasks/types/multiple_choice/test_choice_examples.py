"""Encoding of questions with options."""

import numpy as np
import pytest

from litebert.tasks.input_settings import InputSettings
from litebert.tasks.types.multiple_choice.choice_examples import (
    MAX_ANSWER_LENGTH,
    ChoiceExample,
    encode_choices,
    fill_blank,
)


@pytest.mark.parametrize(
    ("question", "option", "text"),
    [
        ("Ann is _ today.", "ill", "Ann is ill today."),
        ("_ and _?", "x", "x and x?"),
        ("Who is it?", "Ann", "Who is it? Ann"),
        (None, "Ann", "Ann"),
        ("", "Ann", "Ann"),
    ],
)
def test_fill_blank_puts_the_option_into_the_blank_or_after_the_question(question, option, text):
    assert fill_blank(question, option) == text


def test_encode_choices_has_the_text_as_first_segment(tiny_tokenizer):
    example = ChoiceExample(text="the film was good", question="the film was _", options=("good", "awful"), target=0)
    encoded = encode_choices([example], tiny_tokenizer, InputSettings(max_length=64))
    for option, feature in zip(example.options, encoded.features[0], strict=True):
        expected = tiny_tokenizer.encode_pair(example.text, f"the film was {option}", max_length=64)
        assert feature.input_ids.tolist() == expected.input_ids
        assert feature.token_type_ids.tolist() == expected.token_type_ids


def test_encode_choices_truncates_answer_and_text(tiny_tokenizer):
    text, question, option = "the film was good " * 60, "this story felt dull " * 60, "is awful"
    example = ChoiceExample(text=text, question=question, options=(option, "x"), target=0)
    (features,) = encode_choices([example], tiny_tokenizer, InputSettings(max_length=200)).features
    answer = tiny_tokenizer.encode(f"{question} {option}")[-MAX_ANSWER_LENGTH:]
    expected_text = tiny_tokenizer.encode(text)[: 200 - 3 - MAX_ANSWER_LENGTH]
    special = (tiny_tokenizer.cls_id, tiny_tokenizer.sep_id)
    assert features[0].input_ids.tolist() == [special[0], *expected_text, special[1], *answer, special[1]]
    assert features[0].token_type_ids.sum() == MAX_ANSWER_LENGTH + 1


def test_an_answer_that_is_cut_is_counted_as_truncated(tiny_tokenizer):
    long = "this story felt dull " * 60
    examples = [ChoiceExample(text="x", question=long, options=("a", "b"), target=0)]
    assert encode_choices(examples, tiny_tokenizer, InputSettings(max_length=400)).num_truncated == 1
    examples = [ChoiceExample(text="x", question="y", options=("a", "b"), target=0)]
    assert encode_choices(examples, tiny_tokenizer, InputSettings(max_length=400)).num_truncated == 0


def test_choices_batch_has_a_sequence_for_each_option(tiny_tokenizer):
    options = ("good", "a bad one", "x")
    examples = [ChoiceExample(text="the film", question=None, options=options, target=n) for n in (2, 0)]
    encoded = encode_choices(examples, tiny_tokenizer, InputSettings(max_length=32))
    batch = encoded.batch(np.array([1, 0]))
    assert batch.inputs.input_ids.shape[:2] == (2, 3)
    assert batch.labels.tolist() == [0, 2]
    assert batch.num_tokens == int(batch.inputs.attention_mask.sum())
    assert (len(encoded), encoded.num_examples) == (2, 2)


def test_choices_example_length_is_that_of_the_longest_option_whatever_their_number(tiny_tokenizer):
    examples = [ChoiceExample(text="the film", question=None, options=("x", "a bad one"), target=0)]
    encoded = encode_choices(examples, tiny_tokenizer, InputSettings(max_length=32))
    longest = max(len(feature.input_ids) for feature in encoded.features[0])
    assert encoded.example_lengths.tolist() == [longest]
    assert encoded.lengths.tolist() == [2 * longest]


def test_choices_fingerprint_depends_on_ids_and_targets(tiny_tokenizer):
    def fingerprint(text, target):
        example = ChoiceExample(text=text, question=None, options=("good", "bad"), target=target)
        return encode_choices([example], tiny_tokenizer, InputSettings(max_length=32)).fingerprint

    assert len({fingerprint("the film", 0), fingerprint("the film", 1), fingerprint("the music", 0)}) == 3
