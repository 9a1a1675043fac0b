"""How the models of the built-in task types predict: one table, which loads no torch."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from litebert.tasks.encoded import PaddedArrays
from litebert.tasks.results import (
    Choice,
    Classification,
    MultiLabelPrediction,
    Regression,
    TokenPrediction,
    class_probabilities,
    decode_choice,
    decode_class,
    decode_labels,
    decode_regression,
    decode_words,
    label_probabilities,
    regression_score,
)
from litebert.tasks.task_inference import GraphOutputs, TaskInference
from litebert.tasks.types.extractive_qa.span_scores import (
    Answer,
    average_span_scores,
    beams_by_window,
    decode_answer,
    logits_by_window,
    scores_from_beams,
    scores_from_logits,
)
from litebert.tasks.types.extractive_qa.windows import encode_questions
from litebert.tasks.types.multiple_choice.choice_examples import encode_choices
from litebert.tasks.types.token_classification.token_examples import encode_words


def _spans(outputs: Sequence[np.ndarray], batch: PaddedArrays) -> Sequence[Any]:
    starts, ends = outputs
    return logits_by_window(starts, ends, batch.attention_mask.sum(1).tolist())


def _beams(outputs: Sequence[np.ndarray], batch: PaddedArrays) -> Sequence[Any]:
    return beams_by_window(*outputs)


CLASSIFY: Final = TaskInference(
    method="classify",
    predict=class_probabilities,
    decode=decode_class,
    result=Classification,
    has_label_probabilities=True,
)
CLASSIFY_MULTI_LABEL: Final = TaskInference(
    method="classify_multi_label",
    predict=label_probabilities,
    decode=decode_labels,
    result=MultiLabelPrediction,
    has_label_probabilities=True,
)
REGRESS: Final = TaskInference(method="regress", predict=regression_score, decode=decode_regression, result=Regression)
CHOOSE: Final = TaskInference(
    method="multiple_choice", encode=encode_choices, predict=class_probabilities, decode=decode_choice, result=Choice
)
CLASSIFY_TOKENS: Final = TaskInference(
    method="classify_tokens",
    encode=encode_words,
    predict=class_probabilities,
    decode=decode_words,
    result=TokenPrediction,
)
ANSWER: Final = TaskInference(
    method="answer",
    encode=encode_questions,
    graph=GraphOutputs(names=("start_logits", "end_logits"), by_sequence=_spans),
    predict=scores_from_logits,
    average=average_span_scores,
    decode=decode_answer,
    result=Answer,
    settings=("max_length", "max_query_length", "doc_stride", "n_best", "max_answer_length"),
)
ANSWER_OR_NONE: Final = replace(
    ANSWER,
    graph=GraphOutputs(
        names=("start_log_probs", "start_positions", "end_log_probs", "end_positions", "impossible_logits"),
        by_sequence=_beams,
    ),
    predict=scores_from_beams,
    settings=(*ANSWER.settings, "no_answer_threshold"),
)
BUILT_IN_INFERENCE: Final = {
    "classification": CLASSIFY,
    "multi_label": CLASSIFY_MULTI_LABEL,
    "regression": REGRESS,
    "multiple_choice": CHOOSE,
    "token_classification": CLASSIFY_TOKENS,
    "extractive_qa": ANSWER,
    "extractive_qa_no_answer": ANSWER_OR_NONE,
}
"""Name of a task type → how its exported models predict; `pronoun_resolution`, which is not exported, has its own."""
