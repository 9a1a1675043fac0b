"""The evaluation of the best model, and its file."""

import json
import math

import pytest

from litebert.commands.finetune.best_evaluation import BestEvaluation
from litebert.commands.runs.best_model import evaluation_file
from litebert.errors import CheckpointError
from litebert.files import json_bytes
from litebert.tasks.metrics.evaluation import Evaluation, Part
from litebert.tasks.metrics.metrics import Bin, Calibration

EVALUATION = Evaluation(
    metrics={"accuracy": 0.75, "f1": 0.5},
    examples=4,
    accuracy_interval=(0.3, 0.95),
    labels=("bad", "good"),
    confusion_matrix=[[2, 0], [1, 1]],
    calibration=Calibration(0.1, (Bin(0.5, 0.6, 4, 0.55, 0.75),)),
    by_label=(Part("bad", 2, {"f1": 0.8}), Part("good", 2, {"f1": 0.5})),
)
OF_AN_EARLIER_VERSION = {"step": 3, "metric_for_best_model": "f1", "metrics": {"f1": 0.5}, "examples": 4}


def test_file_of_the_best_evaluation_is_flat_and_is_read_again(tmp_path):
    best = BestEvaluation(step=7, metric="f1", evaluation=EVALUATION, development_examples="4f2a", temperature=1.5)
    values = json.loads(json_bytes(best.to_dict()))
    fields = json.loads(json_bytes(EVALUATION.to_dict()))
    described = {"step": 7, "metric_for_best_model": "f1"}
    assert [*values.items()] == [*(described | fields | {"temperature": 1.5, "development_examples": "4f2a"}).items()]
    (tmp_path / "evaluation.json").write_bytes(json_bytes(values))
    assert BestEvaluation.read(tmp_path / "evaluation.json", if_missing="") == best


def test_best_evaluation_of_an_earlier_version_is_read():
    best = BestEvaluation.parse(OF_AN_EARLIER_VERSION)
    assert (best.step, best.score, best.development_examples, best.temperature) == (3, 0.5, "", None)
    assert not {"temperature", "development_examples"} & best.to_dict().keys()


def test_scores_are_the_metrics_without_thresholds():
    metrics = {"answer_f1": 80.0, "no_answer_threshold": -1.5, "best_f1": 81.0}
    best = BestEvaluation(step=1, metric="answer_f1", evaluation=Evaluation(metrics=metrics, examples=4))
    assert (best.metrics, best.scores, best.score) == (metrics, {"answer_f1": 80.0}, 80.0)


def test_scores_of_parts_that_are_not_numbers_are_null_in_the_file(tmp_path):
    part = Part("a", 1, {"pearson": math.nan})
    evaluation = Evaluation(metrics={"pearson": 0.5}, examples=4, by_slice=(part,), by_length=(part,))
    content = evaluation_file(BestEvaluation(step=1, metric="pearson", evaluation=evaluation).to_dict())
    file = tmp_path / "evaluation.json"
    file.write_bytes(content["evaluation.json"])
    json.loads(file.read_text(), parse_constant=pytest.fail)
    found = BestEvaluation.read(file, if_missing="").evaluation
    assert [math.isnan(each.metrics["pearson"]) for each in (*found.by_slice, *found.by_length)] == [True, True]


@pytest.mark.parametrize(
    "changes",
    [
        *({"step": "x"}, {"metric_for_best_model": None}, {"metrics": 3}),
        *({"by_label": 3}, {"by_length": [1]}, {"by_slice": None}),
    ],
)
def test_another_file_in_the_place_of_the_evaluation_is_refused(tmp_path, changes):
    (tmp_path / "evaluation.json").write_bytes(json_bytes(OF_AN_EARLIER_VERSION | changes))
    with pytest.raises(CheckpointError, match=r"evaluation\.json: not the evaluation of a fine-tuned model; take"):
        BestEvaluation.read(tmp_path / "evaluation.json", if_missing="")
