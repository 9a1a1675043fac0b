"""What a fine-tuning run reports and leaves: held-out rows, lengths, baselines, failures, provenance."""

import csv
import gzip
import json
import logging
import sys

import pytest

from litebert.commands.finetune.best_evaluation import BestEvaluation
from litebert.commands.finetune.comparison import Outcome, remarks
from litebert.commands.finetune.data.run_data import read_data
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.errors import CheckpointError
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForPretraining
from litebert.tasks.metrics.evaluation import Evaluation
from support.data.labelled_files import write_opinions
from support.runs.callbacks import At
from support.runs.prediction_commands import evaluate_file


class StoppedError(Exception):
    """Ends a run from a callback."""


def stop():
    raise StoppedError


@pytest.fixture(scope="module")
def pretrained(tiny_tokenizer, tmp_path_factory):
    config = ModelConfig(
        vocab_size=tiny_tokenizer.vocab_size,
        embedding_size=16,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=40,
        initializer_range=0.1,
    )
    directory = tmp_path_factory.mktemp("pretrained") / "model"
    return save_model(ForPretraining(config), directory, extra_files=tiny_tokenizer.files())


@pytest.fixture
def settings(pretrained, tmp_path):
    return {
        "model": str(pretrained),
        "data": {"train": write_opinions(tmp_path / "train.csv"), "dev": {"fraction": 0.25}},
        "train": {"duration": "2 steps", "optimizer": "adamw", "learning_rate": 0.001, "device": "cpu"},
        "batch_size": 12,
        "baseline": False,
    }


def run(settings, out, **changes):
    return finetune(FinetuneRun.parse({**settings, **changes}, where="test"), out)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_held_out_rows_are_written_and_evaluate_gives_the_score_of_the_run(settings, tmp_path, suffix):
    settings["data"]["train"] = write_opinions(tmp_path / f"opinions{suffix}")
    result = run(settings, tmp_path / "run", metrics=["accuracy", "roc_auc"])
    dev = tmp_path / "run" / f"dev{suffix}"
    assert evaluate_file(result.model, dev, metrics=["accuracy", "roc_auc"]).metrics == result.best.metrics
    lines = json.loads((tmp_path / "run" / "rows.json").read_text())
    source = settings["data"]["train"].read_text().splitlines()
    header = source[:1] if suffix != ".jsonl" else []
    assert dev.read_text().splitlines() == [*header, *(source[line - 1] for line in lines["dev"])]
    first = 1 if suffix == ".jsonl" else 2
    assert sorted(lines["train"] + lines["dev"]) == list(range(first, first + 36))


def test_held_out_sentences_are_written_as_conll(settings, tmp_path):
    sentences = [f"the O\n{noun} B-X\nwas O\ngood O\n" for noun in ("film", "actor", "music", "play", "story")]
    settings["data"]["train"] = tmp_path / "words.conll"
    settings["data"]["train"].write_text("\n".join(sentences))
    result = run(settings, tmp_path / "run")
    assert evaluate_file(result.model, tmp_path / "run" / "dev.conll").metrics == result.best.metrics


def test_held_out_questions_are_written_as_squad_json(settings, tmp_path):
    paragraphs = [
        {
            "context": f"the {noun} was good",
            "qas": [{"id": noun, "question": "what?", "answers": [{"text": noun, "answer_start": 4}]}],
        }
        for noun in ("film", "actor", "music", "play", "story")
    ]
    settings["data"]["train"] = tmp_path / "questions.json"
    settings["data"]["train"].write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
    result = run(settings, tmp_path / "run", max_length=32)
    assert evaluate_file(result.model, tmp_path / "run" / "dev.json").metrics == result.best.metrics


def test_max_length_fits_the_training_rows_and_more_and_is_kept_with_the_model(settings, tmp_path, caplog):
    with caplog.at_level(logging.INFO, "litebert"):
        result = run(settings, tmp_path / "run")
    assert result.max_length == 40, "all that the model reads, which is less than 128"
    assert "max_length: 40 tokens (99 % of the training rows have at most 24)" in caplog.text
    settings = json.loads((result.model / "input_settings.json").read_text())
    assert settings == {"max_length": result.max_length, "long_texts": "truncate"}


def test_max_length_that_is_set_reports_the_truncated_rows(settings, tmp_path, caplog):
    with caplog.at_level(logging.INFO, "litebert"):
        assert run(settings, tmp_path / "run", max_length=3).max_length == 3
    assert "max_length: 3 tokens (as set); 100.0 % of the training rows are longer and are truncated" in caplog.text


def test_max_length_is_at_most_that_of_the_model_with_a_warning(settings, tmp_path, caplog):
    rows = [f"{'good ' * 90},{index % 2}" for index in range(20)]
    settings["data"]["train"].write_text(
        "\n".join(["text,label", *(f"{index} {row}" for index, row in enumerate(rows))])
    )
    assert run(settings, tmp_path / "run").max_length == 40
    (warning,) = [record for record in caplog.records if record.message.startswith("max_length")]
    expected = "max_length: 40 tokens (all that the model reads; 99 % of the training rows have at most 368); 100.0 %"
    assert warning.message.startswith(expected)
    assert warning.message.endswith("the longest has 365; long_texts=windows reads them whole")
    assert warning.levelname == "WARNING"


def test_baselines_are_in_the_result_and_in_the_model_card(settings, tmp_path):
    pytest.importorskip("sklearn")
    result = run(settings, tmp_path / "run", baseline=True)
    assert set(result.baselines) == {"majority class", "tf-idf and logistic regression"}
    assert result.baselines["majority class"] == {"accuracy": 0.5}
    assert "does not beat the baseline tf-idf and logistic regression (1.0000)" in result.to_text()
    card = (result.model / "README.md").read_text()
    linear = result.baselines["tf-idf and logistic regression"]["accuracy"]
    assert f"| accuracy of the baseline tf-idf and logistic regression | {linear:.4g} |" in card


@pytest.mark.parametrize(
    ("metric", "own", "of_baseline", "expected"),
    [
        (
            "accuracy",
            0.7,
            0.725,
            "40 development rows are too few to say whether the model (accuracy 0.7000)",
        ),
        ("accuracy", 0.7, 0.825, "the model (accuracy 0.7000) does not beat the baseline linear (0.8250)"),
        ("accuracy", 0.7, 0.65, None),
        ("f1", 0.7, 0.95, "40 development rows are too few to say"),
    ],
)
def test_baseline_inside_the_interval_of_the_model_is_not_called_better(settings, metric, own, of_baseline, expected):
    settings["metrics"] = [metric]
    given = FinetuneRun.parse(settings, where="test")
    evaluation = Evaluation(
        metrics={metric: own},
        examples=40,
        accuracy_interval=(0.546, 0.819),
        labels=("bad", "good"),
        confusion_matrix=[[15, 5], [7, 13]],
    )
    best = BestEvaluation(step=1, metric=metric, evaluation=evaluation)
    learned = {"train_losses": (0.1,), "steps": 2, "skipped_steps": 0, "hidden_size": 32}
    outcome = Outcome(best=best, baselines={"linear": {metric: of_baseline}}, **learned)
    found = remarks(given, read_data(given), outcome)
    assert [each.startswith(expected or "") for each in found] == ([True] if expected else [])


def test_linear_baseline_is_left_out_without_scikit_learn(settings, tmp_path, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    result = run(settings, tmp_path / "run", baseline=True)
    assert set(result.baselines) == {"majority class"}
    assert "baseline tf-idf and logistic regression: left out, because" in caplog.text


@pytest.mark.parametrize(("rate", "level"), [(1e-9, "low"), (50.0, "high")])
def test_run_that_learns_nothing_names_the_learning_rate(settings, tmp_path, rate, level):
    settings["train"]["learning_rate"] = rate
    result = run(settings, tmp_path / "run")
    (remark,) = result.remarks
    assert "development rows are too few to say whether the model learned" in remark or "did not learn" in remark
    assert f"is {level}: set train.learning_rate=" in remark
    assert "2 steps are few: set train.duration='20 epochs'" in remark
    assert "27 training rows are few" in remark or "26 training rows are few" in remark
    assert f"note: {remark}" in result.to_text()


def test_run_that_learns_nothing_names_the_learning_rate_of_muon(settings, tmp_path):
    settings["train"] |= {"optimizer": "muon", "learning_rate": 1e-3, "muon_learning_rate": 50.0}
    (remark,) = run(settings, tmp_path / "run").remarks
    assert "Likely causes: a Muon learning rate of 50 is high: set train.muon_learning_rate=0.002;" in remark


def test_run_that_learns_has_no_remark(settings, tmp_path):
    settings["train"] |= {"duration": "40 steps", "learning_rate": 0.01}
    assert run(settings, tmp_path / "run").remarks == ()


def test_model_card_and_environment_say_what_the_run_did(settings, tmp_path):
    settings["train"]["evaluate_every"] = "1 steps"
    result = run(settings, tmp_path / "run")
    environment = json.loads((tmp_path / "run" / "environment.json").read_text())
    expected = {
        "objective": "classification",
        "initialization": f"weights of {settings['model']}, a new head",
        "exported model": "the best by accuracy on the development examples",
        "development examples": "10: 25% of the rows of train.csv, held out with seed 0",
    }
    assert {name: environment[name] for name in expected} == expected
    card = (result.model / "README.md").read_text()
    assert result.evaluations == 2
    assert "on the development examples, of 2 evaluations: these scores are optimistic" in card
    assert expected["development examples"] in card


def test_resuming_with_other_development_rows_is_refused(settings, tmp_path):
    dev = write_opinions(tmp_path / "dev.csv")
    settings["data"]["dev"] = dev
    settings["train"] |= {"evaluate_every": "1 steps", "checkpoint_every": "1 steps"}
    wanted = FinetuneRun.parse(settings, where="test")
    with pytest.raises(StoppedError):
        finetune(wanted, tmp_path / "run", callbacks=[At("step", 2, stop)])
    dev.write_text(dev.read_text().replace("good", "bad"))
    with pytest.raises(CheckpointError, match="chosen on other development examples than those of"):
        finetune(wanted, tmp_path / "run")


def test_held_out_questions_of_a_table_are_written_as_a_table(settings, tmp_path):
    rows = [
        {"question": "what?", "context": f"the {noun} was good", "answer": noun}
        for noun in ("film", "actor", "music", "play", "story")
    ]
    settings["data"]["train"] = tmp_path / "questions.jsonl"
    settings["data"]["train"].write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run(settings, tmp_path / "run", max_length=32)
    assert evaluate_file(result.model, tmp_path / "run" / "dev.jsonl").metrics == result.best.metrics


def test_held_out_rows_with_a_carriage_return_are_written_as_json_lines(settings, tmp_path):
    file = write_opinions(tmp_path / "opinions.tsv")
    settings["data"]["train"] = file
    file.write_text(file.read_text().replace("film", "film\rthat"), newline="")
    result = run(settings, tmp_path / "run")
    assert not (tmp_path / "run" / "dev.tsv").exists()
    assert evaluate_file(result.model, tmp_path / "run" / "dev.jsonl").metrics == result.best.metrics


@pytest.mark.parametrize(("name", "written"), [("x.CSV.gz", "dev.csv"), ("x.parquet", "dev.jsonl")])
def test_held_out_rows_of_compressed_and_parquet_files_are_written_as_text(settings, tmp_path, name, written):
    file = settings["data"]["train"] = tmp_path / name
    text = write_opinions(tmp_path / "opinions.csv").read_text()
    if name.endswith(".gz"):
        file.write_bytes(gzip.compress(text.encode()))
    else:
        pyarrow = pytest.importorskip("pyarrow")
        rows = list(csv.DictReader(text.splitlines()))
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), file)
    result = run(settings, tmp_path / "run")
    assert evaluate_file(result.model, tmp_path / "run" / written).metrics == result.best.metrics


def test_held_out_rows_of_a_file_with_semicolons_have_semicolons_and_are_read_again(settings, tmp_path):
    file = settings["data"]["train"]
    file.write_text(file.read_text().replace(",", ";").replace("actor", "actor, really,"))
    result = run(settings, tmp_path / "run")
    written = (tmp_path / "run" / "dev.csv").read_text().splitlines()
    assert written[0] == "text;label"
    assert any('"the old actor, really, ' in line for line in written)
    assert evaluate_file(result.model, tmp_path / "run" / "dev.csv").metrics == result.best.metrics


@pytest.mark.parametrize("label", ["label", "xpos"])
def test_universal_dependencies_are_learned_and_evaluated_by_the_same_column(settings, tmp_path, label):
    file = settings["data"]["train"] = tmp_path / "train.conllu"
    row = "{}\t{}\t_\t{}\t{}\t_\t_\t_\t_\t_\n".format
    file.write_text(
        "".join(f"{row(1, 'the', 'DET', 'DT')}{row(2, noun, 'NOUN', 'NN')}\n" for noun in ("film", "actor") * 6)
    )
    settings["data"]["label"] = label
    result = run(settings, tmp_path / "run")
    assert result.task_type == "token_classification"
    assert evaluate_file(result.model, tmp_path / "run" / "dev.jsonl").metrics == result.best.metrics
    evaluation = evaluate_file(result.model, file)
    assert evaluation.labels == (("DET", "NOUN") if label == "label" else ("DT", "NN"))
    assert next(iter(evaluation.metrics)) == "word_accuracy"
