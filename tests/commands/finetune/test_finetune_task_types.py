"""Fine-tuning of every task type, from data to predictions."""

import json
import logging

import numpy as np
import pytest
import torch
from huggingface_hub import ModelCard

from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.errors import ConfigError, DataError
from litebert.inference.predictor import Predictor
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.models import ForPretraining
from litebert.tasks.readers.columns import Columns
from support.data.benchmark_files import write_cola, write_race
from support.data.labelled_files import OPINIONS, SUBJECTS, write_opinions
from support.models.tolerances import within
from support.runs.prediction_commands import evaluate_file, evaluate_task, run_predict

TRAIN = {"duration": "100 steps", "optimizer": "adamw", "learning_rate": 0.01, "evaluate_every": "30 steps"}


@pytest.fixture(scope="module")
def pretrained(tiny_tokenizer, tmp_path_factory):
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    config = ModelConfig(
        vocab_size=tiny_tokenizer.vocab_size,
        embedding_size=16,
        max_position_embeddings=40,
        initializer_range=0.1,
        **sizes,
    )
    directory = tmp_path_factory.mktemp("pretrained") / "model"
    return save_model(ForPretraining(config), directory, extra_files=tiny_tokenizer.files())


def tuned(pretrained, out, data, **changes):
    values = {"model": str(pretrained), "data": data, "batch_size": 12, "microbatch_size": 12, "max_length": 40}
    train = {**TRAIN, "device": "cpu"}
    run = FinetuneRun.parse({**values, "train": train, **changes}, where="test")
    return finetune(run, out)


def sentences():
    """(words, opinion is good) for each subject and opinion."""
    for subject in SUBJECTS:
        for name, opinions in OPINIONS.items():
            for opinion in opinions:
                yield subject, opinion, name == "good"


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_student_learns_what_a_teacher_predicts_for_texts_without_labels(pretrained, tmp_path):
    labelled = write_opinions(tmp_path / "labelled.csv")
    teacher = tuned(pretrained, tmp_path / "teacher", {"train": str(labelled), "dev": str(labelled)})
    texts = write_rows(
        tmp_path / "texts.jsonl", [{"text": f"{subject} {opinion}"} for subject, opinion, _ in sentences()]
    )
    predicted = tmp_path / "predicted.jsonl"
    run_predict(teacher.model, texts, predicted)
    data = {"train": str(predicted), "dev": str(labelled)}
    student = tuned(pretrained, tmp_path / "student", data, seed=1, baseline=True)
    assert student.task_type == "classification"
    assert student.best.metrics["accuracy"] > 0.9
    assert {"majority class", "tf-idf and logistic regression"} <= student.baselines.keys()
    given = [json.loads(line)["probabilities"]["good"] for line in predicted.read_text().splitlines()]
    answers = Predictor.load(student.model).classify([f"{subject} {opinion}" for subject, opinion, _ in sentences()])
    assert np.corrcoef(given, [answer.probabilities["good"] for answer in answers])[0, 1] > 0.9


def test_certain_probabilities_train_the_same_model_as_labels(pretrained, tmp_path):
    rows = [{"text": f"{subject} {opinion}", "label": ["bad", "good"][good]} for subject, opinion, good in sentences()]
    certain = [{"text": row["text"], "label": {row["label"]: 1}} for row in rows]
    models = []
    for name, contents in (("labels", rows), ("certain", certain)):
        file = write_rows(tmp_path / f"{name}.jsonl", contents)
        data = {"train": str(file), "dev": str(write_opinions(tmp_path / "dev.csv"))}
        result = tuned(pretrained, tmp_path / name, data, train={**TRAIN, "duration": "5 steps", "device": "cpu"})
        models.append(load_model(result.model).state_dict())
    for name, weights in models[0].items():
        assert torch.allclose(weights, models[1][name], **within(depth="compound"))


def test_finetune_learns_multi_label(pretrained, tmp_path):
    rows = [
        {"text": f"{subject} {opinion}", "label": ["film"] * ("film" in subject) + ["good"] * good}
        for subject, opinion, good in sentences()
    ]
    file = write_rows(tmp_path / "rows.jsonl", rows)
    result = tuned(pretrained, tmp_path / "run", {"train": str(file), "dev": str(file)})
    assert (result.task_type, result.best.evaluation.labels) == ("multi_label", ("film", "good"))
    assert result.best.metrics["micro_f1"] > 0.9
    assert evaluate_file(result.model, file).metrics == pytest.approx(result.best.metrics)
    answers = Predictor.load(result.model).classify_multi_label(["the film was good", "the music was bad"])
    assert [answer.labels for answer in answers] == [("film", "good"), ()]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[], []], "no row has a label; give rows with and without each label"),
        ([["good"], []], "'good' is the only label; give data with two labels or more, or a label for every row"),
    ],
)
def test_multi_label_data_need_two_labels(pretrained, tmp_path, labels, message):
    rows = [{"text": "a", "label": label} for label in labels]
    file = write_rows(tmp_path / "rows.jsonl", rows)
    with pytest.raises(DataError, match=f"field 'label': {message}"):
        tuned(pretrained, tmp_path / "run", {"train": str(file), "dev": str(file)})


def test_finetune_learns_multiple_choice(pretrained, tmp_path):
    rows = [
        {"text": f"{subject} {opinion}", "options": ["praise", "blame"], "label": "A" if good else "B"}
        for subject, opinion, good in sentences()
    ]
    file = write_rows(tmp_path / "rows.jsonl", rows)
    result = tuned(pretrained, tmp_path / "run", {"train": str(file), "dev": str(file)})
    assert (result.task_type, result.best.evaluation.labels) == ("multiple_choice", ("A", "B"))
    assert result.best.metrics["accuracy"] > 0.8
    assert evaluate_file(result.model, file).metrics == pytest.approx(result.best.metrics)
    choices = Predictor.load(result.model).multiple_choice([(row["text"], None, row["options"]) for row in rows])
    right = sum(choice.letter == row["label"] for choice, row in zip(choices, rows, strict=True))
    assert right / len(rows) == pytest.approx(result.best.metrics["accuracy"])


def test_finetune_learns_token_classification(pretrained, tmp_path):
    file = tmp_path / "rows.conll"
    lines = []
    for subject, opinion, good in sentences():
        words = subject.split()
        lines += [f"{words[0]}\tB-SUBJECT", *(f"{word}\tI-SUBJECT" for word in words[1:])]
        *before, last = opinion.split()
        lines += [*(f"{word}\tO" for word in before), f"{last}\t{'B-PRAISE' if good else 'B-BLAME'}", ""]
    file.write_text("\n".join(lines) + "\n")
    result = tuned(pretrained, tmp_path / "run", {"train": str(file), "dev": str(file)})
    assert result.task_type == "token_classification"
    assert result.best.metrics["entity_f1"] > 0.9
    assert evaluate_file(result.model, file).metrics == pytest.approx(result.best.metrics)
    (tagging,) = Predictor.load(result.model).classify_tokens([["the", "old", "actor", "was", "good"]])
    assert [(entity.label, entity.text) for entity in tagging.entities] == [
        ("SUBJECT", "the old actor"),
        ("PRAISE", "good"),
    ]


def test_finetune_learns_a_glue_task(pretrained, tmp_path):
    data = write_cola(tmp_path / "glue")
    result = tuned(pretrained, tmp_path / "run", {"task": "cola", "directory": str(data)})
    assert result.best.metric == "matthews"
    assert result.best.metrics["matthews"] > 0.8
    assert evaluate_task(result.model, "cola", data).splits["dev"].metrics == pytest.approx(result.best.metrics)
    card = (result.model / "README.md").read_text()
    assert "training data | cola" in card
    assert str(pretrained) not in card
    read = ModelCard(card).data
    assert (read.datasets, read.base_model) == (["nyu-mll/glue"], None)
    assert [(each.metric_name, each.metric_value) for each in read.eval_results] == list(result.scores.items())


def test_finetune_rejects_a_split_file_that_is_not_read(pretrained, tmp_path):
    data = {"task": "cola", "directory": str(write_cola(tmp_path)), "split_files": {"test": "mine.tsv"}}
    with pytest.raises(ConfigError, match="split_files: only train and dev are read; remove test"):
        tuned(pretrained, tmp_path / "run", data)


def test_finetune_scores_race_by_level(pretrained, tmp_path):
    data = write_race(tmp_path / "data")
    short = {**TRAIN, "duration": "2 steps", "device": "cpu"}
    result = tuned(pretrained, tmp_path / "run", {"task": "race", "directory": str(data)}, batch_size=2, train=short)
    assert {part.name for part in result.best.evaluation.by_slice} == {"middle", "high"}
    assert evaluate_task(result.model, "race", data).splits["dev"].metrics == pytest.approx(result.best.metrics)


@pytest.mark.parametrize("task_type", ["multi_label", "multiple_choice", "token_classification"])
def test_finetune_rejects_an_invalid_row_and_writes_nothing(pretrained, tmp_path, task_type):
    good, bad = {
        "multi_label": ({"text": "a", "label": ["x"]}, {"text": "a", "label": ["x", "x"]}),
        "multiple_choice": (
            {"text": "a", "options": ["x", "y"], "label": 0},
            {"text": "a", "options": ["x"], "label": 0},
        ),
        "token_classification": ({"text": ["a"], "label": ["O"]}, {"text": ["a"], "label": []}),
    }[task_type]
    file = write_rows(tmp_path / "rows.jsonl", [good, bad])
    with pytest.raises(DataError, match=r"rows\.jsonl:2: field "):
        tuned(pretrained, tmp_path / "run", {"train": str(file)})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"task": "colla", "directory": "x"}, r"data: .*unknown task 'colla' \(did you mean 'cola'\?\)"),
        ({"task": "ax", "directory": "x"}, "the task ax has no split 'train'; it has diagnostic"),
        ({"task": "cola", "directory": "x", "dev": "dev-mismatched"}, "the task cola has no split 'dev-mismatched'"),
        ({"task": "cola"}, r"setting 'data\.directory' is missing"),
        ({"train": "x", "lable": "y"}, r"unknown setting 'data\.lable'"),
    ],
)
def test_finetune_data_settings_are_validated(pretrained, tmp_path, data, message):
    with pytest.raises(ConfigError, match=message):
        tuned(pretrained, tmp_path / "run", data)


def test_finetune_scores_a_column_of_slices(pretrained, tmp_path):
    rows = [
        {"text": f"{subject} {opinion}", "label": "good" if good else "bad", "about": subject.split()[-1]}
        for subject, opinion, good in sentences()
    ]
    file = write_rows(tmp_path / "rows.jsonl", rows)
    train = {**TRAIN, "duration": "1 steps", "device": "cpu"}
    data = {"train": str(file), "dev": str(file), "slice": "about"}
    result = tuned(pretrained, tmp_path / "run", data, train=train)
    assert {part.name for part in result.best.evaluation.by_slice} == {subject.split()[-1] for subject in SUBJECTS}
    assert evaluate_file(result.model, file, Columns(slice="about")).by_slice


def write_long_opinions(path):
    """Texts of some 70 tokens whose opinion is in their last words."""
    rows = [
        {"text": f"{'the actor saw the film . ' * 6} {subject} {opinion}", "label": "good" if good else "bad"}
        for subject, opinion, good in sentences()
    ]
    return write_rows(path, rows)


def test_windows_learn_what_truncation_does_not_read(pretrained, tmp_path, caplog):
    file = write_long_opinions(tmp_path / "rows.jsonl")
    data, accuracies = {"train": str(file), "dev": str(file)}, {}
    caplog.set_level(logging.INFO, "litebert")
    for long_texts in ("truncate", "windows"):
        result = tuned(
            pretrained, tmp_path / long_texts, data, long_texts=long_texts, train={**TRAIN, "duration": "300 steps"}
        )
        accuracies[long_texts] = result.best.metrics["accuracy"]
        assert evaluate_file(result.model, file).metrics == pytest.approx(result.best.metrics)
    assert accuracies["truncate"] == 0.5, "all texts have the same first tokens"
    assert accuracies["windows"] > 0.9
    assert "are read in several parts" in caplog.text
    assert "rows are longer than" not in caplog.text.split("are read in several parts")[1]


def test_windows_do_not_apply_to_questions_pairs_or_words(pretrained, tmp_path):
    words, pairs = (
        tmp_path / "rows.conll",
        write_rows(
            tmp_path / "rows.jsonl",
            [{"text": "the film", "text_pair": "a play", "label": label} for label in ("same", "other") * 4],
        ),
    )
    words.write_text("the O\nfilm B-X\n\na O\nplay B-X\n")
    with pytest.raises(ConfigError, match="long_texts: token_classification reads long inputs in parts anyway"):
        tuned(pretrained, tmp_path / "words", {"train": str(words), "dev": str(words)}, long_texts="windows")
    with pytest.raises(DataError, match="text 1: has a second text, but long_texts=windows reads single texts"):
        tuned(pretrained, tmp_path / "pairs", {"train": str(pairs), "dev": str(pairs)}, long_texts="windows")
    race = {"task": "race", "directory": str(write_race(tmp_path / "race"))}
    with pytest.raises(ConfigError, match="long_texts: multiple_choice truncates long inputs; leave the setting out"):
        tuned(pretrained, tmp_path / "choices", race, long_texts="windows")
