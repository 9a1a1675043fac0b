"""Fine-tuning a masked language model to resolve pronouns, from data to the submission file."""

import zipfile

import pytest

from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.errors import ConfigError, DataError
from litebert.inference.predictor import Predictor
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from support.runs.prediction_commands import evaluate_task, predict_split, run_predict, run_submission
from support.runs.tiny_runs import save_pretrained

THINGS = ("film", "music", "movie", "story", "actor")


def pairs():
    """(text, hypothesis, label): what was good is the first thing, what was bad the second."""
    for one in THINGS:
        for other in THINGS:
            if one == other:
                continue
            for opinion, right in (("good", one), ("bad", other)):
                for thing in (one, other):
                    yield f"the {one} and the {other} : it was {opinion}", f"the {thing} was {opinion}", thing == right


def write_wnli(root):
    """Train and development file with the same pairs, and a test file without labels."""
    (root / "WNLI").mkdir(parents=True)
    rows = [f"{number}\t{text}\t{hypothesis}" for number, (text, hypothesis, _) in enumerate(pairs())]
    labels = [int(is_right) for *_, is_right in pairs()]
    labelled = [f"{row}\t{label}" for row, label in zip(rows, labels, strict=True)]
    for split in ("train", "dev"):
        text = "\n".join(["index\tsentence1\tsentence2\tlabel", *labelled])
        (root / "WNLI" / f"{split}.tsv").write_text(text + "\n")
    (root / "WNLI" / "test.tsv").write_text("\n".join(["index\tsentence1\tsentence2", *rows]) + "\n")
    return root


@pytest.fixture(scope="module")
def tuned(tiny_tokenizer, tmp_path_factory):
    """The directory of the benchmark, and the result of a run that learns the rule of `pairs`."""
    root = tmp_path_factory.mktemp("pronouns")
    data = write_wnli(root / "glue")
    settings = {
        "model": str(save_pretrained(tiny_tokenizer, root / "pretrained")),
        "data": {"task": "wnli-pronouns", "directory": str(data)},
        "train": {"duration": "150 steps", "optimizer": "adamw", "learning_rate": 0.005, "device": "cpu"},
        "batch_size": 16,
        "microbatch_size": 16,
        "max_length": 40,
    }
    return data, finetune(FinetuneRun.parse(settings, where="test"), root / "run")


def test_rule_for_a_pronoun_is_learned(tuned):
    _, result = tuned
    assert result.task_type == "pronoun_resolution"
    assert result.best.metrics["accuracy"] > 0.9


def test_scores_of_evaluation_are_those_of_the_run(tuned):
    data, result = tuned
    found = evaluate_task(result.model, "wnli-pronouns", data).splits["dev"]
    assert found.metrics == pytest.approx(result.best.metrics)


def test_predictions_and_submission_have_the_labels_of_wnli(tuned, tmp_path):
    data, result = tuned
    predict_split(result.model, BenchmarkSplit(task="wnli-pronouns", split="test"), data, tmp_path / "WNLI.tsv")
    lines = (tmp_path / "WNLI.tsv").read_text().splitlines()[1:]
    expected = [str(int(is_right)) for *_, is_right in pairs()]
    agreement = sum(line.split("\t")[1] == label for line, label in zip(lines, expected, strict=True)) / len(lines)
    assert agreement == pytest.approx(result.best.metrics["accuracy"], abs=0.05)
    submission = run_submission({"wnli-pronouns": [result.model]}, data, tmp_path / "glue.zip")
    assert submission.files == {"WNLI.tsv": len(lines)}
    with zipfile.ZipFile(tmp_path / "glue.zip") as archive:
        packed = archive.read("WNLI.tsv").decode().splitlines()[1:]
    assert sum(a == b for a, b in zip(packed, lines, strict=True)) >= 0.95 * len(lines)


def test_submission_rejects_both_models_of_wnli(tuned, tmp_path):
    data, result = tuned
    with pytest.raises(ConfigError, match="wnli and wnli-pronouns predict the same file; give one of them"):
        run_submission({"wnli": [result.model], "wnli-pronouns": [result.model]}, data, tmp_path / "glue.zip")


def test_predictor_resolves_pronouns(tuned, tmp_path):
    _, result = tuned
    predictor = Predictor.load(result.model)
    assert predictor.task == "pronoun_resolution"
    found = predictor.resolve_pronouns([(text, hypothesis) for text, hypothesis, _ in pairs()])
    right = [each.label == str(int(is_right)) for each, (*_, is_right) in zip(found, pairs(), strict=True)]
    assert sum(right) / len(right) == pytest.approx(result.best.metrics["accuracy"], abs=0.05)
    assert all((each.probabilities["1"] > 0.5) == (each.label == "1") for each in found)
    rows = [f"{text},{hypothesis}" for text, hypothesis, _ in pairs()]
    (tmp_path / "new.csv").write_text("\n".join(["sentence1,sentence2", *rows]) + "\n")
    run_predict(result.model, tmp_path / "new.csv", tmp_path / "out.csv")
    header, *lines = (tmp_path / "out.csv").read_text().splitlines()
    assert header.split(",")[2] == "prediction"
    assert [line.split(",")[2] for line in lines] == [each.label for each in found]


def test_second_text_without_a_token_is_refused_where_it_is(tuned, tmp_path):
    _, result = tuned
    with pytest.raises(DataError, match="text 1: '' has no tokens"):
        Predictor.load(result.model).resolve_pronouns([("A text.", "")])
    (tmp_path / "new.csv").write_text("sentence1,sentence2\nthe film was good,the film was\nA text.,\u200b\n")
    with pytest.raises(DataError, match=r"new\.csv:3: a text of the row has no tokens"):
        run_predict(result.model, tmp_path / "new.csv", tmp_path / "out.csv")
