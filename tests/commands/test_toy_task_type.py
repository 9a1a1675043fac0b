"""A task type of your own, defined in this file only, works with every command."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from litebert.commands.ensemble.ensemble import ensemble
from litebert.commands.ensemble.ensemble_settings import EnsembleRun
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.predict.predict import predict
from litebert.commands.predict.predict_settings import PredictRun
from litebert.errors import ConfigError
from litebert.inference.predictor import Predictor
from litebert.tasks.readers.label_columns import label_scores, non_empty_labels
from litebert.tasks.results import DecodedPrediction
from litebert.tasks.types.registry import register, unregister
from litebert.tasks.types.regression.regression import REGRESSION
from litebert.tasks.types.task_type import CardEntry, ExampleReader, read_texts, score
from support.data.labelled_files import write_opinions
from support.runs.prediction_commands import evaluate_file
from support.runs.tiny_runs import save_pretrained

GRADES = ("F", "C", "A")


@dataclass(frozen=True, slots=True)
class Grade(DecodedPrediction):
    """A grade for one text."""

    columns = ("prediction", "points")
    grade: str
    points: float

    def to_record(self):
        return {"prediction": self.grade, "points": self.points}

    @property
    def counts(self):
        return {"failed": int(self.grade == "F")}


def read_grades(table, columns, options):
    return read_texts(table, columns, label_scores(table, "grade", non_empty_labels(table, "grade")))


def decode_grade(score, example, labels, settings):
    points = float(np.clip(score[0], 0, 2))
    return Grade(GRADES[round(points)], points)


def evaluate_grades(task, predictions, data, lengths, settings):
    predicted, targets = np.stack(predictions)[:, 0].round(), data.targets
    return score(task, predicted, targets, data, lengths)


GRADING = replace(
    REGRESSION,
    name="grading",
    metrics=("accuracy", "pearson"),
    other_metrics=(),
    reader=ExampleReader(
        guess=lambda table, columns: "there is a column 'grade'" if "grade" in table.columns else None,
        read=read_grades,
        label_column=lambda table, columns: "grade",
    ),
    inference=replace(REGRESSION.inference, method="predict", result=Grade, decode=decode_grade),
    evaluate=evaluate_grades,
    collapse=lambda evaluation: None,
    card=CardEntry(title="An ALBERT that grades texts", pipeline_tag="text-classification"),
)


@pytest.fixture
def grading():
    register(GRADING)
    yield GRADING
    unregister("grading")


def test_toy_task_type_works_with_every_command(grading, tiny_tokenizer, tmp_path):
    pretrained = save_pretrained(tiny_tokenizer, tmp_path / "pretrained")
    rows = write_opinions(tmp_path / "grades.tsv", labels=(0, 2))
    rows.write_text(rows.read_text().replace("label", "grade", 1))
    settings = {
        "model": str(pretrained),
        "data": {"train": str(rows), "dev": str(rows)},
        "train": {"duration": "60 steps", "optimizer": "adamw", "learning_rate": 0.01, "device": "cpu"},
        "batch_size": 12,
        "max_length": 32,
    }
    runs = [tmp_path / f"run{seed}" for seed in (0, 1)]
    for seed, run in enumerate(runs):
        result = finetune(FinetuneRun.parse({**settings, "seed": seed}, where="test"), run)
        assert (result.task_type, result.reason) == ("grading", "there is a column 'grade'")
        assert result.best.metrics["accuracy"] > 0.8
    assert evaluate_file(runs[0], rows).metrics == result_of(runs[0])

    (tmp_path / "new.csv").write_text("text\nthe film was good\nthe music was bad\n")
    written = predict(PredictRun(model=str(runs[0]), input=tmp_path / "new.csv", output=tmp_path / "out.jsonl"))
    assert (written.task, written.predictions, written.counts) == ("grading", 2, {"failed": 1})
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["prediction"] for line in lines] == ["A", "F"]

    found = ensemble(EnsembleRun(members=tuple(map(str, runs)), data=rows, out=tmp_path / "both.csv"))
    assert found.score.evaluation.metrics["accuracy"] > 0.8
    assert (tmp_path / "both.csv").read_text().startswith("text,grade,prediction,points\n")
    assert Predictor.load(runs[0]).task == "grading"
    assert "An ALBERT that grades texts" in (runs[0] / "model" / "README.md").read_text()


def test_only_task_types_of_your_own_are_removed(grading):
    with pytest.raises(ConfigError, match=r"task_type: unknown 'grades' .did you mean 'grading'"):
        unregister("grades")
    with pytest.raises(ConfigError, match="task_type: 'regression' is a task type of litebert"):
        unregister("regression")


def result_of(run):
    return json.loads((run / "result.json").read_text())["best"]["metrics"]
