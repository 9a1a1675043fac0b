"""Scoring on labelled rows: any number of processes, any kind, the usual metrics unless others are named."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from litebert.commands.finetune.labelled_set import LabelledSet, task_of
from litebert.errors import ConfigError
from litebert.model.models import ForSequenceClassification
from litebert.tasks.labelled_data import Example, LabelledData
from litebert.training.distributed.context import DistributedContext

CPU = torch.device("cpu")


def data_of(labels=("bad", "good")):
    examples = tuple(Example("the film was good " * (1 + n % 3), None, n % 2) for n in range(7))
    return LabelledData(Path("x"), "classification", examples, labels, "")


@dataclass(frozen=True)
class OneOf:
    """One of several processes, which hears from the others what `parts` says."""

    rank: int
    size: int
    parts: tuple
    device: torch.device

    def gather(self, own):
        np.testing.assert_allclose(own, self.parts[self.rank], atol=1e-5)
        return list(self.parts)


def test_the_work_of_several_processes_comes_together_in_order(tiny_tokenizer, small_config):
    model = ForSequenceClassification(small_config, num_labels=2)
    data = data_of()
    rows = LabelledSet.prepare(data, task_of(data, ("text", None), "label", []), tiny_tokenizer, max_length=32)
    alone = rows.outputs(model, world=DistributedContext(0, 1, CPU))
    parts = tuple(alone[rank::3] for rank in range(3))
    for rank in range(3):
        np.testing.assert_allclose(rows.outputs(model, world=OneOf(rank, 3, parts, CPU)), alone, atol=1e-5)
    assert rows.score(model, world=OneOf(1, 3, parts, CPU)).metrics.keys() == {"accuracy"}


def test_the_first_metric_selects_and_columns_are_kept():
    task = task_of(data_of(("n", "p", "u")), ("a", "b"), "y", ["macro_f1", "accuracy"])
    assert (task.metric_for_best_model, task.text, task.label, task.labels) == (
        "macro_f1",
        ("a", "b"),
        "y",
        ("n", "p", "u"),
    )


def test_a_metric_of_another_kind_is_refused():
    with pytest.raises(ConfigError, match="'pearson' does not measure 'classification'"):
        task_of(data_of(), ("a", None), "y", ["pearson"])
