"""A prediction file has the scores of the model that wrote it, and of any program that writes the plain form."""

import json
import re

import pytest

from litebert.commands.compare.compare import compare
from litebert.commands.compare.compare_settings import CompareRun
from litebert.commands.data_arguments import SlicedColumnArguments
from litebert.commands.evaluate.evaluate import evaluate
from litebert.commands.evaluate.evaluate_predictions import CALIBRATION
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.errors import ConfigError, DataError
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.types.extractive_qa.question_settings import QuestionSettings
from support.data.benchmark_files import write_cola, write_mnli, write_race
from support.data.labelled_files import SUBJECTS, write_opinions
from support.data.question_builders import QUESTIONS, squad_json, write_squad
from support.models.saved_models import save_models
from support.models.tolerances import close_to
from support.runs.prediction_commands import predict_split, run_predict

THRESHOLDS = ("no_answer_threshold", "best_f1", "best_f1_thresh", "best_exact", "best_exact_thresh")
ADJECTIVES = {"bad": "dull", "fair": "old", "good": "wonderful"}


@pytest.fixture(autouse=True)
def _few_resamples(monkeypatch):
    monkeypatch.setattr("litebert.tasks.metrics.bootstrap_difference.RESAMPLES", 20)


@pytest.fixture(scope="module")
def models(tiny_tokenizer, small_config, tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    saved = save_models(root, tiny_tokenizer, small_config)
    # As fine-tuning chooses it; without it `evaluate` chooses one for the data.
    for name, content in QuestionSettings(max_length=96, no_answer_threshold=0.1).model_files().items():
        (saved["doubter"] / name).write_bytes(content)
    two = ForSequenceClassification(small_config, num_labels=2)
    files = {"extra_files": tiny_tokenizer.files()}
    return {**saved, "two": save_model(two, root / "two", labels=("bad", "good"), **files)}


@pytest.fixture
def opinions(tmp_path):
    return write_opinions(tmp_path / "opinions.csv")


def write_rows(path, rows):
    """JSON lines, or CSV without quotes."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text("".join(",".join(map(str, each)) + "\n" for each in (rows[0], *(row.values() for row in rows))))
    return path


def write_data(kind, directory):
    """Labelled rows for a model of this kind."""
    texts = [(name, f"{subject} is {word}") for subject in SUBJECTS for name, word in ADJECTIVES.items()]
    if kind == "classifier":
        return write_rows(directory / "dev.csv", [{"text": text, "label": name} for name, text in texts])
    if kind == "regressor":
        rows = [{"text": text, "label": number / 7} for number, (_, text) in enumerate(texts)]
        return write_rows(directory / "dev.csv", rows)
    if kind == "several":
        labels = ("long", "dull", "loud")
        rows = [{"text": text, "label": list(labels[: n % 4])} for n, (_, text) in enumerate(texts)]
        return write_rows(directory / "dev.jsonl", rows)
    if kind == "chooser":
        rows = [
            {
                "text": f"{subject} was _",
                "question": "what was it",
                "option1": "good",
                "option2": "bad",
                "label": letter,
            }
            for subject in SUBJECTS
            for letter in "AB"
        ]
        return write_rows(directory / "dev.csv", rows)
    if kind == "tagger":
        (directory / "dev.conll").write_text("the O\nold B-X\nactor I-X\n\nthe O\nmusic B-X\n\n" * 3)
        return directory / "dev.conll"
    rows = [
        {
            "id": each.id,
            "question": each.text,
            "context": each.context.replace(",", ""),
            "answer": each.answers[0].text if each.answers else "",
        }
        for each in QUESTIONS[: 3 if kind == "reader" else 4]
    ]
    return write_rows(directory / "dev.csv", rows)


def scores(model, data, **options):
    return evaluate(EvaluateRun(model=str(model), data=data, **options)).to_dict()


def compared(model, baseline, data, **options):
    return compare(CompareRun(models=(str(model),), baseline=(str(baseline),), data=data, **options))


def write(path, text):
    path.write_text(text)
    return path


KINDS = ("classifier", "regressor", "several", "chooser", "tagger", "reader", "doubter")
CASES = [(kind, ending) for kind in KINDS for ending in (".jsonl", ".csv", ".tsv")] + [("tagger", ".conll")]


@pytest.mark.parametrize(("kind", "ending"), CASES)
def test_predictions_of_a_model_have_its_scores(models, kind, ending, tmp_path):
    data, file = write_data(kind, tmp_path), tmp_path / f"predicted{ending}"
    run_predict(models[kind], data, file)
    of_model, of_file = scores(models[kind], data), scores(file, data)
    expected = {name: value for name, value in of_model["metrics"].items() if name not in THRESHOLDS}
    assert of_file["metrics"] == expected
    assert (of_file["examples"], of_file["accuracy_interval"]) == (of_model["examples"], of_model["accuracy_interval"])
    for found in compared(models[kind], file, data).metrics.values():
        assert found.models == close_to(found.baseline)
        assert found.difference.difference == close_to(0)


@pytest.mark.parametrize(("kind", "metric"), [("classifier", "roc_auc"), ("several", "roc_auc")])
def test_probabilities_of_json_lines_are_scored(models, kind, metric, tmp_path):
    data, file = write_data(kind, tmp_path), tmp_path / "predicted.jsonl"
    run_predict(models[kind], data, file)
    of_model, of_file = (scores(each, data, metrics=("macro_f1", metric)) for each in (models[kind], file))
    assert of_file["metrics"] == of_model["metrics"]
    assert (of_file["calibration"], of_file["left_out"]) == (of_model["calibration"], [])


def test_metrics_of_probabilities_are_left_out_without_them(models, opinions, tmp_path):
    file = write(tmp_path / "p.csv", "prediction\n" + "bad\ngood\n" * 18)
    result = evaluate(EvaluateRun(model=str(file), data=opinions, metrics=("roc_auc", "accuracy")))
    assert result.to_dict()["left_out"] == ["roc_auc", CALIBRATION]
    assert result.to_dict()["calibration"] is None
    assert [*result.scores.metrics] == ["accuracy"]
    why = "(a prediction file has no column 'probabilities')"
    assert result.to_text().splitlines()[-1] == f"left out: roc_auc, calibration {why}"
    of_both = compared(file, models["two"], opinions, metrics=("roc_auc", "accuracy"))
    assert of_both.to_text().splitlines()[-1] == f"left out: roc_auc {why}"
    assert [*of_both.metrics] == ["accuracy"]
    with pytest.raises(ConfigError, match=r"metrics: roc_auc need probabilities; add a column .* to .*p\.csv"):
        scores(file, opinions, metrics=("roc_auc",))


def test_plain_predictions_are_scored_in_the_order_of_the_rows(opinions, tmp_path):
    labels = [line.rpartition(",")[2] for line in opinions.read_text().splitlines()[1:]]
    for column in ("prediction", "label"):
        file = write(tmp_path / f"{column}.csv", "\n".join([column, *labels[:27], *["bad"] * 9]) + "\n")
        right = 27 + labels[27:].count("bad")
        assert scores(file, opinions)["metrics"]["accuracy"] == right / 36


def test_predictions_with_ids_are_scored_in_any_order(tmp_path):
    data = write(tmp_path / "dev.csv", "id,text,label\n7,a,bad\n8,b,good\n9,c,bad\n")
    file = write(tmp_path / "p.csv", "prediction,id\nbad,9\nbad,7\ngood,8\nbad,1\n")
    assert scores(file, data)["metrics"]["accuracy"] == 1
    answers = write(tmp_path / "p.json", '{"8": "good", "9": "good", "7": "bad"}')
    assert scores(answers, data)["metrics"]["accuracy"] == pytest.approx(2 / 3)


def test_predictions_of_all_rows_are_scored_where_some_have_no_label(models, opinions, tmp_path):
    opinions.write_text(f"{opinions.read_text()}a film,\n,\nthe music is dull,bad\n")
    run_predict(models["two"], opinions, tmp_path / "p.jsonl")
    of_model, of_file = (scores(m, opinions, unlabelled_rows="skip") for m in (models["two"], tmp_path / "p.jsonl"))
    assert of_file["metrics"] == of_model["metrics"]
    assert of_file["examples"] == 37


def test_squad_predictions_are_scored_by_the_official_metrics(models, tmp_path):
    data = write_squad(tmp_path / "dev.json", squad_json(*QUESTIONS[:3]))
    run_predict(models["reader"], data, tmp_path / "answers")
    of_model, of_file = (scores(each, data) for each in (models["reader"], tmp_path / "answers" / "predictions.json"))
    assert of_file["metrics"] == of_model["metrics"]
    answers = {"q3": "her FIRST play!", "q1": "an LLM says: the old actor", "q2": ""}
    by_hand = scores(write(tmp_path / "p.json", json.dumps(answers)), data)
    assert by_hand["metrics"] == pytest.approx({"answer_f1": 100 * (1 + 2 / 3) / 3, "exact_match": 100 / 3})
    missing = write(tmp_path / "less.json", '{"q1": ""}')
    with pytest.raises(
        DataError, match=r"less\.json: no prediction for 2 of 3 examples .*dev\.json, the first .* 'q2'"
    ):
        scores(missing, data)


def test_predictions_for_a_benchmark_are_scored(models, tmp_path):
    write_cola(tmp_path / "GLUE")
    lines = (tmp_path / "GLUE" / "CoLA" / "dev.tsv").read_text().splitlines()
    file = write(tmp_path / "p.tsv", "prediction\n" + "".join(f"{line.split(chr(9))[1]}\n" for line in lines))
    run = {"task": "cola", "task_dir": tmp_path / "GLUE"}
    assert evaluate(EvaluateRun(model=str(file), **run)).scores.metrics == {"matthews": 1.0, "accuracy": 1.0}
    other = write(tmp_path / "other.tsv", "prediction\n" + "0\n" * len(lines))
    result = compare(CompareRun(models=(str(file),), baseline=(str(other),), **run))
    assert result.metrics["matthews"].difference.difference == 1.0


def test_predictions_for_race_are_read_from_its_submission(models, tmp_path):
    write_race(tmp_path / "RACE")
    split = BenchmarkSplit(task="race", split="dev")
    predict_split(models["chooser"], split, tmp_path / "RACE", tmp_path / "p.json")
    of_model, of_file = (
        evaluate(EvaluateRun(model=str(each), task="race", task_dir=tmp_path / "RACE")).to_dict()
        for each in (models["chooser"], tmp_path / "p.json")
    )
    (expected,) = (each["metrics"] for each in of_model["splits"].values())
    assert of_file["metrics"] == expected


def test_several_files_are_several_seeds(models, opinions, tmp_path):
    files = [
        write(tmp_path / f"{seed}.csv", "prediction\n" + "".join(f"{names[i % 2]}\n" for i in range(36)))
        for seed, names in enumerate([("bad", "good"), ("good", "bad")])
    ]
    own = scores(models["two"], opinions)["metrics"]["accuracy"]
    result = compare(CompareRun(models=(str(models["two"]),), baseline=tuple(map(str, files)), data=opinions))
    found = result.metrics["accuracy"]
    assert found.baseline == tuple(scores(each, opinions)["metrics"]["accuracy"] for each in files)
    assert found.difference.difference == pytest.approx(own - sum(found.baseline) / 2)
    assert result.left_out == ()


def test_predictions_of_a_label_that_the_data_lacks_need_all_names(tmp_path):
    data = write(tmp_path / "dev.csv", "text,label\na,bad\nb,good\n")
    file = write(tmp_path / "p.csv", "prediction\nbad\nfair\n")
    with pytest.raises(DataError, match=r"p\.csv:3: field 'prediction': unknown label 'fair'; .*\(--label-names\)"):
        scores(file, data)
    assert scores(file, data, label_names=("bad", "fair", "good"))["labels"] == ("bad", "fair", "good")
    with pytest.raises(
        ConfigError, match=r"label_names: .* is read as regression, which has no labels; leave them out"
    ):
        scores(file, write(data, "text,label\na,1.5\nb,2.5\n"), label_names=("bad", "good"))


def test_predictions_of_a_score_need_the_task_type_where_labels_look_like_classes(tmp_path):
    data = write(tmp_path / "dev.csv", "text,label\na,1\nb,2\nc,3\n")
    file = write(tmp_path / "p.csv", "score\n1.5\n2\n2.5\n")
    assert scores(file, data, task_type="regression")["metrics"]["pearson"] == pytest.approx(1)


def test_predictions_of_conllu_are_in_the_column_of_the_labels(tmp_path):
    row = "{}\t{}\t_\t{}\t{}\t_\t_\t_\t_\t_\n".format
    data = write(tmp_path / "dev.conllu", row(1, "the", "DET", "DT") + row(2, "film", "NOUN", "NN"))
    file = write(tmp_path / "p.conllu", row(1, "the", "DET", "NN") + row(2, "film", "DET", "NN"))
    for label, accuracy in (("upos", 0.5), ("xpos", 0.5)):
        columns = SlicedColumnArguments(label=label)
        assert scores(file, data, columns=columns)["metrics"]["word_accuracy"] == accuracy


def test_the_file_of_the_examples_is_not_a_prediction_file(opinions):
    with pytest.raises(ConfigError, match=r"opinions\.csv: is also the file of the labelled examples"):
        scores(opinions, opinions)


def test_predictions_for_a_benchmark_are_for_one_split(tmp_path):
    write_mnli(tmp_path / "GLUE")
    file = write(tmp_path / "p.tsv", "prediction\nneutral\n")
    run = EvaluateRun(model=str(file), task="mnli", task_dir=tmp_path / "GLUE")
    with pytest.raises(
        ConfigError, match=r"task: mnli has the development splits dev, dev-mismatched, .* --split-file"
    ):
        evaluate(run)


def test_predictions_for_a_split_without_labels_are_refused(tmp_path):
    write_cola(tmp_path / "GLUE")
    file = write(tmp_path / "p.tsv", "prediction\n0\n")
    files, run = (str(file), str(tmp_path / "q.tsv")), {"task": "cola", "task_dir": tmp_path / "GLUE", "split": "test"}
    with pytest.raises(DataError, match=r"test\.tsv: has no labels, so there is nothing to score"):
        compare(CompareRun(models=files[:1], baseline=files[1:], **run))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"report": "a.html"}, "report: only for a model, and MODEL is a prediction file"),
        ({"precision": "bf16"}, "precision: only for models, and there are only prediction files"),
        ({"threads": 1, "device": "cpu"}, "device, threads: only for models"),
        ({"data": "*.csv", "output": "scores"}, "data: a prediction file is for one file of examples"),
        ({"label_names": ("a", "a")}, "label_names: a label is given twice in a, a"),
        ({"model": "RUN", "task_type": "regression"}, "task_type: only for prediction files without a model"),
        ({"data": None, "corpus": "corpus"}, "corpus: only for a model"),
        ({"data": None, "task": "cola", "task_dir": "d", "label_names": ("a",)}, "label_names: only for prediction"),
        ({"data": None, "task": "qnli", "task_dir": "d", "decision": "rank"}, "decision: only for a model"),
    ],
)
def test_settings_that_a_prediction_file_does_not_read_are_refused(settings, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        EvaluateRun(**{"model": "p.csv", "data": "dev.csv", **settings})


def test_file_with_another_ending_is_neither_a_model_nor_a_prediction_file(tmp_path):
    file = write(tmp_path / "p.txt", "prediction\n")
    with pytest.raises(ConfigError, match=r"p\.txt: a file, but no prediction file, whose name ends in \.csv, \.tsv"):
        EvaluateRun(model=str(file), data="dev.csv")


def test_settings_of_prediction_files_are_refused_beside_a_model():
    given = {"models": ("RUN",), "baseline": ("p.csv",), "data": "dev.csv"}
    with pytest.raises(ConfigError, match="label_names: only for prediction files without a model"):
        CompareRun(**given, label_names=("a", "b"))
    assert CompareRun(**given, precision="bf16").precision == "bf16"


def test_a_copy_of_the_labels_is_refused_and_rows_in_another_order_are_a_warning(opinions, tmp_path, caplog):
    header, *rows = opinions.read_text().splitlines()
    copy = write(tmp_path / "copy.csv", "\n".join([header, *rows]) + "\n")
    with pytest.raises(DataError, match=r"copy\.csv: no column 'prediction', and 'label' has the labels of "):
        scores(copy, opinions)
    turned = write(tmp_path / "p.csv", "\n".join([header.replace("label", "prediction"), *reversed(rows)]) + "\n")
    scores(turned, opinions)
    assert "p.csv:2: field 'text': not that of the example of " in caplog.text
