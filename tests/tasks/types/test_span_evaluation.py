"""Evaluations of questions: a perfect and an empty reader, thresholds chosen and kept, the worst errors."""

import numpy as np
import pytest

from litebert.tasks.task_type import Task
from litebert.tasks.types.question_settings import FILE
from litebert.tasks.types.registry import KINDS, encode_for
from litebert.tasks.types.span_evaluation import (
    encode_as_kept,
    encode_questions,
    evaluate_answerability,
    evaluate_spans,
    judge_answerability,
    judge_spans,
    kept_settings,
)
from support.question_builders import QUESTIONS, encoded, labelled

METRICS = ("answer_f1", "exact_match")


def task(kind):
    return Task(
        kind=kind,
        text=("question", "context"),
        label="answers",
        labels=None,
        metrics=METRICS,
        metric_for_best_model="answer_f1",
    )


def perfect_spans(examples):
    """What a model would give that knows the labels."""
    outputs = []
    for length, (first, last, _) in zip(examples.lengths, examples.labels, strict=True):
        scores = np.zeros((2, length), np.float32)
        scores[0, first] = scores[1, last] = 20
        outputs.append(scores)
    return outputs


def perfect_beams(examples, null_scores):
    return [
        np.array([[0, 0, null, 0], [first, last, 5, 5], [last, last, 1, 1]], np.float32)
        for null, (first, last, _) in zip(null_scores, examples.labels, strict=True)
    ]


def test_a_perfect_reader_scores_everything(tiny_tokenizer):
    examples = encoded(tiny_tokenizer, QUESTIONS[:3], max_length=96)
    data = labelled(QUESTIONS[:3])
    evaluation = evaluate_spans(task("spans"), perfect_spans(examples), data, examples)
    assert evaluation.metrics == {"answer_f1": 100, "exact_match": 100}
    assert evaluation.examples == 3
    assert evaluation.by_slice == ()
    assert all(
        verdict.right and verdict.loss == 0
        for verdict in judge_spans(task("spans"), perfect_spans(examples), data, examples)
    )


def test_the_threshold_is_chosen_where_none_is_kept(tiny_tokenizer):
    examples = encoded(tiny_tokenizer, max_length=96)
    outputs = perfect_beams(examples, [-3.0, -1.0, 2.5, 4.0])
    evaluation = evaluate_answerability(task("answerability"), outputs, labelled(), examples)
    assert evaluation.metrics["answer_f1"] == evaluation.metrics["best_f1"] == 100
    assert evaluation.metrics["no_answer_threshold"] == 3.25
    assert evaluation.metrics["best_f1_thresh"] == 2.5
    assert [(part.name, part.examples) for part in evaluation.by_slice] == [
        ("with an answer", 3),
        ("without an answer", 1),
    ]


def test_a_kept_threshold_is_used_and_the_best_one_still_told(tiny_tokenizer):
    examples = encoded(tiny_tokenizer, max_length=96, no_answer_threshold=0.0)
    outputs = perfect_beams(examples, [-3.0, -1.0, 2.5, 4.0])
    evaluation = evaluate_answerability(task("answerability"), outputs, labelled(), examples)
    assert evaluation.metrics["answer_f1"] == 75
    assert (evaluation.metrics["no_answer_threshold"], evaluation.metrics["best_f1_thresh"]) == (0.0, 2.5)


def test_errors_are_told_with_what_was_expected(tiny_tokenizer):
    examples = encoded(tiny_tokenizer, max_length=96, no_answer_threshold=0.0)
    outputs = perfect_beams(examples, [-3.0, -1.0, 2.5, 4.0])
    verdicts = judge_answerability(task("answerability"), outputs, labelled(), examples)
    assert [verdict.right for verdict in verdicts] == [True, True, False, True]
    assert verdicts[2].expected == "Her first play"
    assert verdicts[2].predicted.startswith("(no answer)")
    assert verdicts[3].expected == "(no answer)"
    assert verdicts[2].loss > 1 > verdicts[0].loss


@pytest.mark.parametrize("kind", ["spans", "answerability"])
def test_what_a_directory_keeps_decides_how_its_questions_are_encoded(kind, tiny_tokenizer, tmp_path):
    files = KINDS[kind].keeps(40, {"no_answer_threshold": 1.5} if kind == "answerability" else {})
    assert files == kept_settings(40, {"no_answer_threshold": 1.5} if kind == "answerability" else {})
    (tmp_path / FILE).write_bytes(files[FILE])
    examples = encode_for(tmp_path, kind)(QUESTIONS, tiny_tokenizer, max_length=512)
    assert examples.settings.max_length == 40
    assert examples.settings.no_answer_threshold == (1.5 if kind == "answerability" else None)


def test_without_a_kept_file_windows_fit_the_model(tiny_tokenizer, tmp_path):
    assert encode_as_kept(tmp_path)(QUESTIONS, tiny_tokenizer, max_length=48).settings.max_length == 48
    assert encode_questions(QUESTIONS, tiny_tokenizer, max_length=48).settings.max_length == 48
