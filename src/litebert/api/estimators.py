"""Estimators of scikit-learn, for its cross-validation, searches and pipelines: `fit` fine-tunes an encoder.

Needs scikit-learn (extra `eval`). Logs, resumption, callbacks and baselines are those of `litebert.finetune`.
"""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

import numpy as np

from litebert.api.data_sources import plain
from litebert.api.training_runs import finetune
from litebert.errors import ConfigError, DataError, import_extra
from litebert.files import write_bytes
from litebert.inference.predictor import Predictor
from litebert.settings import InferencePrecision, merged_settings
from litebert.tasks.readers.tables import json_text

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
except ImportError:
    # The names exist, so that `import *` works; the classes are refused when they are made.
    BaseEstimator, ClassifierMixin, RegressorMixin = (type("Missing", (), {}) for _ in range(3))

OWN_ARGUMENTS: Final = (
    *("model", "recipe", "learning_rate", "duration", "batch_size", "seed"),
    *("train", "dev", "out", "callbacks", "task_type"),
)
"""Arguments of `finetune` that are parameters of an estimator, or that it decides."""


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

        Raises:
            MissingExtraError: scikit-learn is not installed.
        """
        import_extra("sklearn", extra="eval", needed_for=type(self).__name__, package="scikit-learn")
        self.model = model
        self.recipe = recipe
        self.learning_rate = learning_rate
        self.duration = duration
        self.batch_size = batch_size
        self.settings = settings
        self.seed = seed
        self.precision = precision

    def to_predictor(self) -> Predictor:
        """The fitted model, with all methods of a `Predictor`; it is loaded at the first use."""
        self._validate_fitted()
        if self._predictor is None:
            with TemporaryDirectory(prefix="litebert-") as directory:
                self._predictor = Predictor(self.save(Path(directory) / "model"), precision=self.precision)
        return self._predictor

    def save(self, directory: str | Path) -> Path:
        """Write the fitted model to a new model directory, for `litebert` commands, `Predictor` and transformers."""
        self._validate_fitted()
        path = Path(directory)
        path.mkdir(parents=True)
        for name, content in self._files.items():
            write_bytes(path / name, content)
        return path

    def _fit(self, texts: list[Any], labels: list[Any]) -> None:
        """Fine-tune on the rows, a tenth of which is held out and selects the best epoch; keep the files of the model.

        Files rather than the loaded model: they can be pickled, which processes and `joblib.dump` need.
        """
        with TemporaryDirectory(prefix="litebert-") as directory:
            tuned = finetune(
                self.model,
                train=(texts, labels),
                out=Path(directory) / "run",
                recipe=self.recipe,
                callbacks=[],
                task_type=self.task_type,
                **self._settings(),
            )
            files = (path for path in tuned.model.rglob("*") if path.is_file())
            self._files = {str(path.relative_to(tuned.model)): path.read_bytes() for path in files}
            self._predictor: Predictor | None = None
        self.metrics_: dict[str, float] = dict(tuned.metrics)

    def _settings(self) -> dict[str, Any]:
        """Those of the fine-tuning run; ConfigError for one of `settings` that has an argument of its own."""
        further = dict(self.settings or {})
        if taken := sorted(further.keys() & set(OWN_ARGUMENTS)):
            raise ConfigError(
                f"settings: {taken[0]!r} is no further setting; give it as an argument of {type(self).__name__}, if it "
                "has this one"
            )
        given = {"learning_rate": self.learning_rate, "duration": self.duration, "batch_size": self.batch_size}
        chosen = {name: value for name, value in given.items() if value is not None}
        usual = {"seed": self.seed, "baseline": False, "data": {"dev": {"seed": self.seed}}}
        return merged_settings({**usual, **chosen}, further)

    def _validate_fitted(self) -> None:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)

    def __sklearn_is_fitted__(self) -> bool:
        return "_files" in vars(self)

    def __getstate__(self) -> dict[str, Any]:
        """Without the loaded model, which is made of the files again."""
        state = dict(super().__getstate__())
        return {**state, "_predictor": None} if "_predictor" in state else state

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()  # pyrefly: ignore[missing-attribute]  # its stubs lack it
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


class TextClassifier(ClassifierMixin, TextEstimator):
    """A classifier of texts, or of pairs of texts, that fine-tunes an encoder.

    `fit` holds a tenth of its rows out, which select the best epoch, as `litebert.finetune` does. X is a list, series
    or array of N texts or of N pairs, or a data frame with one or two columns; y has one label a row. After it
    `classes_` are the sorted labels, and `metrics_` the scores on the rows that were held out.
    """

    task_type = "classification"

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 — the names of scikit-learn
        """Fine-tune on texts X and labels y; DataError for missing labels, and for those that are equal as texts."""
        classes, indices = np.unique(_column(y), return_inverse=True)
        names = [each if isinstance(each, str) else json_text(each) for each in classes.tolist()]
        if len(set(names)) < len(names) or any(not name or name != name.strip() for name in names):
            shown = ", ".join(map(repr, names))
            raise DataError(f"y: the labels {shown} are not different texts without spaces around; rename them")
        self._fit(_rows(X), [names[index] for index in indices])
        self.classes_, self._names = classes, names
        return self

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """Float32 [N, C]: the probability of each of `classes_`."""
        predictor = self.to_predictor()
        return predictor.probabilities(_rows(X))[:, [predictor.labels.index(name) for name in self._names]]

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """[N]: the most probable of `classes_`."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]


class TextRegressor(RegressorMixin, TextEstimator):
    """As `TextClassifier`, for one number a text or pair."""

    task_type = "regression"

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Fine-tune on texts X and numbers y; DataError for missing numbers, and for those that are none."""
        self._fit(_rows(X), [_number(value, number) for number, value in enumerate(_column(y).tolist(), start=1)])
        return self

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """Float64 [N]."""
        return np.array(self.to_predictor().regress(_rows(X)), np.float64)


def _column(y: Any) -> np.ndarray:
    """Labels as one column; DataError for several columns and for missing labels."""
    given = y.tolist() if hasattr(y, "tolist") else list(y)  # an array would make texts of missing values
    given = [row[0] if isinstance(row, list) and len(row) == 1 else row for row in given]
    if missing := [number for number, value in enumerate(given, start=1) if plain(value) is None]:
        raise DataError(f"y: row {missing[0]} (counted from 1) has no label; leave the row out")
    labels = np.asarray(given)
    if labels.ndim != 1:
        raise DataError(f"y: has {labels.ndim} dimensions, expected one label for each text")
    return labels


def _number(value: Any, row: int) -> float:
    try:
        return float(value)
    except ValueError:
        raise DataError(f"y: row {row} (counted from 1) has {value!r}, expected a number") from None


def _rows(texts: Any) -> list[Any]:
    """Texts or pairs of texts as a list, also those of a data frame, a series or an array."""
    if isinstance(texts, str) or not hasattr(texts, "__iter__"):
        raise DataError(f"X: found a {type(texts).__name__}, expected texts; put a single one into a list")
    if hasattr(texts, "itertuples"):
        rows = list(texts.itertuples(index=False, name=None))
    else:
        rows = texts.tolist() if hasattr(texts, "tolist") else list(texts)
    rows = [tuple(row) if isinstance(row, list) else row for row in rows]
    return [row[0] if isinstance(row, tuple) and len(row) == 1 else row for row in rows]
