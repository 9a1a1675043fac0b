"""Evaluation of a fine-tuned model."""

import pytest

from litebert.commands.evaluate.evaluate import evaluate
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.errors import ConfigError, DataError
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForMaskedLM, ForMultipleChoice, ForSequenceClassification, ForTokenClassification
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.readers.columns import Columns
from support.data.benchmark_files import write_cola, write_mnli, write_race
from support.data.labelled_files import write_opinions
from support.runs.prediction_commands import evaluate_file, evaluate_task


@pytest.fixture(scope="module")
def save(tiny_tokenizer, small_config, tmp_path_factory):
    """Save a model of a class and give its directory."""
    root = tmp_path_factory.mktemp("models")

    def save(model, **options):
        built = model(small_config, num_labels=len(options["labels"])) if "labels" in options else model(small_config)
        place = root / str(len(list(root.iterdir())))
        return save_model(built, place, extra_files=tiny_tokenizer.files(), **options)

    return save


def test_evaluate_file_uses_the_labels_of_the_model(save, tmp_path):
    model = save(ForSequenceClassification, labels=("bad", "good"))
    file = write_opinions(tmp_path / "dev.csv")
    evaluation = evaluate_file(model, file, metrics=["accuracy", "matthews"])
    assert evaluation.examples == 36
    assert set(evaluation.to_dict()["metrics"]) == {"accuracy", "matthews"}
    with pytest.raises(DataError, match="unknown label '1'"):
        evaluate_file(model, write_opinions(tmp_path / "other.csv", labels=(0, 1)))


def test_evaluate_file_reads_named_columns_instead_of_those_of_training(save, tmp_path):
    model = save(ForSequenceClassification, labels=("bad", "good"))
    (model / "task.json").write_text('{"task_type": "classification", "text": "review", "label": "verdict"}')
    rows = ["film,bad,music,good", "film,bad,music,bad"]
    (tmp_path / "dev.csv").write_text("\n".join(["review,verdict,text,label", *rows]) + "\n")
    kept, named = (
        evaluate_file(model, tmp_path / "dev.csv", columns)
        for columns in (Columns(), Columns(text="text", label="label"))
    )
    assert [sum(row) for row in kept.confusion_matrix] == [2, 0]
    assert [sum(row) for row in named.confusion_matrix] == [1, 1]


def test_evaluate_file_warns_of_truncated_rows(save, tmp_path, caplog):
    model = save(ForSequenceClassification, labels=("bad", "good"))
    for name, content in InputSettings(max_length=8).model_files().items():
        (model / name).write_bytes(content)
    (tmp_path / "dev.csv").write_text(f"text,label\n{'the film ' * 9},bad\na,good\n")
    evaluate_file(model, tmp_path / "dev.csv")
    expected = "dev.csv: 1 of 2 rows are longer than 8 tokens, the max_length of the fine-tuning, and were truncated"
    assert expected in caplog.text
    caplog.clear()
    (tmp_path / "dev.csv").write_text("text,label\na,bad\na,good\n")
    evaluate_file(model, tmp_path / "dev.csv")
    assert "truncated" not in caplog.text


def test_evaluate_skips_rows_without_a_label_if_told(save, tmp_path):
    model, file = save(ForSequenceClassification, labels=("bad", "good")), tmp_path / "dev.csv"
    file.write_text("text,label\na,bad\nb,\nc,good\n")
    with pytest.raises(DataError, match=r"dev\.csv:3: .* empty in 1 of 3 rows .* evaluate, .*: --unlabelled-rows skip"):
        evaluate(EvaluateRun(model=str(model), data=file))
    scores = evaluate(EvaluateRun(model=str(model), data=file, unlabelled_rows="skip")).to_dict()
    assert scores["examples"] == 2
    several = EvaluateRun(model=str(model), data=tmp_path / "*.csv", output=tmp_path / "scores", unlabelled_rows="skip")
    assert evaluate(several).to_dict()["results"]["dev.csv.json"]["examples"] == 2


def test_evaluate_file_scores_slices(save, tmp_path):
    file = write_opinions(tmp_path / "dev.csv")
    evaluation = evaluate_file(save(ForSequenceClassification, labels=("bad", "good")), file, Columns(slice="label"))
    assert {part.name: part.examples for part in evaluation.by_slice} == {"bad": 18, "good": 18}


def test_evaluate_file_of_a_regression(save, tmp_path):
    model = save(ForSequenceClassification, labels=("stars",), problem_type="regression")
    evaluation = evaluate_file(model, write_opinions(tmp_path / "dev.tsv", labels=(1, 5)))
    assert set(evaluation.metrics) == {"pearson", "spearman"}


def test_evaluate_conll_uses_the_labels_of_the_model(save, tmp_path):
    (tmp_path / "dev.conll").write_text("the O\nfilm B-X\n\nmusic B-X\n")
    evaluation = evaluate_file(save(ForTokenClassification, labels=("O", "B-X")), tmp_path / "dev.conll")
    assert evaluation.examples == 2
    assert set(evaluation.metrics) == {"entity_f1", "entity_precision", "entity_recall", "word_accuracy"}


def test_evaluate_file_rejects_a_model_without_a_head(save, tmp_path):
    with pytest.raises(ConfigError, match="a ForMaskedLM has no fine-tuned head"):
        evaluate_file(save(ForMaskedLM), write_opinions(tmp_path / "dev.csv"))


def test_evaluate_mnli_scores_both_development_sets(save, tmp_path):
    model = save(ForSequenceClassification, labels=("contradiction", "entailment", "neutral"))
    result = evaluate_task(model, "mnli", write_mnli(tmp_path), report=tmp_path / "page.html")
    assert set(result.splits) == {"dev", "dev-mismatched"}
    lines = result.to_text().splitlines()
    assert [lines[0].partition(" ")[0], lines[3].partition(" ")[0]] == ["dev:", "dev-mismatched:"]
    assert [lines[2].split()[0], lines[5].split()[0]] == ["fiction", "fiction"]
    first = ["dev:", "accuracy", "fiction", "precision", "contradiction", "entailment", "neutral", "dev-mismatched:"]
    assert [line.split()[0] for line in result.to_report().splitlines()[:8]] == first
    assert {path.name for path in tmp_path.glob("*.html")} == {"page-dev.html", "page-dev-mismatched.html"}


def test_evaluate_race_scores_levels(save, tmp_path):
    evaluation = evaluate_task(save(ForMultipleChoice), "race", write_race(tmp_path)).splits["dev"]
    assert {part.name: part.examples for part in evaluation.by_slice} == {"high": 2, "middle": 2}


@pytest.mark.parametrize("is_absolute", [False, True])
def test_evaluate_benchmark_reads_split_files_instead_of_the_official_ones(save, tmp_path, is_absolute):
    model, data = save(ForSequenceClassification, labels=("0", "1")), write_cola(tmp_path)
    own = tmp_path / "CoLA" / "mine.tsv"
    own.write_text("src\t1\t\tthe film was good\nsrc\t0\t\tthe film was bad\n")
    files = {"dev": str(own) if is_absolute else "mine.tsv"}
    result = evaluate_task(model, "cola", data, files=files)
    assert {part: evaluation.examples for part, evaluation in result.splits.items()} == {"dev": 2}


def test_evaluate_benchmark_scores_the_named_splits_only(save, tmp_path):
    model = save(ForSequenceClassification, labels=("contradiction", "entailment", "neutral"))
    files = {"dev-mismatched": "dev_matched.tsv"}
    assert list(evaluate_task(model, "mnli", write_mnli(tmp_path), files=files).splits) == ["dev-mismatched"]


def test_evaluate_benchmark_rejects_a_split_without_labels(save, tmp_path):
    model, data = save(ForSequenceClassification, labels=("0", "1")), write_cola(tmp_path)
    with pytest.raises(DataError, match=r"CoLA/test\.tsv: has no labels; give a split"):
        evaluate_task(model, "cola", data, files={"test": "test.tsv"})
    with pytest.raises(ConfigError, match="split: CoLA has no 'development'"):
        evaluate_task(model, "cola", data, files={"development": "dev.tsv"})


def test_evaluate_writes_a_report(save, tmp_path):
    model = save(ForSequenceClassification, labels=("0", "1"))
    evaluate_task(model, "cola", write_cola(tmp_path), report=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Worst errors" in page
    assert "CoLA/dev.tsv" in page


def test_evaluate_benchmark_accepts_labels_in_another_order(save, tmp_path):
    data = write_mnli(tmp_path)
    model = save(ForSequenceClassification, labels=("entailment", "neutral", "contradiction"))
    evaluation = evaluate_task(model, "mnli", data).splits["dev"]
    assert evaluation.labels == ("entailment", "neutral", "contradiction")
    assert [sum(row) for row in evaluation.confusion_matrix] == [12, 12, 12]


@pytest.mark.parametrize(
    ("task", "labels", "message"),
    [
        ("mrpc", ("1", "0"), "that of MRPC is classification with labels 0, 1"),
        ("cola", ("bad", "good"), "with labels bad, good, that of CoLA is classification with labels 0, 1"),
        ("sts-b", ("0", "1"), "its task is classification with labels 0, 1, that of STS-B is regression"),
        ("race", ("0", "1"), "that of RACE is multiple_choice"),
    ],
)
def test_evaluate_benchmark_rejects_a_model_of_another_task(save, tmp_path, task, labels, message):
    with pytest.raises(ConfigError, match=message):
        evaluate_task(save(ForSequenceClassification, labels=labels), task, tmp_path)


def test_evaluate_benchmark_rejects_a_directory_without_the_task(save, tmp_path):
    with pytest.raises(DataError, match="no development split of CoLA; give the directory with 'CoLA'"):
        evaluate_task(save(ForSequenceClassification, labels=("0", "1")), "cola", tmp_path)


def test_evaluate_benchmark_refuses_precision_of_labels_in_another_order(save, tmp_path):
    model = save(ForSequenceClassification, labels=("1", "0"))
    assert list(evaluate_task(model, "cola", write_cola(tmp_path)).splits) == ["dev"]
    with pytest.raises(ConfigError, match="that of CoLA is classification with labels 0, 1"):
        evaluate_task(model, "cola", tmp_path, metrics=("accuracy", "precision"))
