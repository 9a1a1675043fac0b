"""Estimators of scikit-learn, for its cross-validation, searches and pipelines: `fit` fine-tunes an encoder.

Needs scikit-learn (extra `eval`). Everything else that the package can do needs the functions of the API.
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np

from litebert.api.training_runs import finetune
from litebert.errors import DataError, MissingExtraError
from litebert.files import write_bytes
from litebert.inference.predictor import Predictor
from litebert.settings import InferencePrecision
from litebert.tasks.readers.tables import json_text

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise MissingExtraError("scikit-learn", extra="eval", needed_for="an estimator of scikit-learn") from None


class TextEstimator(BaseEstimator):
    """What both estimators share: parameters, fine-tuning in a directory of its own, and the fitted model."""

    task_type: str
    """Of the models that are fitted."""

    def __init__(
        self,
        model: str | Path,
        *,
        recipe: str = "default",
        learning_rate: float | None = None,
        duration: str | None = None,
        batch_size: int | None = None,
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
        precision: InferencePrecision = "fp32",
    ) -> None:
        """Keep the parameters, which `get_params` returns and `set_params` changes.

        Args:
            model: the encoder that every `fit` starts from: a model or run directory, or a name on the hub.
            recipe: name of a recipe of `litebert finetune`, or the path of a .yaml file.
            learning_rate: of the optimizer; None: that of the recipe.
            duration: of the training, such as `3 epochs`; None: that of the recipe.
            batch_size: None: that of the recipe.
            settings: further settings, as of `litebert.finetune`, such as `{"class_weights": "balanced"}`.
            seed: of the head, of dropout, of the order of the examples and of the rows that are held out.
            precision: arithmetic of the predictions.
        """
        self.model = model
        self.recipe = recipe
        self.learning_rate = learning_rate
        self.duration = duration
        self.batch_size = batch_size
        self.settings = settings
        self.seed = seed
        self.precision = precision

    def _fit(self, texts: Any, labels: list[Any]) -> None:
        """Fine-tune on the rows, a tenth of which is held out and selects the best epoch; keep the files of the model.

        Files rather than the loaded model: they can be pickled, which processes and `joblib.dump` need.
        """
        given = {"learning_rate": self.learning_rate, "duration": self.duration, "batch_size": self.batch_size}
        chosen = {name: value for name, value in given.items() if value is not None}
        split = {"dev": {"seed": self.seed}}
        usual = {"data": split, "baseline": False, "seed": self.seed, "task_type": self.task_type}
        arguments: dict[str, Any] = {**usual, **chosen, **(self.settings or {})}
        with TemporaryDirectory(prefix="litebert-") as directory:
            tuned = finetune(
                self.model,
                train=(_rows(texts), labels),
                out=Path(directory) / "run",
                recipe=self.recipe,
                callbacks=[],
                **arguments,
            )
            self.metrics_: dict[str, float] = dict(tuned.metrics)
            files = (path for path in tuned.model.rglob("*") if path.is_file())
            self.files_ = {str(path.relative_to(tuned.model)): path.read_bytes() for path in files}
        self.__dict__.pop("predictor_", None)

    @cached_property
    def predictor_(self) -> Predictor:
        """The fitted model, with all methods of a `Predictor`."""
        check_is_fitted(self, "files_")
        with TemporaryDirectory(prefix="litebert-") as directory:
            return Predictor(self.save(Path(directory) / "model"), precision=self.precision)

    def save(self, directory: str | Path) -> Path:
        """Write the fitted model to a new model directory, for `litebert` commands, `Predictor` and transformers."""
        check_is_fitted(self, "files_")
        path = Path(directory)
        path.mkdir(parents=True)
        for name, content in self.files_.items():
            write_bytes(path / name, content)
        return path

    def __getstate__(self) -> dict[str, Any]:
        """Without the loaded model, which is made of the files again."""
        return {name: value for name, value in super().__getstate__().items() if name != "predictor_"}

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()  # pyrefly: ignore[missing-attribute]  # its stubs lack it
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


class TextClassifier(ClassifierMixin, TextEstimator):
    """A classifier of texts, or of pairs of texts, that fine-tunes an encoder.

    `fit` holds a tenth of its rows out, which select the best epoch, as `litebert.finetune` does. X is a list, series
    or array of N texts or of N pairs, or a data frame with one or two columns; y has one label a row.
    """

    task_type = "classification"

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 — the names of scikit-learn
        """Fine-tune on texts X and labels y; DataError for labels that are equal or empty as texts."""
        labels = np.asarray(y)
        if labels.ndim != 1:
            raise DataError(f"y: has {labels.ndim} dimensions; give one label for each text")
        self.classes_, indices = np.unique(labels, return_inverse=True)
        names = [json_text(each) if not isinstance(each, str) else each for each in self.classes_.tolist()]
        if len(set(names)) < len(names) or any(not name or name != name.strip() for name in names):
            raise DataError(
                f"y: the labels {', '.join(map(repr, names))} are not different texts without spaces around; rename "
                "them"
            )
        self.names_ = tuple(names)
        self._fit(X, [names[index] for index in indices])
        return self

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """Float32 [N, C]: the probability of each of `classes_`."""
        predictor = self.predictor_
        return predictor.probabilities(_rows(X))[:, [predictor.labels.index(name) for name in self.names_]]

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """[N]: the most probable of `classes_`."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]


class TextRegressor(RegressorMixin, TextEstimator):
    """As `TextClassifier`, for one number a text or pair."""

    task_type = "regression"

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Fine-tune on texts X and numbers y."""
        self._fit(X, np.asarray(y, np.float64).tolist())
        return self

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """Float64 [N]."""
        return np.array(self.predictor_.regress(_rows(X)), np.float64)


def _rows(texts: Any) -> list[Any]:
    """Texts or pairs of texts as a list, also those of a data frame, a series or an array."""
    if hasattr(texts, "itertuples"):
        rows = list(texts.itertuples(index=False, name=None))
        return [row[0] for row in rows] if len(texts.columns) == 1 else rows
    rows = texts.tolist() if hasattr(texts, "tolist") else list(texts)
    return [tuple(row) if isinstance(row, list) else row for row in rows]
