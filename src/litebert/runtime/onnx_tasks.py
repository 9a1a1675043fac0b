"""The task types for arrays: examples → sequences → outputs of the graph → results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from litebert.tasks.encoded import Encoded, PaddedArrays
from litebert.tasks.results import (
    class_probabilities,
    decode_choice,
    decode_class,
    decode_labels,
    decode_regression,
    decode_words,
    label_probabilities,
    regression_score,
)
from litebert.tasks.text_sequences import encode_sequences
from litebert.tasks.types.extractive_qa.span_scores import (
    beams_by_window,
    decode_answer,
    logits_by_window,
    scores_from_beams,
    scores_from_logits,
)
from litebert.tasks.types.extractive_qa.windows import encode_questions
from litebert.tasks.types.multiple_choice.choice_examples import encode_choices
from litebert.tasks.types.token_classification.token_examples import encode_words
from litebert.tokenization.tokenizer import Tokenizer


def _rows(outputs: Sequence[np.ndarray], batch: PaddedArrays) -> Sequence[Any]:
    """The first output of each sequence."""
    return list(outputs[0])


def _spans(outputs: Sequence[np.ndarray], batch: PaddedArrays) -> Sequence[Any]:
    starts, ends = outputs
    return logits_by_window(starts, ends, batch.attention_mask.sum(1).tolist())


def _beams(outputs: Sequence[np.ndarray], batch: PaddedArrays) -> Sequence[Any]:
    return beams_by_window(*outputs)


@dataclass(frozen=True, kw_only=True)
class OnnxTask:
    """A task type without training: the functions are those of `litebert.tasks.types`."""

    method: str
    """Of `Predictor`."""
    encode: Callable[[Sequence[Any], Tokenizer, Any], Encoded] = encode_sequences
    outputs: tuple[str, ...] = ("logits",)
    """Outputs of the graph to compute."""
    settings: tuple[str, ...] = ("max_length",)
    """Settings that the functions read."""
    by_sequence: Callable[[Sequence[np.ndarray], PaddedArrays], Sequence[Any]] = _rows
    """(outputs of a batch, batch) → the output of each sequence."""
    predict: Callable[[Any, Any, type[np.floating]], Any] = class_probabilities
    decode: Callable[[Any, Any, Sequence[str], Any], Any] = decode_class


NEW_SETTINGS: Final = {"long_texts": "truncate"}
"""Settings of an export that was written before they existed."""
QUESTION_SETTINGS: Final = ("max_length", "max_query_length", "doc_stride", "n_best", "max_answer_length")
ONNX_TASKS: Final = {
    "classification": OnnxTask(method="classify"),
    "regression": OnnxTask(method="regress", predict=regression_score, decode=decode_regression),
    "multi_label": OnnxTask(method="classify_multi_label", predict=label_probabilities, decode=decode_labels),
    "multiple_choice": OnnxTask(method="multiple_choice", encode=encode_choices, decode=decode_choice),
    "token_classification": OnnxTask(method="classify_tokens", encode=encode_words, decode=decode_words),
    "extractive_qa": OnnxTask(
        method="answer",
        encode=encode_questions,
        outputs=("start_logits", "end_logits"),
        settings=QUESTION_SETTINGS,
        by_sequence=_spans,
        predict=scores_from_logits,
        decode=decode_answer,
    ),
    "extractive_qa_no_answer": OnnxTask(
        method="answer",
        encode=encode_questions,
        outputs=("start_log_probs", "start_positions", "end_log_probs", "end_positions", "impossible_logits"),
        settings=(*QUESTION_SETTINGS, "no_answer_threshold"),
        by_sequence=_beams,
        predict=scores_from_beams,
        decode=decode_answer,
    ),
}
"""Name of a task type → how its models predict."""
