"""Baselines of text tasks: a constant prediction, and a linear model of tf-idf features, fitted by scikit-learn.

The features are 1- and 2-grams of words and 2- to 5-grams of characters. Of a pair they are those of both texts and
their product, which is not 0 for what both have.
"""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Final

import numpy as np

from litebert.errors import import_extra
from litebert.randomness import rng_for
from litebert.tasks.labelled_data import Example, LabelledData, Task, label_masses
from litebert.tasks.metrics.metrics import measure
from litebert.tasks.types.task_type import Baselines
from litebert.tokenization.letters import word_expression

MAX_ROWS: Final = 100_000
"""Training rows of the linear model: more are drawn at random. Its time is also proportional to the labels."""
MAX_NGRAMS: Final = 100_000
"""Of words, and of characters: the most frequent ones."""
INVERSE_REGULARIZATION: Final = 10.0
"""Of the logistic regression; as all settings here, the same for all data, not tuned to them."""


def _majority_class(task: Task, train: LabelledData, dev: LabelledData) -> dict[str, float]:
    shares = _class_shares(train)
    count = len(dev.examples)
    return measure(task.metrics, np.full(count, shares.argmax()), dev.targets, np.tile(shares, (count, 1)))


def _logistic_regression(task: Task, train: LabelledData, dev: LabelledData) -> dict[str, float]:
    """One binary regression for each label."""
    train = _drawn(train)
    features, of_dev = _features(train.examples, dev.examples)
    targets, num_labels = train.targets, len(task.labels or ())
    probabilities = np.zeros((len(dev.examples), num_labels))
    for label in np.unique(targets):
        probabilities[:, label] = _probability(features, targets == label, of_dev)
    return measure(task.metrics, probabilities.argmax(-1), dev.targets, probabilities)


def _entropy(train: LabelledData) -> float:
    """Cross-entropy in nats of always predicting the frequencies of the labels, or the means of soft ones."""
    shares = label_masses(train.examples, len(train.labels or ())) / len(train.examples)
    return float(-(shares[shares > 0] * np.log(shares[shares > 0])).sum())


def _class_shares(train: LabelledData) -> np.ndarray:
    return np.bincount(train.targets, minlength=len(train.labels or ())) / len(train.examples)


def _majority_of_each(task: Task, train: LabelledData, dev: LabelledData) -> dict[str, float]:
    shares = np.tile(train.targets.mean(0), (len(dev.examples), 1))
    return measure(task.metrics, (shares > 0.5).astype(int), dev.targets.astype(int), shares)


def _regression_of_each(task: Task, train: LabelledData, dev: LabelledData) -> dict[str, float]:
    train = _drawn(train)
    features, of_dev = _features(train.examples, dev.examples)
    targets = train.targets > 0.5
    columns = [_probability(features, present, of_dev) for present in targets.T]
    probabilities = np.stack(columns, axis=1)
    return measure(task.metrics, (probabilities > 0.5).astype(int), dev.targets.astype(int), probabilities)


def _binary_entropy(train: LabelledData) -> float:
    shares = label_masses(train.examples, len(train.labels or ())) / len(train.examples)
    return float(_entropies(np.stack([shares, 1 - shares])).sum(0).mean())


def _entropy_of_rows(train: LabelledData) -> float:
    """The mean over all rows of the entropy of their soft labels, which no prediction of classes is below."""
    return float(_entropies(_soft_labels(train)).sum()) / len(train.examples)


def _binary_entropy_of_rows(train: LabelledData) -> float:
    """The same of labels that are predicted each by itself, and the mean over labels."""
    shares = _soft_labels(train)
    total = _entropies(np.stack([shares, 1 - shares])).sum()
    return float(total) / (len(train.examples) * len(train.labels or ()))


def _soft_labels(train: LabelledData) -> np.ndarray:
    """Float64 [N, C] of the rows that have soft labels."""
    given = [each.soft_label for each in train.examples if each.soft_label is not None]
    return np.array(given, dtype=np.float64).reshape(len(given), len(train.labels or ()))


def _entropies(shares: np.ndarray) -> np.ndarray:
    """-p log p of each share; 0 for 0."""
    return -shares * np.log(np.clip(shares, 1e-12, 1))


def _mean_score(task: Task, train: LabelledData, dev: LabelledData) -> dict[str, float]:
    return measure(task.metrics, np.full(len(dev.examples), train.targets.mean()), dev.targets)


def _ridge(task: Task, train: LabelledData, dev: LabelledData) -> dict[str, float]:
    train = _drawn(train)
    features, of_dev = _features(train.examples, dev.examples)
    model = _sklearn("sklearn.linear_model").Ridge(solver="sparse_cg")
    return measure(task.metrics, model.fit(features, train.targets).predict(of_dev), dev.targets)


def _drawn(train: LabelledData) -> LabelledData:
    if len(train.examples) <= MAX_ROWS:
        return train
    positions = np.sort(rng_for("rows of the linear baseline").permutation(len(train.examples))[:MAX_ROWS])
    return replace(train, examples=tuple(train.examples[index] for index in positions), lines=None)


def _features(train: Sequence[Example], dev: Sequence[Example]) -> tuple[Any, Any]:
    """Sparse matrices [N, features]; the vocabulary and the document frequencies are those of the training rows."""
    text, sparse = _sklearn("sklearn.feature_extraction.text"), import_module("scipy.sparse")
    common = {"sublinear_tf": True, "strip_accents": "unicode", "dtype": np.float32, "max_features": MAX_NGRAMS}
    vectorizers = [
        text.TfidfVectorizer(token_pattern=word_expression(), ngram_range=(1, 2), **common),
        text.TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), **common),
    ]
    is_pair = train[0].text_pair is not None
    texts = [each.text for each in train] + [each.text_pair or "" for each in train if is_pair]
    vectorizers = [vectorizer for vectorizer in vectorizers if _has_vocabulary(vectorizer, texts)]
    if not vectorizers:
        return sparse.csr_matrix((len(train), 1)), sparse.csr_matrix((len(dev), 1))

    def matrix(values: Sequence[str]) -> Any:
        return sparse.hstack([vectorizer.transform(values) for vectorizer in vectorizers], format="csr")

    def features(examples: Sequence[Example]) -> Any:
        first = matrix([each.text for each in examples])
        if not is_pair:
            return first
        second = matrix([each.text_pair or "" for each in examples])
        return sparse.hstack([first, second, first.multiply(second)], format="csr")

    return features(train), features(dev)


def _has_vocabulary(vectorizer: Any, texts: Sequence[str]) -> bool:
    """Fit to the texts; False for texts without what it counts, such as words."""
    try:
        vectorizer.fit(texts)
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        return False
    return True


def _probability(features: Any, targets: np.ndarray, of_dev: Any) -> np.ndarray:
    """The probability of one label; constant where all training rows or none have it."""
    if targets.all() or not targets.any():
        return np.full(of_dev.shape[0], float(targets[0]))
    model = _sklearn("sklearn.linear_model").LogisticRegression(C=INVERSE_REGULARIZATION, solver="liblinear")
    return model.fit(features, targets).predict_proba(of_dev)[:, 1]


def _sklearn(module: str) -> Any:
    return import_extra(module, extra="eval", needed_for="the linear baseline", package="scikit-learn")


CLASS_BASELINES: Final = Baselines(
    constant=("majority class", _majority_class),
    linear=("tf-idf and logistic regression", _logistic_regression),
    constant_loss=_entropy,
    lowest_loss=_entropy_of_rows,
)
LABEL_BASELINES: Final = Baselines(
    constant=("majority of each label", _majority_of_each),
    linear=("tf-idf and logistic regression", _regression_of_each),
    constant_loss=_binary_entropy,
    lowest_loss=_binary_entropy_of_rows,
)
SCORE_BASELINES: Final = Baselines(
    constant=("mean score", _mean_score),
    linear=("tf-idf and ridge regression", _ridge),
    constant_loss=lambda train: float(np.var(train.targets)),
)
