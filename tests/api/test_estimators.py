"""Estimators of scikit-learn: what its tools need of them, and that they are the model that `finetune` makes."""

import pickle
import subprocess
import sys
import warnings
from datetime import datetime

import numpy as np
import pytest

import litebert
from litebert.errors import ConfigError, DataError
from litebert.inference.predictor import Predictor
from support.runs.tiny_runs import API_SETTINGS

sklearn = pytest.importorskip("sklearn")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # few rows are held out

STEPS = "80 steps"
SETTINGS = {**API_SETTINGS, "duration": STEPS, "evaluate_every": STEPS, "precision": "fp32"}
"""Of the few rows too few are held out to select an epoch."""
GIVEN = {name: SETTINGS[name] for name in ("learning_rate", "duration", "batch_size")}
OTHERS = {name: value for name, value in SETTINGS.items() if name not in GIVEN}


def classifier(model, **changes):
    return litebert.TextClassifier(model, settings=OTHERS, **{**GIVEN, **changes})


def regressor(model):
    return litebert.TextRegressor(model, settings=OTHERS, **GIVEN)


@pytest.fixture(scope="module")
def texts(opinions):
    return [row["text"] for row in opinions]


@pytest.fixture(scope="module")
def labels(opinions):
    return [row["label"] for row in opinions]


@pytest.fixture(scope="module")
def fitted(pretrained, texts, labels):
    return classifier(pretrained).fit(texts, labels)


def test_a_classifier_learns_and_has_the_attributes_of_scikit_learn(fitted, texts, labels):
    assert fitted.classes_.tolist() == ["bad", "good"]
    probabilities = fitted.predict_proba(texts)
    assert probabilities.shape == (len(texts), 2)
    assert np.allclose(probabilities.sum(1), 1)
    assert fitted.predict(texts).tolist() == fitted.classes_[probabilities.argmax(1)].tolist()
    assert fitted.score(texts, labels) > 0.9
    assert "accuracy" in fitted.metrics_


def test_the_fitted_model_is_that_of_finetune(fitted, pretrained, texts, labels, tmp_path):
    settings = {**SETTINGS, "task_type": "classification", "baseline": False}
    tuned = litebert.finetune(pretrained, train=(texts, labels), out=tmp_path / "run", callbacks=[], **settings)
    expected = Predictor(tuned.model, precision="fp32").probabilities(texts)
    order = [tuned.predictor.labels.index(name) for name in fitted.classes_]
    assert np.array_equal(fitted.predict_proba(texts), expected[:, order])


def test_a_saved_model_and_a_pickled_estimator_give_the_same_predictions(fitted, texts, tmp_path):
    expected = fitted.predict_proba(texts)
    again = pickle.loads(pickle.dumps(fitted))
    assert again._loaded is None
    assert np.array_equal(again.predict_proba(texts), expected)
    saved = Predictor(fitted.save(tmp_path / "model"), precision="fp32")
    assert np.array_equal(saved.probabilities(texts)[:, [saved.labels.index("bad")]], expected[:, :1])
    with pytest.raises(ConfigError, match=r"directory: .*model exists; choose another one"):
        fitted.save(tmp_path / "model")


def test_cross_validation_and_searches_fit_clones(pretrained, texts, labels):
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, cross_val_score

    estimator = classifier(pretrained, duration="2 steps")
    assert clone(estimator).get_params() == estimator.get_params()
    assert len(cross_val_score(estimator, texts, labels, cv=2)) == 2
    search = GridSearchCV(estimator, {"learning_rate": [1e-9, GIVEN["learning_rate"]]}, cv=2).fit(texts, labels)
    assert search.best_estimator_.predict(texts[:1]).tolist()[0] in ("bad", "good")
    assert estimator.set_params(batch_size=4).batch_size == 4


def test_a_pipeline_ends_in_a_classifier(pretrained, texts, labels):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    lower = FunctionTransformer(lambda rows: [text.lower() for text in rows])
    pipeline = make_pipeline(lower, classifier(pretrained, duration="2 steps")).fit(texts, labels)
    assert pipeline.predict_proba(["THE FILM WAS GOOD"]).shape == (1, 2)


@pytest.mark.parametrize("kind", ["list", "array", "frame", "lists"])
def test_pairs_of_texts_are_rows_of_two(pretrained, texts, labels, kind):
    pandas = pytest.importorskip("pandas")
    pairs = list(zip(texts, reversed(texts), strict=True))
    rows = {
        "list": pairs,
        "array": np.array(pairs, object),
        "frame": pandas.DataFrame(pairs, columns=["one", "two"]),
        "lists": list(map(list, pairs)),
    }[kind]
    fitted = classifier(pretrained, duration="2 steps").fit(rows, labels)
    assert np.array_equal(fitted.predict_proba(rows), fitted.predict_proba(pairs))


def test_texts_are_a_list_a_series_an_array_or_a_column(fitted, texts):
    pandas = pytest.importorskip("pandas")
    expected = fitted.predict(texts).tolist()
    for rows in (tuple(texts), np.array(texts), pandas.Series(texts), pandas.DataFrame({"review": texts})):
        assert fitted.predict(rows).tolist() == expected


@pytest.mark.parametrize("classes", [(0, 1), (-1, 1), (False, True), (10, 9)])
def test_labels_that_are_no_texts_come_back_as_they_were(pretrained, texts, labels, classes):
    given = [classes[label == "good"] for label in labels]
    fitted = classifier(pretrained).fit(texts, given)
    assert fitted.classes_.tolist() == sorted(classes)
    assert fitted.score(texts, given) > 0.9
    assert fitted.predict(texts).dtype == np.array(given).dtype


def test_a_regressor_predicts_numbers(pretrained, texts, labels):
    scores = [float(label == "good") for label in labels]
    fitted = regressor(pretrained).fit(texts, np.array(scores))
    assert fitted.predict(texts).shape == (len(texts),)
    assert fitted.score(texts, scores) > 0.5


def test_wrong_labels_are_refused(pretrained, texts, labels):
    for wrong in ([0, 1], [], ("a", "b")):
        with pytest.raises(DataError, match=r"y: row 2 .counted from 1. is .*, expected one label for each text"):
            classifier(pretrained).fit(texts, [labels[0], wrong, *labels[2:]])
    with pytest.raises(DataError, match="y: the labels ' good', 'bad' are not different texts without spaces around"):
        classifier(pretrained).fit(texts, [" good" if label == "good" else label for label in labels])
    with pytest.raises(DataError, match=r"y: the label '\{.* begins as probabilities of labels do; rename it"):
        classifier(pretrained).fit(texts, ['{"good": 1}' if label == "good" else label for label in labels])
    with pytest.raises(DataError, match="train: 2 texts and 3 labels"):
        classifier(pretrained).fit(texts[:2], labels[:3])


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan])
def test_missing_labels_are_refused(pretrained, texts, labels, missing):
    with pytest.raises(DataError, match=r"y: row 2 \(counted from 1\) has no label; leave the row out"):
        classifier(pretrained).fit(texts, [labels[0], missing, *labels[2:]])
    with pytest.raises(DataError, match=r"y: row 1 \(counted from 1\) has no label"):
        regressor(pretrained).fit(texts, [missing] * len(texts))


def test_regressors_need_numbers(pretrained, texts):
    with pytest.raises(DataError, match=r"y: row 1 \(counted from 1\) has 'much', expected a number"):
        regressor(pretrained).fit(texts, ["much"] * len(texts))


@pytest.mark.parametrize("wrong", ["a text", None, 7])
def test_texts_that_are_none_are_refused(fitted, wrong):
    with pytest.raises(DataError, match=r"X: found .*, expected a list of texts or pairs of texts"):
        fitted.predict(wrong)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (None, r"X: row 2 \(counted from 1\) has no text; leave the row out, or fill it"),
        (float("nan"), "has no text"),
        ({"text": "a"}, "is {'text': 'a'}, expected a text or a pair of texts"),
        (("a", "b", "c"), r"is \('a', 'b', 'c'\), expected a text or a pair of texts; choose one or two columns"),
        (("a", "b"), r"is \('a', 'b'\), expected a text, as in the first row"),
        (7, "is 7, expected a text, as in the first row"),
    ],
)
def test_rows_that_are_no_texts_are_refused_by_fit_and_predict(fitted, pretrained, texts, labels, row, message):
    with pytest.raises(DataError, match=message):
        classifier(pretrained).fit([texts[0], row, *texts[2:]], labels)
    with pytest.raises(DataError, match=message):
        fitted.predict([texts[0], row])


def test_pairs_are_refused_by_an_estimator_of_single_texts(fitted):
    with pytest.raises(DataError, match="X: has pairs, but `fit` had single texts; give the same columns"):
        fitted.predict([("one", "two")])


def test_numbers_that_are_no_classes_are_refused(pretrained, texts):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        classifier(pretrained).fit(texts, np.linspace(0.1, 0.9, len(texts)))


def test_labels_may_be_a_column_of_a_data_frame(pretrained, texts, labels):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"label": labels}, index=range(7, 7 + len(labels)))
    assert classifier(pretrained, duration="2 steps").fit(texts, frame).classes_.tolist() == ["bad", "good"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": None}, "seed: None, expected a whole number from 0"),
        ({"seed": -1}, "seed: -1, expected a whole number from 0"),
        ({"precision": "fp99"}, "precision: 'fp99', expected one of auto, fp32"),
        ({"settings": ["class_weights"]}, r"settings: \['class_weights'\], expected a mapping"),
    ],
)
def test_wrong_parameters_are_refused_before_training(pretrained, texts, labels, changes, message):
    with pytest.raises(ConfigError, match=message):
        litebert.TextClassifier(pretrained, **changes).fit(texts, labels)


def test_another_precision_is_used_from_the_next_prediction_on(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert again.to_predictor().precision == "fp32"
    assert again.set_params(precision="bf16").to_predictor().precision == "bf16"
    assert again.to_predictor() is again.to_predictor()


def test_a_model_that_may_have_learned_nothing_is_a_convergence_warning(pretrained, texts, labels):
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="development rows are too few") as told:
        classifier(pretrained, duration="1 steps").fit(texts, labels)
    assert not any("--" in str(each.message) or "train." in str(each.message) for each in told)


@pytest.mark.parametrize("name", ["learning_rate", "seed", "callbacks", "out"])
def test_further_settings_do_not_replace_arguments(pretrained, texts, labels, name):
    with pytest.raises(ConfigError, match=f"settings: '{name}' is no further setting; give it as an argument of Text"):
        litebert.TextClassifier(pretrained, settings={name: 1}).fit(texts, labels)


def test_further_settings_of_the_data_are_merged(pretrained):
    estimator = litebert.TextClassifier(pretrained, seed=3, settings={"data": {"dev": {"fraction": 0.5}}})
    assert estimator._settings()["data"] == {"dev": {"seed": 3, "fraction": 0.5}}


def test_a_column_of_labels_and_of_texts_has_one_value_a_row(pretrained, texts, labels):
    fitted = classifier(pretrained, duration="2 steps").fit(np.array(texts)[:, None], np.array(labels)[:, None])
    assert fitted.predict([(text,) for text in texts]).tolist() == fitted.predict(texts).tolist()


def test_showing_an_estimator_loads_no_model(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert "TextClassifier" in again._repr_html_()
    assert again._loaded is None


def test_without_scikit_learn_the_classes_exist_and_are_refused_when_they_are_made():
    code = (
        "import sys; sys.modules['sklearn'] = None; sys.modules['sklearn.base'] = None\n"
        "from litebert import *\n"
        "try: TextClassifier('model')\nexcept ImportError as error: print(error)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("TextClassifier needs the package 'scikit-learn'; install it with: pip install")


@pytest.mark.parametrize("call", ["predict", "save"])
def test_an_estimator_that_is_not_fitted_is_refused(pretrained, call, tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        getattr(classifier(pretrained), call)(tmp_path / "model" if call == "save" else ["a text"])


def test_a_warning_that_is_an_error_leaves_the_estimator_unfitted(pretrained, texts, labels):
    from sklearn.exceptions import ConvergenceWarning, NotFittedError

    estimator = classifier(pretrained, duration="1 steps")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ConvergenceWarning):
            estimator.fit(texts, labels)
    with pytest.raises(NotFittedError):
        estimator.predict(texts)


def test_objects_are_no_numbers(pretrained, texts):
    with pytest.raises(DataError, match=r"y: row 1 \(counted from 1\) has .*, expected a number"):
        regressor(pretrained).fit(texts, [datetime(2026, 1, 1)] * len(texts))
