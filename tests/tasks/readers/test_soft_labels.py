"""Labels with probabilities: what is read, what the loss makes of it, and what never reads them."""

import json
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from litebert.commands.finetune.default_settings import count_rows
from litebert.errors import DataError
from litebert.tasks.encoded import LabelledBatch
from litebert.tasks.labelled_data import Example, training_targets
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.soft_labels import soft_labels
from litebert.tasks.readers.splits import train_dev_split
from litebert.tasks.readers.tables import Row, Table
from litebert.tasks.text_sequences import encode_sequences
from litebert.tasks.types.classification.classification import CLASSIFICATION, class_losses
from litebert.tasks.types.multi_label.multi_label import MULTI_LABEL, binary_losses
from litebert.tasks.types.task_type import ReadOptions
from support.models.tolerances import close_to

TRAINING = ReadOptions(soft_labels=True)


class Constant(torch.nn.Module):
    """A model that returns these logits, whatever it reads."""

    def __init__(self, logits):
        super().__init__()
        self.logits = torch.tensor(logits)

    def forward(self, *inputs):
        return self


def loss_of(losses, logits, targets, weights=None) -> tuple[float, int]:
    """The sum of the losses, and of the correct predictions."""
    batch = LabelledBatch((), torch.tensor(targets), num_tokens=1)
    sums = losses(Constant(logits), batch, None if weights is None else torch.tensor(weights))
    return float(sums.losses["label"]), int(sums.correct["label"])


def jsonl(path, *rows):
    path.write_text("".join(f"{json.dumps({'text': f'text {index}', **row})}\n" for index, row in enumerate(rows)))
    return path


def soft(**probabilities):
    return {"probabilities": probabilities}


def test_objects_as_labels_and_the_probabilities_of_rows_without_one_are_soft_labels(tmp_path):
    rows = [{"label": "good"}, {"label": {"good": 0.2, "bad": 0.8}}, soft(good=0.75, bad=0.25), soft(bad=1)]
    data = read_labelled(jsonl(tmp_path / "rows.jsonl", *rows), options=TRAINING)
    assert data.labels == ("bad", "good")
    assert data.task_type == "classification"
    assert data.reason == "the probabilities of the labels sum to 1"
    assert [each.target for each in data.examples] == [1, 0, 1, 0]
    assert [each.soft_label for each in data.examples] == [None, (0.8, 0.2), (0.25, 0.75), (1.0, 0.0)]
    assert training_targets(data.examples) == [(0.0, 1.0), (0.8, 0.2), (0.25, 0.75), (1.0, 0.0)]


def test_a_plain_label_counts_more_than_probabilities_beside_it(tmp_path):
    rows = [{"label": "bad", **soft(good=0.9, bad=0.1)}, {"label": "good", **soft(good=0.9, bad=0.1)}]
    data = read_labelled(jsonl(tmp_path / "rows.jsonl", *rows), options=TRAINING)
    assert training_targets(data.examples) == [0, 1]


def test_probabilities_that_do_not_sum_to_one_are_those_of_several_labels(tmp_path):
    rows = [soft(loud=0.9, new=0.6), soft(loud=0.1, new=0.2), {"label": ["new"]}, {"label": []}]
    data = read_labelled(jsonl(tmp_path / "rows.jsonl", *rows), options=TRAINING)
    assert data.task_type == "multi_label"
    assert [each.target for each in data.examples] == [(1, 1), (0, 0), (0, 1), (0, 0)]
    assert training_targets(data.examples) == [(0.9, 0.6), (0.1, 0.2), (0, 1), (0, 0)]


def test_rounded_probabilities_of_classes_are_divided_by_their_sum(tmp_path):
    data = read_labelled(jsonl(tmp_path / "rows.jsonl", soft(a=0.333, b=0.663), soft(b=1)), options=TRAINING)
    assert data.examples[0].soft_label == close_to((0.333 / 0.996, 0.663 / 0.996), torch.float64)


def test_parquet_objects_have_null_for_labels_that_a_row_lacks(tmp_path):
    from pyarrow import Table as ArrowTable
    from pyarrow import parquet

    rows = {"text": ["one", "two"], "label": [{"a": 0.5, "b": 0.5}, {"a": 1.0, "b": None}]}
    parquet.write_table(ArrowTable.from_pydict(rows), tmp_path / "rows.parquet")
    data = read_labelled(tmp_path / "rows.parquet", options=TRAINING)
    assert [each.soft_label for each in data.examples] == [(0.5, 0.5), (1.0, 0.0)]


def test_only_training_reads_soft_labels(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", soft(good=0.75, bad=0.25), soft(bad=1))
    with pytest.raises(DataError, match="no column 'label'"):
        read_labelled(path)
    with pytest.raises(DataError, match="has probabilities of labels, which only training reads"):
        read_labelled(path, Columns(label="probabilities"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": "0.5"}, "'a' has '0.5', expected a probability, a number from 0 to 1"),
        ({"a": True, "b": 0}, "'a' has True"),
        ({"a": 1.5}, "'a' has 1.5"),
        ({"a": -0.1}, "'a' has -0.1"),
        ({"a": math.nan}, "'a' has nan"),
        ({" ": 1}, "'' has 1"),
        ({"a": 10**400}, "'a' has 1000"),
        ({"a": 0.5, "a ": 0.5}, "'a' occurs twice; give each label once"),
    ],
)
def test_wrong_probabilities_are_refused_with_their_line(value, message):
    rows = (Row(2, {"text": "t", "label": "a"}), Row(3, {"text": "t", "label": value}))
    with pytest.raises(DataError, match=rf"rows.jsonl:3: .*{message}"):
        soft_labels(Table("rows.jsonl", ("text", "label"), rows), text="text", label="label", task_type=None)


def test_labels_that_are_not_those_of_the_model_are_refused(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", soft(good=0.5, baad=0.5), {"label": "bad"})
    with pytest.raises(DataError, match=r"rows.jsonl:1: unknown label 'baad' \(did you mean 'bad'\?\); the labels are"):
        read_labelled(path, options=ReadOptions(soft_labels=True, labels=("bad", "good")))


@pytest.mark.parametrize("task_type", ["regression", "token_classification"])
def test_another_task_type_than_that_of_the_probabilities_is_refused(tmp_path, task_type):
    path = jsonl(tmp_path / "rows.jsonl", {"label": {"1": 0.5, "2": 0.5}}, {"label": {"2": 1}})
    with pytest.raises(DataError, match=r"rows.jsonl:1: field 'label': expected .*, found dict"):
        read_labelled(path, options=ReadOptions(soft_labels=True, task_type=task_type))


def test_a_task_type_that_is_set_stays_the_reason(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", soft(a=0.3, b=0.7), soft(a=1))
    data = read_labelled(path, options=ReadOptions(soft_labels=True, task_type="multi_label"))
    assert (data.task_type, data.reason) == ("multi_label", "as set")


@pytest.mark.parametrize("plain", [1, 1.0, "1", "LABEL_1"])
@pytest.mark.parametrize("names", [("LABEL_0", "LABEL_1"), ("LABEL_0", "LABEL_1", "LABEL_2"), ("0", "1")])
def test_numbers_are_the_labels_of_a_model_without_names(tmp_path, plain, names):
    rows = [{"label": plain}, soft(**dict.fromkeys(names, 1 / len(names))), soft(**{names[-1]: 1})]
    data = read_labelled(jsonl(tmp_path / "rows.jsonl", *rows), options=TRAINING)
    assert data.labels == names
    assert data.examples[0].target == 1


def test_a_number_without_a_probability_in_any_row_is_the_label_of_that_number(tmp_path):
    rows = [{"label": 0.0}, {"label": 2}, soft(LABEL_1=0.25, LABEL_3=0.75)]
    data = read_labelled(jsonl(tmp_path / "rows.jsonl", *rows), options=TRAINING)
    assert data.labels == ("LABEL_0", "LABEL_1", "LABEL_2", "LABEL_3")
    assert [each.target for each in data.examples] == [0, 2, 3]


@pytest.mark.parametrize("missing", [-1, -1.0, None, ""])
def test_a_row_without_a_label_has_its_probabilities(tmp_path, missing):
    rows = [{"label": missing, **soft(a=0.3, b=0.7)}, {"label": "a"}]
    data = read_labelled(jsonl(tmp_path / "rows.jsonl", *rows), options=TRAINING)
    assert data.examples[0].soft_label == (0.3, 0.7)


def test_csv_cells_have_probabilities_as_json(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('text,label\none,"{""a"": 0.25, ""b"": 0.75}"\ntwo,a\nthree,{braces\nfour,{name}\n')
    data = read_labelled(path, options=TRAINING)
    assert data.labels == ("a", "b", "{braces", "{name}")
    assert [each.soft_label for each in data.examples] == [(0.25, 0.75, 0, 0), None, None, None]


@pytest.mark.parametrize("value", ["{'a': 0.3, 'b': 0.7}", '{"a": 0.3, "b": 0,7}', '{"a": 0.3, "a": 0.7}'])
def test_csv_cells_in_braces_that_are_not_json_are_refused(value):
    rows = tuple(Row(number, {"text": "t", "label": each}) for number, each in enumerate(["a", "b", value], start=2))
    with pytest.raises(DataError, match=r"rows.csv:4: field 'label': expected JSON, such as .*, found"):
        soft_labels(Table("rows.csv", ("text", "label"), rows), text="text", label="label", task_type=None)


def test_csv_cells_have_probabilities_beside_an_empty_label(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(
        'text,label,probabilities\none,,"{""a"": 0.25, ""b"": 0.75}"\ntwo,-1,"{""a"": 1, ""b"": 1e-12}"\nthree,a,\n'
    )
    data = read_labelled(path, options=TRAINING)
    assert [each.soft_label for each in data.examples] == [(0.25, 0.75), close_to((1.0, 1e-12)), None]


def test_probabilities_beside_a_label_are_not_read_and_may_be_anything(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("text,label,probabilities\none,a,{'a': 1}\ntwo,b,{'b': 1}\n")
    assert read_labelled(path, options=TRAINING).labels == ("a", "b")


def test_rows_with_labels_and_probabilities_are_counted_also_if_all_have_both(tmp_path, caplog):
    caplog.set_level("INFO", "litebert")
    rows = [{"label": label, **soft(a=0.5, b=0.5)} for label in "ab"]
    read_labelled(jsonl(tmp_path / "rows.jsonl", *rows), options=TRAINING)
    assert "2 rows have 'label' and 'probabilities'; the label is used, and without it" in caplog.text


def test_rows_with_soft_labels_are_never_held_out(tmp_path):
    rows = [{"label": "ab"[index % 2]} if index < 10 else soft(a=0.5, b=0.5) for index in range(40)]
    train, dev = train_dev_split(read_labelled(jsonl(tmp_path / "r.jsonl", *rows), options=TRAINING), 0.4, seed=0)
    assert len(dev.examples) == 4
    assert all(each.soft_label is None for each in dev.examples)
    assert len(train.examples) == 36
    assert list(train.lines) == sorted(train.lines)


def test_a_file_of_soft_labels_alone_needs_a_development_file(tmp_path):
    data = read_labelled(jsonl(tmp_path / "r.jsonl", soft(a=0.4, b=0.6), soft(a=1)), options=TRAINING)
    with pytest.raises(DataError, match="every row, or one of its group, has probabilities instead of a label"):
        train_dev_split(data, 0.5, seed=0)


def test_probabilities_change_the_fingerprint_of_the_data_and_labels_alone_do_not(tmp_path):
    rows = (
        [{"label": "a"}, {"label": "b"}],
        [{"label": "a"}, soft(a=0.2, b=0.8)],
        [{"label": "a"}, soft(a=0.3, b=0.7)],
    )
    paths = [jsonl(tmp_path / f"{index}.jsonl", *each) for index, each in enumerate(rows)]
    assert len({read_labelled(path, options=TRAINING).fingerprint for path in paths}) == 3
    assert read_labelled(paths[0], options=TRAINING).fingerprint == read_labelled(paths[0]).fingerprint


@pytest.mark.parametrize("long_texts", ["truncate", "windows"])
def test_every_sequence_has_the_probabilities_of_its_text(tiny_tokenizer, long_texts):
    from litebert.tasks.input_settings import TextInputSettings

    examples = [Example(text="the cat " * 20, target=1, soft_label=(0.25, 0.75)), Example(text="a dog", target=0)]
    encoded = encode_sequences(examples, tiny_tokenizer, TextInputSettings(max_length=16, long_texts=long_texts))
    first = len(encoded) - 1
    assert (first > 1) is (long_texts == "windows")
    assert encoded.batch(np.arange(len(encoded))).labels.tolist() == [[0.25, 0.75]] * first + [[1.0, 0.0]]


LOGITS = [[0.3, -1.2, 0.8], [2.0, 0.1, -0.4]]


@given(st.floats(0, 1), st.integers(0, 2), st.integers(0, 2))
def test_the_loss_is_the_mean_of_the_losses_of_the_labels(share, one, other):
    rows = [[share * (index == one) + (1 - share) * (index == other) for index in range(3)] for _ in LOGITS]
    mixed, _ = loss_of(class_losses, LOGITS, rows)
    plain = [loss_of(class_losses, LOGITS, [label] * 2)[0] for label in (one, other)]
    assert mixed == close_to(share * plain[0] + (1 - share) * plain[1])


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5]])
def test_certain_probabilities_are_as_plain_labels(weights):
    plain = loss_of(class_losses, LOGITS, [2, 1], weights)
    assert loss_of(class_losses, LOGITS, [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], weights) == close_to(plain)
    assert plain[1] == 1


def test_the_loss_of_several_labels_is_that_of_their_probabilities():
    targets = [[0.2, 0.9, 0.5], [0.0, 1.0, 0.4]]
    loss, correct = loss_of(binary_losses, LOGITS, targets)
    logits, expected = torch.tensor(LOGITS).sigmoid(), torch.tensor(targets)
    assert loss == close_to(float(F.binary_cross_entropy(logits, expected, reduction="sum")))
    assert correct == int(((logits >= 0.5) == (expected >= 0.5)).sum())


def test_a_label_that_is_never_the_most_probable_is_a_label(tmp_path):
    rows = [soft(a=0.6, b=0.3, rare=0.1), soft(b=0.9, a=0.1)]
    assert read_labelled(jsonl(tmp_path / "r.jsonl", *rows), options=TRAINING).labels == ("a", "b", "rare")
    rows = [soft(a=0.6, b=0.6, rare=0.1), soft(a=0.2, b=0.1)]
    assert read_labelled(jsonl(tmp_path / "r.jsonl", *rows), options=TRAINING).labels == ("a", "b", "rare")


@pytest.mark.parametrize("probability", [1, 0.4])
def test_a_single_label_is_refused(tmp_path, probability):
    with pytest.raises(DataError, match="'a' is the only label; give data with two labels or more"):
        read_labelled(jsonl(tmp_path / "r.jsonl", soft(a=probability), soft(a=probability)), options=TRAINING)


def test_rows_with_neither_label_nor_probabilities_are_skipped_where_asked_to(tmp_path):
    path = jsonl(tmp_path / "r.jsonl", {"label": "a"}, {}, soft(a=0.3, b=0.7))
    with pytest.raises(DataError, match="the label is empty in 1 of 3 rows"):
        read_labelled(path, options=TRAINING)
    data = read_labelled(path, options=ReadOptions(soft_labels=True, unlabelled_rows="skip"))
    assert [each.soft_label for each in data.examples] == [None, (0.3, 0.7)]


def read(tmp_path, *rows, **options):
    return read_labelled(jsonl(tmp_path / "r.jsonl", *rows), options=ReadOptions(soft_labels=True, **options))


def test_one_row_that_does_not_sum_to_one_is_an_error_that_names_it(tmp_path):
    rows = [soft(a=0.5, b=0.5), soft(a=0.9, b=0.2), soft(a=1), soft(b=1)]
    with pytest.raises(DataError, match=r"r.jsonl:2: the probabilities of the labels sum to 1.1, expected 1, as in 3"):
        read(tmp_path, *rows)
    assert read(tmp_path, *rows, task_type="multi_label").examples[1].soft_label == (0.9, 0.2)
    with pytest.raises(DataError, match=r"r.jsonl:1: the probabilities of the labels sum to 0.3"):
        read(tmp_path, soft(a=0.1, b=0.2), soft(a=0.3, b=0.3), task_type="classification")


def test_the_column_of_the_label_may_be_missing_whatever_its_name(tmp_path):
    path = jsonl(tmp_path / "r.jsonl", soft(a=0.4, b=0.6), soft(a=1))
    data = read_labelled(path, Columns(label="mood"), options=TRAINING)
    assert [each.soft_label for each in data.examples] == [(0.4, 0.6), (1, 0)]


def test_a_label_of_minus_one_is_none_where_there_are_probabilities(tmp_path):
    data = read(tmp_path, {"label": -1, **soft(a=0.4, b=0.6)}, {"label": "a"})
    assert (data.labels, data.examples[0].soft_label) == (("a", "b"), (0.4, 0.6))


@pytest.mark.parametrize(
    ("plain", "names"),
    [(1, ("LABEL_0", "LABEL_1")), (1.0, ("0", "1")), ("1", ("LABEL_0", "LABEL_1")), (True, ("false", "true"))],
)
def test_plain_labels_are_those_that_the_probabilities_name_otherwise(tmp_path, plain, names):
    data = read(tmp_path, {"label": plain}, soft(**dict(zip(names, (0.3, 0.7), strict=True))))
    assert data.labels == names
    assert training_targets(data.examples) == [(0, 1), (0.3, 0.7)]


def test_eleven_labels_without_names_are_in_the_order_of_their_numbers(tmp_path):
    names = tuple(f"LABEL_{index}" for index in range(12))
    assert read(tmp_path, *[soft(**{name: 1}) for name in names]).labels == names


def test_an_empty_list_says_that_a_text_has_no_label(tmp_path):
    data = read(tmp_path, {"label": [], **soft(a=0.9, b=0.9)}, {"label": None, **soft(a=0.9, b=0.8)}, {"label": ["b"]})
    assert [each.soft_label for each in data.examples] == [None, (0.9, 0.8), None]


def test_an_object_without_a_label_is_an_empty_label(tmp_path):
    rows = [{"label": {}}, soft(a=0.5, b=0.5), {"label": {"a": None}}]
    with pytest.raises(DataError, match="the label is empty in 2 of 3 rows"):
        read(tmp_path, *rows)
    assert len(read(tmp_path, *rows, unlabelled_rows="skip").examples) == 1


def test_rows_with_both_use_the_label_and_are_counted(tmp_path, caplog):
    with caplog.at_level("INFO", logger="litebert"):
        read(tmp_path, {"label": "a", **soft(a=0.1, b=0.9)}, soft(a=0.5, b=0.5))
    assert "1 rows have 'label' and 'probabilities'; the label is used" in caplog.text


def test_groups_with_a_soft_label_are_not_held_out(tmp_path):
    rows = [{"label": "ab"[index % 2], "author": str(index)} for index in range(12)]
    rows += [{"author": str(index), **soft(a=0.5, b=0.5)} for index in range(6)]
    data = read_labelled(jsonl(tmp_path / "r.jsonl", *rows), Columns(group="author"), options=TRAINING)
    train, dev = train_dev_split(data, 0.5, seed=0)
    assert {each.group for each in dev.examples}.isdisjoint({each.group for each in train.examples})
    assert len(dev.examples) == 3


def test_class_weights_and_the_constant_prediction_count_probabilities(tmp_path):
    data = read(tmp_path, *[soft(a=0.6, b=0.4)] * 10)
    weights = CLASSIFICATION.loss.class_weights("balanced", data)
    assert weights * [0.6, 0.4] == close_to([0.5, 0.5], torch.float64)
    assert CLASSIFICATION.baselines.constant_loss(data) == close_to(
        -0.6 * math.log(0.6) - 0.4 * math.log(0.4), torch.float64
    )
    assert CLASSIFICATION.baselines.lowest_loss(data) == close_to(CLASSIFICATION.baselines.constant_loss(data))
    certain = read(tmp_path, *[soft(a=1, b=0), {"label": "b"}] * 5)
    assert CLASSIFICATION.baselines.lowest_loss(certain) == 0
    several = read(tmp_path, soft(a=0.2, b=0.4), soft(a=0.2, b=0.4))
    assert MULTI_LABEL.baselines.lowest_loss(several) == close_to(MULTI_LABEL.baselines.constant_loss(several))
    assert MULTI_LABEL.loss.class_weights("balanced", several) == close_to([4.0, 1.5], torch.float64)


def test_rows_with_soft_labels_are_counted_for_the_default_settings(tmp_path):
    path = jsonl(tmp_path / "r.jsonl", {"label": "a"}, soft(a=0.5, b=0.5), {}, soft(b=1))
    assert count_rows(path, skip_unlabelled=True) == 3
