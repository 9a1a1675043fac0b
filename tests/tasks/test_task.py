"""A task is a row of data."""

from litebert.tasks.task import Task


def test_labels_decide_the_kind_and_the_width_of_the_head():
    classes = Task(text=("a",), label="y", labels=("n", "p", "u"), metrics=("accuracy",), select_by="accuracy")
    scores = Task(text=("a", "b"), label="y", labels=None, metrics=("pearson",), select_by="pearson")
    assert (classes.kind, classes.num_outputs) == ("classification", 3)
    assert (scores.kind, scores.num_outputs) == ("regression", 1)
