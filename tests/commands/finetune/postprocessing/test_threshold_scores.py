"""What is said about the thresholds of a model."""

import json
import math
from dataclasses import replace

import pytest

from litebert.commands.finetune.best_evaluation import BestEvaluation
from litebert.commands.finetune.postprocessing.threshold_scores import ThresholdScores
from litebert.files import json_bytes
from litebert.tasks.metrics.evaluation import Evaluation

AT_HALF = {"micro_f1": 0.6, "macro_f1": 0.5}


def scores(cross_fitted, *, tuned=False):
    return ThresholdScores(
        tuned=tuned, thresholds={"a": 0.1, "b": 0.4}, at_half=AT_HALF, cross_fitted=cross_fitted, same_rows=AT_HALF
    )


@pytest.mark.parametrize(
    ("micro", "macro", "line"),
    [
        (0.61, 0.7, "macro_f1 0.5000 → 0.7000 (cross-fitted); set tune_thresholds=true"),
        (0.62, 0.5, "micro_f1 0.6000 → 0.6200 (cross-fitted); set tune_thresholds=true"),
        (0.61, 0.51, None),
        (0.59, 0.7, None),
    ],
)
def test_thresholds_are_advised_for_a_clear_gain_that_costs_nothing(micro, macro, line):
    text = scores({"micro_f1": micro, "macro_f1": macro}).to_text("micro_f1")
    assert text == (f"a threshold for each label instead of 0.5: {line}" if line else "")


def test_thresholds_are_advised_where_the_main_metric_does_not_depend_on_them():
    assert "macro_f1" in scores({"micro_f1": 0.6, "macro_f1": 0.7}).to_text("roc_auc")


def test_tuned_thresholds_are_shown_with_the_scores_of_the_same_rows():
    assert scores({"micro_f1": 0.5, "macro_f1": 0.6}, tuned=True).to_text("micro_f1") == (
        "thresholds of 2 labels: 0.10 to 0.40; the scores above are cross-fitted; at 0.5 micro_f1 0.6000, macro_f1 "
        "0.5000; on the rows that chose the thresholds micro_f1 0.6000, macro_f1 0.5000"
    )


def test_threshold_of_two_classes_is_named_with_the_label_that_it_predicts():
    advised = replace(scores({"micro_f1": 0.6, "macro_f1": 0.7}), thresholds={"spam": 0.125})
    assert advised.to_text("micro_f1").startswith("a threshold of 0.12 for 'spam' instead of 0.5: macro_f1 ")
    tuned = replace(advised, tuned=True)
    assert tuned.to_text("micro_f1").startswith("threshold of 0.12 for 'spam'; the scores above are cross-fitted; ")
    assert tuned.description.startswith("tuned on the development examples (0.12 for 'spam') and stored in the bias")


def test_scores_with_thresholds_are_read_from_a_file_also_if_one_is_no_number():
    thresholds = scores({"micro_f1": 0.5, "macro_f1": math.nan}, tuned=True)
    evaluation = Evaluation(metrics={"micro_f1": 0.5}, examples=4)
    best = BestEvaluation(step=1, metric="micro_f1", evaluation=evaluation, thresholds=thresholds)
    values = json.loads(json_bytes(best.to_dict()))
    values["thresholds"]["cross_fitted"]["macro_f1"] = None  # as result.json has it
    found = BestEvaluation.parse(values).thresholds
    assert found is not None
    assert math.isnan(found.cross_fitted["macro_f1"])
    assert found.thresholds == thresholds.thresholds
