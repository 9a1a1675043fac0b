"""The task type `token_classification`: a label for each word, as in named entity recognition."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from torch import Tensor, nn

from litebert.loss_sums import LossSums
from litebert.model.losses import NO_LABEL, classification_loss, is_correct
from litebert.tasks.encoded import LabelledBatch
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import LabelledData, Task
from litebert.tasks.metrics.entities import all_have_prefixes, entities, entity_scores, tag_parts
from litebert.tasks.metrics.evaluation import Part, Scored
from litebert.tasks.prediction_files.prediction_columns import PredictionReader, read_word_labels
from litebert.tasks.prediction_files.prediction_rows import words_by_sentence
from litebert.tasks.types.built_in_inference import CLASSIFY_TOKENS
from litebert.tasks.types.classification.classification import labels_goal
from litebert.tasks.types.task_type import (
    CardEntry,
    ErrorExample,
    ExampleReader,
    Loss,
    TaskType,
    no_label_found,
    score,
)
from litebert.tasks.types.token_classification.conll import CONLL
from litebert.tasks.types.token_classification.tokens_in_tables import (
    OUTSIDE,
    guess_token_lists,
    read_token_lists,
    read_words,
)

METRICS_OF_ENTITIES: Final = ("entity_f1", "entity_precision", "entity_recall", "word_accuracy")


def token_losses(model: nn.Module, batch: LabelledBatch, weights: Tensor | None) -> LossSums:
    """Summed cross-entropy at the first token of each word."""
    logits, labels = model(*batch.inputs).logits.flatten(0, 1), batch.labels.flatten()
    return LossSums({"word": classification_loss(logits, labels)}, {"word": is_correct(logits, labels).sum()})


def _evaluate(
    task: Task, predictions: Sequence[np.ndarray], data: LabelledData, lengths: np.ndarray, settings: InputSettings
) -> Scored:
    predicted = [_names(task, each.argmax(-1)) for each in predictions]
    targets = [_names(task, each.target) for each in data.examples]
    by_label = _by_type(predicted, targets, letters=all_have_prefixes(task.labels or ()))
    return score(task, predicted, targets, data, lengths, length_unit="words", labels=task.labels, by_label=by_label)


def _metrics_by_default(labels: Sequence[str]) -> tuple[str, ...]:
    """With tags that are types only, such as parts of speech, the share of correct tags comes first."""
    return METRICS_OF_ENTITIES if all_have_prefixes(labels) else ("word_accuracy", *METRICS_OF_ENTITIES[:-1])


def _by_type(
    predicted: Sequence[Sequence[str]], targets: Sequence[Sequence[str]], *, letters: bool
) -> tuple[Part, ...]:
    """Scores of the entities of each type, as if there were no others; `letters` as in `tag_parts`."""
    rows = []
    for name in sorted({found for labels in targets for found, _, _ in entities(labels, letters=letters)}):
        own_predicted, own_targets = (
            [
                [label if tag_parts(label, letters=letters)[1] == name else OUTSIDE for label in labels]
                for labels in each
            ]
            for each in (predicted, targets)
        )
        count = sum(len(entities(labels, letters=letters)) for labels in own_targets)
        rows.append(Part(name, count, entity_scores(own_predicted, own_targets, letters=letters)))
    return tuple(rows)


def _errors(task: Task, predictions: Sequence[np.ndarray], data: LabelledData, scored: Scored) -> list[ErrorExample]:
    """Every sentence with its predictions; the loss is the number of wrong words."""
    errors, letters = [], all_have_prefixes(task.labels or ())
    for example, given, true in zip(data.examples, scored.predicted, scored.targets, strict=True):
        wrong = sum(one != other for one, other in zip(given, true, strict=True))
        expected, predicted = (_entity_list(example.words, labels, letters=letters) for labels in (true, given))
        errors.append(ErrorExample(" ".join(example.words), expected, predicted, wrong, not wrong))
    return errors


def _names(task: Task, indices: Sequence[int] | np.ndarray) -> list[str]:
    labels = task.labels or ()
    return [labels[index] for index in indices]


def _entity_list(words: Sequence[str], labels: Sequence[str], *, letters: bool) -> str:
    found = sorted(entities(labels, letters=letters), key=lambda entity: entity[1])
    return "; ".join(f"{name}: {' '.join(words[start:end])}" for name, start, end in found) or "(none)"


TOKEN_CLASSIFICATION: Final = TaskType(
    name="token_classification",
    model="ForTokenClassification",
    has_labels=True,
    metrics=METRICS_OF_ENTITIES,
    metrics_for_labels=_metrics_by_default,
    reader=ExampleReader(
        guess=guess_token_lists,
        read=read_token_lists,
        read_inputs=read_words,
        input_columns=("text",),
        file_format=CONLL,
    ),
    settings=InputSettings,
    loss=Loss(counts=lambda batch: {"word": int((batch.labels != NO_LABEL).sum())}, sums=token_losses),
    inference=CLASSIFY_TOKENS,
    evaluate=_evaluate,
    error_examples=_errors,
    collapse=no_label_found,
    predictions=PredictionReader(
        columns=("prediction", "labels", "label"), read=read_word_labels, rows=words_by_sentence
    ),
    card=CardEntry(
        title="An ALBERT token classifier",
        pipeline_tag="token-classification",
        argument='["a text"]',
        pair_argument=None,
        goal=labels_goal,
    ),
    windows=True,
)
