"""What each kind of task needs: one row a kind. Before: `encoded`, `answers`. After: runs, inference."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from torch import nn

from litebert.errors import ConfigError
from litebert.model.io.model_spec import ModelName, ModelSpec, ProblemType
from litebert.tasks.encoded import Encoded, encode_sequences
from litebert.tasks.features import Inputs
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.metrics.evaluation import Evaluation
from litebert.tasks.task_type import Kind, Task
from litebert.tasks.types import predictions as answers
from litebert.tasks.types.multiple_choice import encode_choices
from litebert.tasks.types.span_evaluation import (
    encode_as_kept,
    encode_questions,
    evaluate_answerability,
    evaluate_spans,
    judge_answerability,
    judge_spans,
    kept_settings,
)
from litebert.tasks.types.span_outputs import beam_outputs, span_outputs
from litebert.tasks.types.token_classification import encode_tokens, token_logits
from litebert.tokenization.tokenizer import Tokenizer

Outputs = Sequence[np.ndarray]
"""What a model gave for each sequence, Float32."""


class Encode(Protocol):
    """Examples → token ids."""

    def __call__(self, examples: Sequence[Any], tokenizer: Tokenizer, *, max_length: int) -> Encoded:
        """Sequences of at most `max_length` tokens."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class KindRow:
    """How one kind is trained, scored and looked at."""

    model: ModelName
    """Class of `litebert.model.models`."""
    head: tuple[str, ...]
    """Modules that a pretrained encoder lacks and that start from new weights."""
    problem_type: ProblemType | None = None
    """What transformers calls it, where it has a word."""
    metrics: tuple[str, ...]
    """What is usually measured; the first chooses the best model."""
    encode: Encode
    outputs: Callable[[nn.Module, Inputs], Outputs]
    """A batch through the model: one array a sequence, on the CPU."""
    evaluate: Callable[[Task, Outputs, LabelledData, Encoded], Evaluation]
    judge: Callable[[Task, Outputs, LabelledData, Encoded], list[answers.Verdict]]
    """A verdict on each example, for the page of the worst errors."""
    keeps: Callable[[int, Mapping[str, float]], Mapping[str, bytes]] = lambda max_length, metrics: {}
    """Files of a model directory that say how to use the model, from the longest length and the evaluation."""
    encode_as_kept: Callable[[Path], Encode] | None = None
    """`encode` as the files in a model directory say; None for a kind that keeps none."""


KINDS: Final[dict[Kind, KindRow]] = {
    "classification": KindRow(
        model="ForSequenceClassification",
        head=("classifier",),
        problem_type="single_label_classification",
        metrics=("accuracy",),
        encode=encode_sequences,
        outputs=answers.sequence_logits,
        evaluate=answers.evaluate_classes,
        judge=answers.judge_classes,
    ),
    "regression": KindRow(
        model="ForSequenceClassification",
        head=("classifier",),
        problem_type="regression",
        metrics=("pearson", "spearman"),
        encode=encode_sequences,
        outputs=answers.sequence_logits,
        evaluate=answers.evaluate_scores,
        judge=answers.judge_scores,
    ),
    "multi_label": KindRow(
        model="ForSequenceClassification",
        head=("classifier",),
        problem_type="multi_label_classification",
        metrics=("micro_f1", "macro_f1", "sample_f1", "subset_accuracy"),
        encode=encode_sequences,
        outputs=answers.sequence_logits,
        evaluate=answers.evaluate_sets,
        judge=answers.judge_sets,
    ),
    "multiple_choice": KindRow(
        model="ForMultipleChoice",
        head=("classifier",),
        metrics=("accuracy",),
        encode=encode_choices,
        outputs=answers.sequence_logits,
        evaluate=answers.evaluate_classes,
        judge=answers.judge_classes,
    ),
    "tokens": KindRow(
        model="ForTokenClassification",
        head=("classifier",),
        metrics=("entity_f1", "entity_precision", "entity_recall", "word_accuracy"),
        encode=encode_tokens,
        outputs=token_logits,
        evaluate=answers.evaluate_tags,
        judge=answers.judge_tags,
    ),
    "spans": KindRow(
        model="ForQuestionAnswering",
        head=("spans",),
        metrics=("answer_f1", "exact_match"),
        encode=encode_questions,
        outputs=span_outputs,
        evaluate=evaluate_spans,
        judge=judge_spans,
        keeps=kept_settings,
        encode_as_kept=encode_as_kept,
    ),
    "answerability": KindRow(
        model="ForQuestionAnsweringWithNoAnswer",
        head=("start", "end_dense", "end_norm", "end", "answer_dense", "answer"),
        metrics=("answer_f1", "exact_match"),
        encode=encode_questions,
        outputs=beam_outputs,
        evaluate=evaluate_answerability,
        judge=judge_answerability,
        keeps=kept_settings,
        encode_as_kept=encode_as_kept,
    ),
}


def encode_for(model: Path, kind: Kind) -> Encode:
    """How examples are encoded for the model in a directory: as in its training, where that is kept."""
    as_kept = KINDS[kind].encode_as_kept
    return KINDS[kind].encode if as_kept is None else as_kept(model)


def kind_of(description: ModelSpec, *, where: str) -> Kind:
    """What a fine-tuned model answers; raises ConfigError for a model without such a head."""
    fitting = [kind for kind, row in KINDS.items() if row.model == description.model]
    if not fitting:
        raise ConfigError(f"{where}: a {description.model} has no labels; give a model directory from `finetune`")
    named = [kind for kind in fitting if KINDS[kind].problem_type == description.problem_type]
    if description.problem_type is None and len(description.labels) == 1:
        return "regression"  # as transformers takes it
    return (named or fitting)[0]
