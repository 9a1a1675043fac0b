"""The task type `pronoun_resolution`: whether a pronoun refers to a phrase, by a masked language model.

The model scores the phrase and others in the place of the pronoun, with no new head. Source: Kocijan et al. (2019) and
Liu et al. (2019), RoBERTa, section 5.1, which the paper follows in its submission for WNLI.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from litebert.tasks.input_settings import InputSettings
from litebert.tasks.prediction_files.prediction_columns import PredictionReader, read_classes
from litebert.tasks.results import Classification, decode_class
from litebert.tasks.task_inference import TaskInference
from litebert.tasks.types.classification.classification import class_collapse, class_errors, evaluate_classes
from litebert.tasks.types.pronoun_resolution.candidate_scores import (
    encode_candidates,
    margin_losses,
    probabilities_of_scores,
    scores_by_example,
    validate_candidates,
)
from litebert.tasks.types.pronoun_resolution.pronoun_examples import LABELS
from litebert.tasks.types.pronoun_resolution.pronoun_tables import guess_spans, read_pronoun_inputs, read_pronouns
from litebert.tasks.types.task_type import CardEntry, ExampleReader, Loss, TaskType
from litebert.tasks.types.text_baselines import CLASS_BASELINES


def _decode(probabilities: np.ndarray, example: Any, labels: Sequence[str], settings: Any) -> Classification:
    return decode_class(probabilities, example, LABELS, settings)


PRONOUN_RESOLUTION: Final = TaskType(
    name="pronoun_resolution",
    model="ForMaskedLM",
    head=(),
    metrics=("accuracy",),
    reader=ExampleReader(guess=guess_spans, read=read_pronouns, read_inputs=read_pronoun_inputs),
    settings=InputSettings,
    loss=Loss(counts=lambda batch: {"label": int((batch.labels == 1).sum())}, sums=margin_losses),
    forward=scores_by_example,
    inference=TaskInference(
        method="resolve_pronouns",
        encode=encode_candidates,
        validate_inputs=validate_candidates,
        predict=probabilities_of_scores,
        decode=_decode,
        result=Classification,
    ),
    evaluate=evaluate_classes,
    error_examples=class_errors,
    collapse=class_collapse,
    predictions=PredictionReader(read=read_classes, reads_probabilities=True),
    card=CardEntry(
        title="An ALBERT for pronoun resolution",
        pipeline_tag="fill-mask",
        argument='[("the trophy is not in the case because it is big", "the trophy is big")]',
        pair_argument=None,
        goal=lambda task: "pronoun resolution",
    ),
    strata=lambda data: [example.target for example in data.examples],
    # The margin loss is no cross-entropy of labels: no constant prediction has one to compare with.
    baselines=replace(CLASS_BASELINES, constant_loss=lambda train: float("inf"), lowest_loss=lambda train: 0.0),
)
