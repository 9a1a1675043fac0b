"""Estimators of scikit-learn, for its cross-validation, searches and pipelines: `fit` fine-tunes an encoder.

Needs scikit-learn (extra `eval`). Logs, resumption, callbacks and baselines are those of `litebert.finetune`.
"""

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self, get_args

import numpy as np

from litebert.api.data_sources import plain
from litebert.api.training_runs import finetuned
from litebert.errors import ConfigError, DataError, import_extra
from litebert.files import path_of, write_bytes
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
            learning_rate: of AdamW alone; None: what the recipe chooses, which is Muon for small encoders.
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
        if self._loaded is None or self._loaded[0] != self.precision:
            with TemporaryDirectory(prefix="litebert-") as directory:
                predictor = Predictor(self.save(Path(directory) / "model"), precision=self.precision)
            self._loaded = (self.precision, predictor)
        return self._loaded[1]

    def save(self, directory: str | Path) -> Path:
        """Write the fitted model to a new model directory, for `litebert` commands, `Predictor` and transformers.

        Raises ConfigError if it exists.
        """
        self._validate_fitted()
        path = path_of(directory)
        if path.exists():
            raise ConfigError(f"directory: {path} exists; choose another one")
        path.mkdir(parents=True)
        for name, content in self._files.items():
            write_bytes(path / name, content)
        return path

    def _fit(self, texts: list[Any], labels: list[Any]) -> None:
        """Fine-tune on the rows, a tenth of which is held out and selects the best epoch; keep the files of the model.

        Files rather than the loaded model: they can be pickled, which processes and `joblib.dump` need.
        """
        with TemporaryDirectory(prefix="litebert-") as directory:
            tuned, remarks = finetuned(
                self.model,
                train=(texts, labels),
                dev=None,
                out=Path(directory) / "run",
                recipe=self.recipe,
                metrics=(),
                callbacks=[],
                settings={**self._settings(), "task_type": self.task_type},
            )
            for remark in remarks:  # before anything is stored: a filter may make an error of a warning
                _warn(remark)
            files = (path for path in tuned.model.rglob("*") if path.is_file())
            self._files = {str(path.relative_to(tuned.model)): path.read_bytes() for path in files}
        self._loaded: tuple[str, Predictor] | None = None
        self._reads_pairs = isinstance(texts[0], tuple)
        self.metrics_: dict[str, float] = dict(tuned.metrics)

    def _settings(self) -> dict[str, Any]:
        """Those of the fine-tuning run; ConfigError for one of `settings` that has an argument of its own."""
        if not isinstance(self.seed, int | np.integer) or self.seed < 0:
            raise ConfigError(f"seed: {self.seed!r}, expected a whole number from 0")
        if self.precision not in get_args(InferencePrecision):
            known = ", ".join(get_args(InferencePrecision))
            raise ConfigError(f"precision: {self.precision!r}, expected one of {known}")
        if not isinstance(self.settings, Mapping | None):
            raise ConfigError(f"settings: {self.settings!r}, expected a mapping of names to values, or None")
        further = dict(self.settings or {})
        if taken := sorted(further.keys() & set(OWN_ARGUMENTS)):
            raise ConfigError(
                f"settings: {taken[0]!r} is no further setting; give it as an argument of {type(self).__name__}, if it "
                "has this one"
            )
        given = {"learning_rate": self.learning_rate, "duration": self.duration, "batch_size": self.batch_size}
        chosen = {name: value for name, value in given.items() if value is not None}
        seed = int(self.seed)
        usual = {"seed": seed, "baseline": False, "data": {"dev": {"seed": seed}}}
        return merged_settings({**usual, **chosen}, further)

    def _validate_fitted(self) -> None:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)

    def _predictor_and_rows(self, texts: Any) -> tuple[Predictor, list[Any]]:
        """The model and its inputs; DataError for pairs where it was fitted to single texts, and the reverse."""
        predictor, rows = self.to_predictor(), _rows(texts)
        if rows and isinstance(rows[0], tuple) != self._reads_pairs:
            fitted, found = ("pairs of texts", "single texts") if self._reads_pairs else ("single texts", "pairs")
            raise DataError(f"X: has {found}, but `fit` had {fitted}; give the same columns")
        return predictor, rows

    def __sklearn_is_fitted__(self) -> bool:
        return "_files" in vars(self)

    def __getstate__(self) -> dict[str, Any]:
        """Without the loaded model, which is made of the files again."""
        state = dict(super().__getstate__())
        return {**state, "_loaded": None} if "_loaded" in state else state

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
        """Fine-tune on texts X and labels y.

        Raises DataError for missing texts and labels, and for labels that are equal as texts, and ValueError, as other
        classifiers of scikit-learn, for numbers that are no classes.
        """
        from sklearn.utils.multiclass import check_classification_targets

        labels = _column(y)
        check_classification_targets(labels)
        classes, indices = np.unique(labels, return_inverse=True)
        names = [each if isinstance(each, str) else json_text(each) for each in classes.tolist()]
        if len(set(names)) < len(names) or any(not name or name != name.strip() for name in names):
            shown = ", ".join(map(repr, names))
            raise DataError(f"y: the labels {shown} are not different texts without spaces around; rename them")
        if objects := [name for name in names if name.startswith("{")]:
            raise DataError(f"y: the label {objects[0]!r:.60} begins as probabilities of labels do; rename it")
        self._fit(_rows(X), [names[index] for index in indices])
        self.classes_, self._names = classes, names
        return self

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """Float32 [N, C]: the probability of each of `classes_`."""
        predictor, rows = self._predictor_and_rows(X)
        return predictor.probabilities(rows)[:, [predictor.labels.index(name) for name in self._names]]

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
        predictor, rows = self._predictor_and_rows(X)
        return np.array(predictor.regress(rows), np.float64)


def _column(y: Any) -> np.ndarray:
    """Labels as one column; DataError for several columns and for missing labels."""
    given = _listed(y, "y", "labels")  # an array would make texts of missing values
    given = [row[0] if isinstance(row, list) and len(row) == 1 else row for row in given]
    if missing := [number for number, value in enumerate(given, start=1) if plain(value) is None]:
        raise DataError(f"y: row {missing[0]} (counted from 1) has no label; leave the row out")
    for number, value in enumerate(given, start=1):
        if isinstance(value, list | tuple | np.ndarray):
            raise DataError(f"y: row {number} (counted from 1) is {value!r:.60}, expected one label for each text")
    return np.asarray(given)


def _number(value: Any, row: int) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise DataError(f"y: row {row} (counted from 1) has {value!r}, expected a number") from None


def _listed(values: Any, name: str, what: str) -> list[Any]:
    """A list of the rows of anything; those of a data frame are lists."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise DataError(f"{name}: found {values!r:.40}, expected a list of {what}")
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _rows(texts: Any) -> list[Any]:
    """Texts, or pairs of texts as tuples; DataError for anything else, for a mixture of both, and for missing texts."""
    rows = [tuple(row) if isinstance(row, list) else row for row in _listed(texts, "X", "texts or pairs of texts")]
    rows = [row[0] if isinstance(row, tuple) and len(row) == 1 else row for row in rows]
    for number, row in enumerate(rows, start=1):
        where, parts = f"X: row {number} (counted from 1)", row if isinstance(row, tuple) else (row,)
        if isinstance(row, dict) or len(parts) > 2:
            raise DataError(f"{where} is {row!r:.60}, expected a text or a pair of texts; choose one or two columns")
        if any(plain(part) is None for part in parts):
            raise DataError(f"{where} has no text; leave the row out, or fill it")
        if not all(isinstance(part, str) for part in parts) or isinstance(row, tuple) != isinstance(rows[0], tuple):
            kind = "a pair of texts" if isinstance(rows[0], tuple) else "a text"
            raise DataError(f"{where} is {row!r:.60}, expected {kind}, as in the first row")
    return rows


def _warn(remark: str) -> None:
    """Warn of a model that may have learned nothing, as estimators of scikit-learn do, with the names of parameters."""
    from sklearn.exceptions import ConvergenceWarning

    text = re.sub(r"\btrain\.(?=\w+=)", "", remark.replace(" (--dev)", ""))
    warnings.warn(text, ConvergenceWarning, stacklevel=4)
