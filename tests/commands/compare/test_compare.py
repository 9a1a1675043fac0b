"""Two groups of fine-tuned models on the same examples."""

import json
import weakref
from dataclasses import replace

import pytest

from litebert.cli.main import main
from litebert.commands.compare.compare import compare, difference_between, differences_from
from litebert.commands.compare.compare_settings import CompareRun
from litebert.commands.data_arguments import ColumnArguments
from litebert.commands.model_arguments import ModelArguments
from litebert.commands.several_models.examples import examples_of_file, input_file
from litebert.commands.several_models.members import Member, predict_members
from litebert.errors import ConfigError, DataError
from litebert.inference.pipeline import Pipeline
from litebert.model import matmul_speed
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import save_model
from litebert.model.matmul_speed import MatmulSpeed
from litebert.model.models import ForSequenceClassification
from litebert.tasks.labelled_data import Example
from support.data.benchmark_files import write_cola
from support.data.labelled_files import write_opinions
from support.runs.prediction_commands import evaluate_file, evaluate_task

SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}


@pytest.fixture(autouse=True)
def _few_resamples(monkeypatch):
    monkeypatch.setattr("litebert.tasks.metrics.bootstrap_difference.RESAMPLES", 40)


@pytest.fixture
def models(tiny_tokenizer, tmp_path):
    """Builds classifiers of random weights, each of another seed."""

    def build(count, *, labels=("bad", "good")):
        config = ModelConfig(vocab_size=tiny_tokenizer.vocab_size, embedding_size=8, initializer_range=0.3, **SIZES)
        return [
            save_model(
                ForSequenceClassification(config, seed=seed, num_labels=len(labels)),
                tmp_path / f"{'-'.join(labels)}-{seed}",
                extra_files=tiny_tokenizer.files(),
                labels=labels,
            )
            for seed in range(count)
        ]

    return build


@pytest.fixture
def opinions(tmp_path):
    return write_opinions(tmp_path / "opinions.csv")


def compared(models, baseline, **data):
    return compare(CompareRun(models=tuple(map(str, models)), baseline=tuple(map(str, baseline)), **data))


def test_compare_has_the_scores_of_evaluate_and_their_difference(models, opinions):
    given = models(5)
    result = compared(given[:2], given[2:], data=opinions, metrics=("accuracy", "macro_f1"))
    assert list(result.metrics) == ["accuracy", "macro_f1"]
    for metric, found in result.metrics.items():
        expected = [evaluate_file(model, opinions, metrics=(metric,)).metrics[metric] for model in given]
        assert [*found.models, *found.baseline] == pytest.approx(expected)
        assert found.difference.difference == pytest.approx(sum(expected[:2]) / 2 - sum(expected[2:]) / 3)
        assert found.difference.low <= found.difference.difference <= found.difference.high


def test_compare_skips_rows_without_a_label_if_asked(models, opinions):
    first, second = models(2)
    whole = compared([first], [second], data=opinions)
    opinions.write_text(f"{opinions.read_text()}a film,\n")
    with pytest.raises(DataError, match="the label is empty in 1 of 37 rows"):
        compared([first], [second], data=opinions)
    assert compared([first], [second], data=opinions, unlabelled_rows="skip") == whole
    with pytest.raises(ConfigError, match=r"unlabelled_rows: only for a file \(--data\); leave it out"):
        CompareRun(models=("a",), baseline=("b",), task="cola", task_dir="d", unlabelled_rows="skip")


def test_compare_of_two_groups_in_the_other_order_has_the_negative_difference(models, opinions):
    first, second = models(2)
    one, other = (compared([a], [b], data=opinions).metrics["accuracy"] for a, b in ((first, second), (second, first)))
    assert one.models == other.baseline
    assert one.difference.difference == pytest.approx(-other.difference.difference)
    assert (one.difference.low, one.difference.high) == pytest.approx((-other.difference.high, -other.difference.low))


def test_several_baselines_have_the_differences_of_one_each_and_every_model_predicts_once(
    models, opinions, monkeypatch
):
    members = list(map(Member.at, map(str, models(6))))
    groups = {"second": members[2:4], "third": members[4:]}
    run = CompareRun(models=(str(members[0].path),), baseline=(str(members[2].path),), data=opinions)
    examples = examples_of_file(members[0], input_file(members[0], run.source))
    expected = {n: difference_between(members[:2], each, examples.data, examples.task) for n, each in groups.items()}
    predicted, encoded = [], []
    for name, calls in (("predict_encoded", predicted), ("encode", encoded)):
        original = getattr(Pipeline, name)
        monkeypatch.setattr(Pipeline, name, lambda *a, _call=original, _calls=calls: _calls.append(a) or _call(*a))
    found = dict(differences_from(members[:2], groups, examples.data, examples.task))
    assert found == expected
    assert (len(predicted), len(encoded)) == (6, 3), "each group encodes once"


@pytest.mark.parametrize("precision", ["fp32", "auto"])
def test_one_model_is_in_memory_at_a_time(models, opinions, monkeypatch, precision):
    arguments = ModelArguments(precision=precision)
    members, alive, load = [Member.at(str(each), arguments) for each in models(3)], [], Pipeline.load

    def load_and_count(*arguments, **options):
        assert not any(reference() for reference in alive)
        pipeline = load(*arguments, **options)
        alive.append(weakref.ref(pipeline.model))
        return pipeline

    monkeypatch.setattr(Pipeline, "load", load_and_count)
    predict_members(members, [Example(text="a film")] * 3, labels=("bad", "good"))
    assert len(alive) == 3


@pytest.mark.parametrize("precision", ["fp32", "auto"])
def test_members_predict_on_the_device_that_is_asked_for(models, monkeypatch, precision):
    arguments, asked = ModelArguments(precision=precision, device="cuda"), []
    for module in ("several_models.members", "model_loading.loaded_pipeline"):
        place = f"litebert.commands.{module}.usable_device"
        monkeypatch.setattr(place, lambda *given: asked.append(given) or "cpu")
    members = [Member.at(str(each), arguments) for each in models(2)]
    predict_members(members, [Example(text="a film")], labels=("bad", "good"))
    measured = [("cuda", "auto")] if precision == "auto" else []
    assert asked == [*measured, ("cuda", "fp32"), ("cuda", "fp32")]


def test_both_groups_predict_in_the_precision_that_was_measured_once(models, opinions, monkeypatch):
    measured, load, loaded = iter([MatmulSpeed({"fp32": 1.0, "bf16": 9.0})]), Pipeline.load, []
    monkeypatch.setattr(matmul_speed, "measure_matmul_speed", lambda *_, **__: next(measured))
    monkeypatch.setattr(Pipeline, "load", lambda *a, **k: loaded.append(load(*a, **k)) or loaded[-1])
    first, *others = models(3)
    compared([first], others, data=opinions, precision="auto")
    assert {each.precision for each in loaded} == {"bf16"}


def test_compare_on_a_benchmark_reads_the_split_that_evaluate_reads(models, tmp_path):
    data = write_cola(tmp_path / "glue")
    given = models(2, labels=("0", "1"))
    result = compared(given[:1], given[1:], task="cola", task_dir=data)
    expected = [evaluate_task(model, "cola", data).splits["dev"].metrics["matthews"] for model in given]
    found = result.metrics["matthews"]
    assert [*found.models, *found.baseline] == pytest.approx(expected)


def test_compare_refuses_one_model_under_two_paths_and_f1_of_labels_in_other_orders(models, opinions):
    (first,) = models(1)
    (turned,) = models(1, labels=("good", "bad"))
    (first.parent / "x").mkdir()
    with pytest.raises(ConfigError, match=r"the same model as .*; give each member once"):
        compared([first], [first.parent / "x" / ".." / first.name], data=opinions)
    assert compared([first], [turned], data=opinions).metrics["accuracy"]
    with pytest.raises(ConfigError, match="f1 is that of the second label"):
        compared([first], [turned], data=opinions, metrics=("f1",))


def test_compare_prints_means_and_interval(models, opinions, capsys):
    first, second, third = map(str, models(3))
    words = ["compare", first, second, "--baseline", third, "--data", str(opinions)]
    assert main(words) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "accuracy on 36 examples"
    assert ", mean of 2 (" in shown[1]
    assert "mean of" not in shown[2]
    assert "(95 % interval " in shown[3]
    assert main([*words, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["examples"] == 36
    assert f"{values['metrics']['accuracy']['difference']['difference']:+.4f}" in shown[3]


def test_compare_rejects_models_and_data_that_do_not_fit(models, opinions, tmp_path):
    first, second = models(2)
    (other,) = models(1, labels=("no", "yes"))
    bare = tmp_path / "bare.csv"
    bare.write_text("text\nfine\n")
    for given, baseline, data, message in [
        ([], [second], {"data": opinions}, "models: must have at least 1 item"),
        ([first], [], {"data": opinions}, "baseline: must have at least 1 item"),
        ([first], [first], {"data": opinions}, "a model is given twice"),
        ([first], [other], {"data": opinions}, "give models for the same task"),
        ([first], [second], {}, "give either --data"),
        ([first], [second], {"data": opinions, "task": "cola", "task_dir": tmp_path}, "give either --data"),
        ([first], [second], {"data": opinions, "split": "test"}, "split: only with a benchmark"),
        ([first], [second], {"task": "cola", "task_dir": write_cola(tmp_path / "g"), "split": "test"}, "no labels"),
        (
            [first],
            [second],
            {"task": "cola", "task_dir": tmp_path, "columns": ColumnArguments(label="x")},
            "a benchmark defines its own",
        ),
    ]:
        if data.get("split") == "test" and "task" in data:
            given, baseline = ([model] for model in models(2, labels=("0", "1")))
        with pytest.raises(ConfigError, match=message):
            compared(given, baseline, **data)
    with pytest.raises(DataError, match="no column 'label'"):
        compared([first], [second], data=bare)


def test_compare_resamples_rows_of_one_group_together(models, opinions):
    first, second = map(Member.at, map(str, models(2)))
    run = CompareRun(models=(str(first.path),), baseline=(str(second.path),), data=opinions)
    given = examples_of_file(first, input_file(first, run.source))
    grouped = tuple(replace(each, group=str(position % 9)) for position, each in enumerate(given.data.examples))
    alone, together = (
        difference_between([first], [second], data, given.task)
        for data in (given.data, replace(given.data, examples=grouped))
    )
    assert (alone.groups, together.groups) == (None, 9)
    assert alone.metrics["accuracy"].difference.low != together.metrics["accuracy"].difference.low
    assert together.to_text().endswith("resampled in 9 groups of examples, such as those about one text")
