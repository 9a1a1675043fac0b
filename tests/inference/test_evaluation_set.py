"""Evaluation of labelled examples, alone and over several processes."""

from pathlib import Path

import numpy as np
import pytest

from litebert.inference.evaluation_set import EvaluationSet
from litebert.inference.pipeline import Pipeline, model_outputs
from litebert.inference.task_pipeline import Workers
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.readers.columns import Columns
from litebert.tasks.task_of_data import task_for
from support.data.example_builders import example
from support.models.tolerances import tolerance


@pytest.mark.parametrize("rank", range(3))
def test_evaluation_set_gathers_the_predictions_of_all_processes(saved, rank):
    pipeline = Pipeline.load(saved["classifier"])
    examples = tuple(example("the film was good " * (1 + n % 3), None, n % 3) for n in range(7))
    data = LabelledData(Path("x"), "classification", examples, pipeline.labels, "")
    evaluation_set = EvaluationSet.prepare(data, task_for(data, Columns()), pipeline)
    alone = model_outputs(pipeline.model, evaluation_set.encoded, pipeline.task_type.forward)
    parts = [alone[each::3] for each in range(3)]

    def gather(own):
        np.testing.assert_allclose(own, parts[rank], atol=tolerance())
        return parts

    together = evaluation_set.score(pipeline, workers=Workers(rank, 3, gather)).evaluation
    assert together.metrics == evaluation_set.score(pipeline).evaluation.metrics
    assert together.metrics.keys() == {"accuracy"}
