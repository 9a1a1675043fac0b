"""Train/dev splits."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import DataError
from litebert.tasks.labelled_data import LabelledData, input_key
from litebert.tasks.questions import Question
from litebert.tasks.readers.splits import train_dev_split
from litebert.tasks.types.pronoun_resolution.pronoun_examples import PronounExample
from litebert.tasks.types.registry import get_task_type
from support.data.example_builders import choice, example, tokens


def data_of(groups):
    examples = tuple(example(f"text {n}", None, 0, group) for n, group in enumerate(groups))
    return LabelledData(Path("train.tsv"), "classification", examples, ("a", "b"), "as asked")


@given(st.lists(st.sampled_from("abcdefghij"), min_size=30, max_size=60), st.integers(0, 9))
def test_train_dev_split_keeps_groups_together_and_loses_no_row(groups, seed):
    data = data_of([*groups, "k", "l"])
    train, dev = train_dev_split(data, 0.2, seed=seed)
    assert {example.group for example in train.examples}.isdisjoint(example.group for example in dev.examples)
    assert sorted((*train.examples, *dev.examples), key=data.examples.index) == list(data.examples)
    assert train.examples
    assert dev.examples


def test_train_dev_split_without_groups_has_the_fraction_and_depends_on_the_seed():
    data = data_of([None] * 100)
    parts = [train_dev_split(data, 0.1, seed=seed)[1].examples for seed in (0, 0, 1)]
    assert [len(part) for part in parts] == [10, 10, 10]
    assert parts[0] == parts[1] != parts[2]


def test_train_dev_split_keeps_equal_texts_together():
    twins = tuple(example(f"text {n // 2}", None, n % 2, None) for n in range(40))
    train, dev = train_dev_split(LabelledData(Path("x"), "classification", twins, ("a", "b"), ""), 0.25, seed=3)
    assert {example.text for example in train.examples}.isdisjoint(example.text for example in dev.examples)


def test_train_dev_split_keeps_texts_together_that_an_uncased_model_reads_alike():
    texts = tuple(example(("Déjà vu ", "deja vu ")[n % 2] + str(n // 2), None, 0, None) for n in range(40))
    train, dev = train_dev_split(LabelledData(Path("x"), "classification", texts, ("a", "b"), ""), 0.25, seed=3)
    assert {input_key(each) for each in train.examples}.isdisjoint(input_key(each) for each in dev.examples)


@given(st.lists(st.sampled_from("aaaaaaaab"), min_size=4, max_size=60), st.integers(0, 9))
def test_train_dev_split_holds_out_the_fraction_of_each_stratum(letters, seed):
    strata = [*letters, "b", "b"]
    examples = tuple(example(f"text {n}", None, 0, None) for n in range(len(strata)))
    train, dev = train_dev_split(
        LabelledData(Path("x"), "classification", examples, ("a", "b"), ""), 0.2, seed=seed, strata=strata
    )
    of_text = {each.text: stratum for each, stratum in zip(examples, strata)}
    for stratum in {stratum for stratum in strata if strata.count(stratum) > 1}:
        in_dev = sum(of_text[each.text] == stratum for each in dev.examples)
        assert in_dev == max(1, int(0.2 * strata.count(stratum) + 0.5))
        assert any(of_text[each.text] == stratum for each in train.examples)


@pytest.mark.parametrize("rows", [5, 20, 30, 60, 99, 100, 300])
def test_split_of_scores_holds_out_a_tenth_of_few_rows_too(rows):
    examples = tuple(example(f"text {n}", None, n / 2, None) for n in range(rows))
    data = LabelledData(Path("x"), "regression", examples, None, "")
    _, dev = train_dev_split(data, 0.1, seed=0, strata=get_task_type("regression").strata(data))
    assert dev.examples
    assert abs(len(dev.examples) - rows / 10) < 1


def test_train_dev_split_of_single_examples_holds_out_one():
    data = data_of(["a", "b", "c"])
    train, dev = train_dev_split(data, 0.2, seed=0, strata=[0, 1, 2])
    assert (len(train.examples), len(dev.examples)) == (2, 1)


def test_train_dev_split_keeps_the_lines_of_the_rows():
    data = replace(data_of([None] * 10), lines=tuple(range(2, 12)))
    for part in train_dev_split(data, 0.3, seed=1):
        assert [f"text {line - 2}" for line in part.lines or ()] == [each.text for each in part.examples]


def test_train_dev_split_rejects_a_single_group():
    with pytest.raises(DataError, match="all rows are in one group, which cannot be split; give a development file"):
        train_dev_split(data_of(["same"] * 5), 0.2, seed=0)


def test_split_key_of_questions_about_one_text_and_of_equal_sentences_is_the_same():
    questions = [choice("a text", f"question {n}", ("x", "y"), 0) for n in range(3)]
    sentences = [tokens(("same", "words"), (n, 0)) for n in range(2)]
    assert len({each.split_key for each in questions}) == len({each.split_key for each in sentences}) == 1


def test_train_dev_split_logs_the_sizes(caplog):
    with caplog.at_level(logging.INFO, "litebert"):
        train_dev_split(data_of([None] * 20), 0.1, seed=0)
    assert "train.tsv: 2 of 20 rows are the development set" in caplog.text


@pytest.mark.parametrize(
    ("rare", "warning"),
    [
        ([example("odd", None, 2, None)], "train.csv: label 'mixed' has 1 row, and none in the development set"),
        ([example(f"odd {n}", None, 2, None) for n in range(2)], ""),
        ([example("odd", None, 2, None)] * 2, "label 'mixed' has 2 rows, and none in the development set"),
    ],
)
def test_label_of_training_rows_only_is_a_warning(rare, warning, caplog):
    examples = (*(example(f"text {n}", None, n % 2, None) for n in range(40)), *rare)
    data = LabelledData(Path("train.csv"), "classification", examples, ("bad", "good", "mixed"), "")
    train_dev_split(data, 0.1, seed=0, strata=[each.target for each in examples])
    warned = " ".join(record.message for record in caplog.records if record.levelname == "WARNING")
    assert warning in warned
    assert bool(warning) == bool(warned)


@pytest.mark.parametrize("kind", ["tokens", "choice", "question", "pronoun"])
def test_texts_that_an_uncased_model_reads_alike_stay_together(kind):
    def of(text):
        if kind == "tokens":
            return tokens(text.split())
        if kind == "choice":
            return choice(text, None, ("a", "b"))
        if kind == "question":
            return Question(id=text, text="Who?", context=text, answers=())
        return PronounExample(text=text, pronoun=(0, 2), candidate="the film", target=1)

    assert of("It was Good").split_key == of("it was good").split_key
    assert of("It was Good").split_key != of("it was bad").split_key
