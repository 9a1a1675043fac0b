"""What the server does with the models of each task type: one table, which needs no torch."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from litebert.serving.model_operations import Operation
from litebert.tasks.types.built_in_inference import CHOOSE, CLASSIFY, CLASSIFY_MULTI_LABEL, CLASSIFY_TOKENS, REGRESS

SMALLEST: Final = 1e-30
"""Stands for a probability of 0, whose logarithm JSON cannot hold."""


def log(probability: float) -> float:
    """Natural logarithm of a probability."""
    return math.log(max(probability, SMALLEST))


def log_odds(probability: float) -> float:
    """Difference of the logarithms of a probability and its complement."""
    return log(probability) - log(1 - probability)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scorer:
    """How a model that scores texts and pairs serves /predict, and /rerank where its number of labels allows it."""

    method: str
    """Of `Predictor`."""
    raw_score: Callable[[float], float]
    """Probability or value → the score of /predict with `raw_scores`."""
    function: str
    """Logit → probability or value: `softmax`, `sigmoid` or `none`, as transformers names `function_to_apply`."""
    rerank_labels: Sequence[int] = ()
    """Numbers of labels with which the model serves /rerank, too."""
    raw_relevance: Callable[[float], float] = float
    """Probability or value → the score of /rerank with `raw_scores`."""
    model_type: str = "classifier"
    """As text-embeddings-inference names it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedTask:
    """What the server does with the models of one task type."""

    operation: Operation
    example: Any = "a"
    """Input of the trial run."""
    route: str = "/predict"
    scorer: Scorer | None = None
    """How the route /predict is served."""
    has_embeddings: bool = True
    """Whether exported models have an output for embeddings of texts."""


def _scores(scorer: Scorer) -> ServedTask:
    return ServedTask(operation=Operation(scorer.method), scorer=scorer)


_ANSWERS: Final = ServedTask(operation=Operation("answer_batch"), example=("a", "b"), route="/question-answering")
SERVED_TASKS: Final = {
    "classification": _scores(
        Scorer(method=CLASSIFY.method, raw_score=log, function="softmax", rerank_labels=(2,), raw_relevance=log_odds),
    ),
    "multi_label": _scores(Scorer(method=CLASSIFY_MULTI_LABEL.method, raw_score=log_odds, function="sigmoid")),
    "regression": _scores(
        Scorer(method=REGRESS.method, raw_score=float, function="none", rerank_labels=(1,), model_type="reranker"),
    ),
    "multiple_choice": ServedTask(
        operation=Operation(CHOOSE.method),
        example=("a", None, ("b", "c")),
        route="/multiple-choice",
        has_embeddings=False,
    ),
    "token_classification": ServedTask(
        operation=Operation(CLASSIFY_TOKENS.method), example=("a",), route="/token-classification"
    ),
    "extractive_qa": _ANSWERS,
    "extractive_qa_no_answer": _ANSWERS,
    "fill_mask": ServedTask(operation=Operation("fill_masks"), example="a [MASK]", route="/fill-mask"),
}
"""Name of a task type, or `fill_mask` → how its models are served; models of others have embeddings only."""
