"""Windows over contexts, in the layout of google-research/albert."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.types.extractive_qa.windows import Document
from support.data.question_builders import CONTEXT, QUESTIONS, encoded, question

LONG = " ".join(f"{CONTEXT} That quiet ending seemed bright, in {year}." for year in range(1999, 2007))


def windows_of(examples, index):
    return [window for window in examples.windows if window.question == index]


def test_window_is_cls_question_sep_context_sep(tiny_tokenizer):
    examples = encoded(tiny_tokenizer, max_length=96)
    (window,) = windows_of(examples, 1)
    query, document = tiny_tokenizer.encode(QUESTIONS[1].text), tiny_tokenizer.encode(CONTEXT)
    expected = tiny_tokenizer.build_inputs(query, document, max_length=96)
    assert window.feature.input_ids.tolist() == expected.input_ids
    assert window.feature.token_type_ids.tolist() == expected.token_type_ids


def test_window_tokens_give_back_every_answer(tiny_tokenizer):
    examples = encoded(tiny_tokenizer, max_length=96)
    for index, (each, document) in enumerate(zip(QUESTIONS, examples.documents, strict=True)):
        for answer in each.answers:
            ((start, end),) = document.characters_of(np.array([document.tokens_of(answer.span)]))
            assert CONTEXT[start:end] == answer.text
        (window,) = windows_of(examples, index)
        first, last, impossible = examples.targets[examples.windows.index(window)]
        assert bool(impossible) == (not each.answers)
        if each.answers:
            tokens = document.tokens_of(each.answers[0].span)
            ids = window.feature.input_ids[first : last + 1]
            assert ids.tolist() == document.ids[tokens[0] : tokens[1]].tolist()


@pytest.mark.parametrize("max_length", [24, 48, 96])
def test_windows_of_long_contexts_cover_every_question_and_answer(tiny_tokenizer, max_length):
    questions = [
        question(f"q{year}", f"What seemed bright in {year}?", f"{year}", context=LONG) for year in range(2000, 2007)
    ]
    examples = encoded(tiny_tokenizer, questions, max_length=max_length, doc_stride=5, max_query_length=8)
    assert {window.question for window in examples.windows} == set(range(len(questions)))
    answered = {
        window.question for window, label in zip(examples.windows, examples.targets, strict=True) if not label[2]
    }
    assert answered == set(range(len(questions)))
    assert examples.lengths.max() <= max_length
    assert {target for target in examples.targets if target[2]} == {(0, 0, 1)}, "windows without it point at [CLS]"


def test_encoded_questions_count_questions_and_batch_windows(tiny_tokenizer):
    examples = encoded(tiny_tokenizer, [question("q", "Who?", context=LONG)], doc_stride=5)
    assert examples.num_examples == 1
    assert len(examples) == len(examples.windows) > 1
    batch = examples.batch(np.array([0, len(examples) - 1]))
    assert batch.labels.tolist() == [[0, 0, 1], [0, 0, 1]]
    assert batch.labels.dtype == torch.int64
    assert batch.num_tokens == examples.lengths[[0, -1]].sum() == int(batch.inputs.attention_mask.sum())


def test_question_longer_than_max_query_length_is_truncated(tiny_tokenizer):
    long = question("q", "the film " * 40, context=CONTEXT)
    kept = encoded(tiny_tokenizer, [long], max_query_length=7, max_length=96).windows[0].feature
    assert kept.input_ids[1:8].tolist() == tiny_tokenizer.encode(long.text)[:7]
    assert int((kept.token_type_ids == 0).sum()) == 9
    halved = encoded(tiny_tokenizer, [long], max_query_length=64, max_length=20).windows[0].feature
    assert int((halved.token_type_ids == 0).sum()) == 12, "[CLS], half of 20, [SEP]"


def test_empty_context_has_a_window(tiny_tokenizer):
    examples = encoded(tiny_tokenizer, [question("q", "Who?", context="\u0301")])
    assert len(examples) == 1
    assert examples.targets == [(0, 0, 1)]


def test_context_is_tokenized_once_for_all_its_questions(tiny_tokenizer):
    examples = encoded(tiny_tokenizer)
    assert len({id(document) for document in examples.documents}) == 1


def test_encoded_questions_fingerprint_depends_on_ids_and_labels(tiny_tokenizer):
    first, same = encoded(tiny_tokenizer), encoded(tiny_tokenizer)
    other_answer = encoded(tiny_tokenizer, (question("q1", "Who felt dull?", "actor"), *QUESTIONS[1:]))
    other_length = encoded(tiny_tokenizer, max_length=32)
    assert first.fingerprint == same.fingerprint
    assert len({first.fingerprint, other_answer.fingerprint, other_length.fingerprint}) == 3


@st.composite
def documents(draw):
    """A text cut into pieces, some without a character, some with blanks around them."""
    text = draw(st.text("ab é", min_size=1, max_size=20))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    edges = [0, *cuts, len(text)]
    starts, ends = np.array(edges[:-1], np.int32), np.array(edges[1:], np.int32)
    return Document(text, np.zeros(len(starts), np.int32), starts, ends)


@given(documents(), st.data())
def test_tokens_of_a_span_are_the_fewest_that_cover_it(document, data):
    start = data.draw(st.integers(0, len(document.context) - 1))
    end = data.draw(st.integers(start + 1, len(document.context)))
    first, stop = document.tokens_of((start, end))
    touching = [
        index
        for index, (begin, after) in enumerate(zip(document.starts, document.ends, strict=True))
        if begin < end and after > start and begin < after
    ]
    assert (first, stop) == (touching[0], touching[-1] + 1)


@given(documents())
def test_document_characters_of_tokens_have_no_white_space_at_the_ends(document):
    for first in range(len(document.ids)):
        for stop in range(first + 1, len(document.ids) + 1):
            ((start, end),) = document.characters_of(np.array([(first, stop)]))
            text = document.context[start:end]
            assert text == text.strip()
            assert start <= end
