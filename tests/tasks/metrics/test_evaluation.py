"""Tables over some of the examples."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.metrics.evaluation import MAX_LABELS, Evaluation, Part, parts, parts_by_length


def count(rows):
    return {"rows": float(len(rows))}


@given(st.lists(st.integers(0, 2000), max_size=40))
def test_parts_by_length_partition_the_examples(lengths):
    table = parts_by_length(np.array(lengths, int), count)
    assert sum(part.examples for part in table) == len(lengths)
    assert all(part.examples == part.metrics["rows"] > 0 for part in table)


def test_parts_by_length_names_have_the_limits():
    names = [part.name for part in parts_by_length(np.array([16, 17, 32, 700]), count)]
    assert names == ["1 to 16 tokens", "17 to 32 tokens", "513 to 700 tokens"]


def test_examples_of_length_zero_are_in_the_first_range():
    found = parts_by_length(np.array([0, 5, 17]), count)
    assert [(part.name, part.examples) for part in found] == [("0 to 16 tokens", 2), ("17 to 32 tokens", 1)]


def test_evaluation_text_is_a_line_and_aligned_tables():
    metrics = {"answer_f1": 8.17274, "exact_match": 0.0}
    evaluation = Evaluation(
        metrics=metrics | {"no_answer_threshold": -11.5, "best_f1": 9.25},
        examples=1072,
        by_length=(Part("1 to 16 tokens", 1072, metrics),),
        by_slice=(Part("with an answer", 1000, metrics), Part("without an answer", 72, metrics)),
    )
    assert evaluation.to_text().split("\n") == [
        "answer_f1 8.1727, exact_match 0.0000 on 1,072 examples",
        "                     answer_f1  exact_match  examples",
        "  with an answer        8.1727       0.0000     1,000",
        "  without an answer     8.1727       0.0000        72",
        "  no_answer_threshold  -11.5000",
        "  best_f1                9.2500",
    ]
    assert replace(evaluation, metrics=metrics, by_slice=()).to_text() == evaluation.to_text().split("\n")[0]


def test_evaluation_report_of_many_labels_has_their_number_only():
    labels = tuple(Part(f"label {n}", 1, {"f1": 1.0}) for n in range(MAX_LABELS + 1))
    many = Evaluation(metrics={"accuracy": 1.0}, examples=41, by_label=labels)
    assert many.to_report().splitlines()[1:] == ["  41 labels: --json and --report have the scores of each"]
    few = replace(many, by_label=labels[:-1])
    assert len(few.to_report().splitlines()) == 2 + MAX_LABELS


def test_evaluation_by_slice_leaves_out_examples_without_one():
    assert [(part.name, part.examples) for part in parts(["b", None, "a", "b"], count)] == [("a", 1), ("b", 2)]
    assert parts([None, None], count) == ()


@given(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=30))
def test_parts_have_the_positions_of_their_name(names):
    found = {}
    table = parts(names, lambda rows: found.setdefault(len(found), {"first": float(rows[0]), "rows": len(rows)}))
    assert [part.name for part in table] == sorted({name for name in names if name is not None})
    assert all(part.metrics == {"first": names.index(part.name), "rows": names.count(part.name)} for part in table)


def test_parts_by_length_name_their_unit():
    assert [part.name for part in parts_by_length(np.array([3]), count, unit="words")] == ["1 to 16 words"]
