"""Options as the original reads them: the blank filled, the end of question and option kept."""

import numpy as np
import pytest

from litebert.tasks.labelled_data import ChoiceExample
from litebert.tasks.types.multiple_choice import LONGEST_ANSWER, encode_choices, filled


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
def test_the_option_goes_into_the_blank_or_behind_the_question(question, option, text):
    assert filled(question, option) == text


def test_text_is_the_first_segment_and_question_with_option_the_second(tiny_tokenizer):
    example = ChoiceExample("the film was good", "the film was _", ("good", "awful"), 0)
    encoded = encode_choices([example], tiny_tokenizer, max_length=64)
    for option, feature in zip(example.options, encoded.features[0], strict=True):
        expected = tiny_tokenizer.encode_pair(example.text, f"the film was {option}", max_length=64)
        assert feature.input_ids.tolist() == expected.input_ids
        assert feature.token_type_ids.tolist() == expected.token_type_ids


def test_the_last_128_pieces_of_the_answer_stay_and_the_text_is_cut_from_its_end(tiny_tokenizer):
    text, question, option = "the film was good " * 60, "this story felt dull " * 60, "is awful"
    (features,) = encode_choices(
        [ChoiceExample(text, question, (option, "x"), 0)], tiny_tokenizer, max_length=200
    ).features
    answer = tiny_tokenizer.encode(f"{question} {option}")[-LONGEST_ANSWER:]
    expected_text = tiny_tokenizer.encode(text)[: 200 - 3 - LONGEST_ANSWER]
    special = (tiny_tokenizer.cls_id, tiny_tokenizer.sep_id)
    assert features[0].input_ids.tolist() == [special[0], *expected_text, special[1], *answer, special[1]]
    assert features[0].token_type_ids.sum() == LONGEST_ANSWER + 1


def test_a_batch_holds_a_row_for_each_option(tiny_tokenizer):
    examples = [ChoiceExample("the film", None, ("good", "a bad one", "x"), n) for n in (2, 0)]
    encoded = encode_choices(examples, tiny_tokenizer, max_length=32)
    batch = encoded.batch(np.array([1, 0]))
    assert batch.inputs.input_ids.shape[:2] == (2, 3)
    assert batch.labels.tolist() == [0, 2]
    assert batch.num_tokens == int(batch.inputs.attention_mask.sum())
    assert (len(encoded), encoded.num_examples) == (2, 2)
    assert encoded.lengths.tolist() == [3 * max(len(one.input_ids) for one in each) for each in encoded.features]


def test_the_fingerprint_follows_ids_and_targets(tiny_tokenizer):
    def fingerprint(text, target):
        example = ChoiceExample(text, None, ("good", "bad"), target)
        return encode_choices([example], tiny_tokenizer, max_length=32).fingerprint

    assert len({fingerprint("the film", 0), fingerprint("the film", 1), fingerprint("the music", 0)}) == 3
