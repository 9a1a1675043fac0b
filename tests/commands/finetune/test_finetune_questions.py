"""Question answering from data to predictions."""

import json
import logging
import shutil

import pytest

from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun, load_finetune_config
from litebert.errors import ConfigError, DataError
from litebert.inference.predictor import Predictor
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForPretraining
from litebert.tasks.metrics.squad_metrics import percent, score_with_unanswerable
from litebert.tasks.readers.columns import Columns
from litebert.tasks.types.extractive_qa.question_settings import NoAnswerThreshold
from litebert.tasks.types.extractive_qa.squad_json import read_squad
from support.data.question_builders import CONTEXT, QUESTIONS, squad_json, write_squad
from support.runs.prediction_commands import evaluate_file, run_ensemble, run_predict


@pytest.fixture(scope="module")
def pretrained(tiny_tokenizer, tmp_path_factory):
    config = ModelConfig(
        vocab_size=tiny_tokenizer.vocab_size,
        embedding_size=16,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=96,
        initializer_range=0.1,
    )
    return save_model(
        ForPretraining(config), tmp_path_factory.mktemp("pretrained") / "model", extra_files=tiny_tokenizer.files()
    )


def run_of(pretrained, train, **data):
    settings = {
        "model": str(pretrained),
        "data": {"train": str(train), "dev": str(train), **data},
        "train": {
            "duration": "60 steps",
            "optimizer": "adamw",
            "learning_rate": 0.01,
            "evaluate_every": "30 steps",
            "device": "cpu",
        },
        "batch_size": 8,
        "microbatch_size": 8,
        "max_length": 88,
    }
    return FinetuneRun.parse(settings, where="test")


@pytest.fixture(scope="module")
def unsure(pretrained, tmp_path_factory):
    """A finished run on questions of which one has no answer, and its file."""
    root = tmp_path_factory.mktemp("unsure")
    file = write_squad(root / "train.json", squad_json(*QUESTIONS))
    return finetune(run_of(pretrained, file), root / "run"), file


@pytest.fixture(scope="module")
def certain(pretrained, tmp_path_factory):
    """A finished run on a table in which every question has an answer."""
    root = tmp_path_factory.mktemp("certain")
    file = root / "train.jsonl"
    rows = [{"question": each.text, "context": CONTEXT, "answer": each.answers[0].text} for each in QUESTIONS[:3]]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return finetune(run_of(pretrained, file), root / "run"), file


def test_finetune_learns_both_qa_task_types(unsure, certain):
    assert (unsure[0].task_type, certain[0].task_type) == ("extractive_qa_no_answer", "extractive_qa")
    assert unsure[0].best.metrics["answer_f1"] == 100
    assert certain[0].best.metrics["answer_f1"] == 100
    assert unsure[0].train_examples == 4


def test_evaluation_of_a_qa_model_equals_that_of_its_run(unsure, certain):
    for result, file in (unsure, certain):
        evaluation = evaluate_file(result.model, file)
        found = evaluation.metrics
        assert found["answer_f1"] == pytest.approx(result.best.metrics["answer_f1"])
        assert found.get("no_answer_threshold") == result.best.metrics.get("no_answer_threshold")
        # Two thresholds may give the same score, and rounding decides between them.
        expected = {name: value for name, value in result.best.metrics.items() if not name.endswith("_thresh")}
        assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-3)
        assert f": {evaluation.to_text().splitlines()[0]}\n" in result.to_text()


def test_evaluation_logs_a_threshold_that_it_chose(unsure, tmp_path, caplog):
    bare = shutil.copytree(
        unsure[0].model, tmp_path / "model", ignore=shutil.ignore_patterns("SHA256SUMS", "question_*")
    )
    with caplog.at_level(logging.INFO, "litebert"):
        for model in (unsure[0].model, bare):
            evaluate_file(model, unsure[1])
    chosen = [message for message in caplog.messages if "no-answer threshold" in message]
    assert len(chosen) == 1
    assert "chosen for the best F1 on this data" in chosen[0]


def test_predictor_answers_with_offsets_or_no_answer(unsure, certain):
    predictor = Predictor.load(unsure[0].model)
    for question in QUESTIONS:
        answer = predictor.answer(question.text, CONTEXT)
        assert CONTEXT[answer.start : answer.end] == answer.text
        assert answer.text == (question.answers[0].text if question.answers else "")
        assert 0 <= answer.no_answer_probability <= 1
        assert answer.candidates[0].probability >= answer.candidates[-1].probability
    always = Predictor.load(certain[0].model)
    assert always.answer(QUESTIONS[0].text, CONTEXT).no_answer_probability is None
    assert always.answer_batch([]) == []
    with pytest.raises(ConfigError, match="call 'answer'"):
        always.classify(["a text"])


def test_predict_squad_file_needs_no_answers(unsure, tmp_path):
    result, file = unsure
    content = json.loads(file.read_text())
    for question in content["data"][0]["paragraphs"][0]["qas"]:
        del question["answers"], question["is_impossible"]
    written = run_predict(result.model, write_squad(tmp_path / "test.json", content), tmp_path / "answers")
    assert (written.predictions, written.counts) == (4, {"unanswered": 1})
    limit = result.best.metrics["no_answer_threshold"]
    assert written.threshold == NoAnswerThreshold(limit, "model")
    assert written.to_text().endswith(
        f"(extractive_qa_no_answer, 1 unanswered, no-answer threshold {limit:.4f} (chosen in fine-tuning))"
    )
    predictions = json.loads((tmp_path / "answers" / "predictions.json").read_text())
    assert percent(score_with_unanswerable(read_squad(file), predictions).f1.values()) == 100
    assert set(json.loads((tmp_path / "answers" / "null_odds.json").read_text())) == set(predictions)


def test_predict_leaves_exactly_the_questions_above_the_threshold_unanswered(unsure, tmp_path):
    result, file = unsure
    run_predict(result.model, file, tmp_path / "first")
    odds = json.loads((tmp_path / "first" / "null_odds.json").read_text())
    for limit in (min(odds.values()) - 1, *odds.values()):
        written = run_predict(result.model, file, tmp_path / "answers", threshold=limit)
        predictions = json.loads((tmp_path / "answers" / "predictions.json").read_text())
        assert {name for name, text in predictions.items() if not text} == {name for name in odds if odds[name] > limit}
        assert written.threshold == NoAnswerThreshold(limit, "given")
        assert json.loads((tmp_path / "answers" / "null_odds.json").read_text()) == odds


def test_predict_table_uses_and_logs_a_given_threshold(unsure, tmp_path, caplog):
    result, _ = unsure
    (tmp_path / "in.jsonl").write_text(json.dumps({"question": QUESTIONS[0].text, "context": CONTEXT}) + "\n")
    with caplog.at_level(logging.INFO, "litebert"):
        written = run_predict(result.model, tmp_path / "in.jsonl", tmp_path / "out.jsonl", threshold=-1e9)
    assert "no-answer threshold -1000000000.0000 (as given)" in caplog.text
    assert written.to_text().endswith("1 unanswered, no-answer threshold -1000000000.0000 (as given))")
    assert written.to_dict()["threshold"] == {"value": -1e9, "source": "given"}
    assert json.loads((tmp_path / "out.jsonl").read_text())["prediction"] == ""


def test_predict_without_a_threshold_uses_zero_and_warns(unsure, tmp_path, caplog):
    bare = shutil.copytree(unsure[0].model, tmp_path / "model")
    (bare / "SHA256SUMS").unlink()
    kept = json.loads((bare / "question_answering.json").read_text())
    (bare / "question_answering.json").write_text(json.dumps(kept | {"no_answer_threshold": None}))
    assert run_predict(bare, unsure[1], tmp_path / "answers").threshold == NoAnswerThreshold(0.0, "default")
    (record,) = (record for record in caplog.records if record.levelno == logging.WARNING)
    assert "no-answer threshold 0.0000 (default, none was chosen); `litebert evaluate`" in record.getMessage()


def test_predict_rejects_a_threshold_for_a_model_that_always_answers(certain, unsure, tmp_path):
    with pytest.raises(ConfigError, match='threshold: a model for extractive_qa never predicts "no answer"'):
        run_predict(certain[0].model, unsure[1], tmp_path / "answers", threshold=0.0)
    assert run_predict(certain[0].model, unsure[1], tmp_path / "answers").threshold is None


def test_predict_squad_file_needs_a_directory(unsure, tmp_path):
    with pytest.raises(ConfigError, match="give a directory"):
        run_predict(unsure[0].model, unsure[1], tmp_path / "answers.jsonl")


def test_predict_table_of_questions_writes_answers_with_offsets(certain, tmp_path):
    result, file = certain
    output = tmp_path / "answers.jsonl"
    run_predict(result.model, file, output)
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [row["prediction"] for row in rows] == [row["answer"] for row in rows]
    assert CONTEXT[rows[1]["start"] : rows[1]["end"]] == rows[1]["prediction"]


def test_commands_reject_a_named_column_that_is_missing(pretrained, certain, tmp_path):
    result, file = certain
    commands = [
        lambda: finetune(run_of(pretrained, file, text="text"), tmp_path / "run"),
        lambda: evaluate_file(result.model, file, Columns(text="text")),
        lambda: run_ensemble([result.model], file, Columns(text="text")),
        lambda: run_predict(result.model, file, tmp_path / "out.csv", text="text"),
    ]
    for command in commands:
        with pytest.raises(DataError, match=r"no column 'text'.*; it has 'question', 'context', 'answer'"):
            command()


def test_finetune_rejects_or_skips_invalid_answers(pretrained, tmp_path):
    content = squad_json(*QUESTIONS)
    content["data"][0]["paragraphs"][0]["qas"][0]["answers"] = [{"text": "nobody", "answer_start": 0}]
    file = write_squad(tmp_path / "train.json", content)
    with pytest.raises(DataError, match=r"question 'q1': field 'answers\[0\]\.answer_start'"):
        finetune(run_of(pretrained, file), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert finetune(run_of(pretrained, file, invalid_answers="skip"), tmp_path / "run").train_examples == 3


@pytest.mark.parametrize(("name", "questions"), [("squad-v1.1", 87_599), ("squad-v2.0", 130_319)])
def test_squad_recipes_have_the_steps_of_the_paper(name, questions):
    """Steps are questions ÷ batch × epochs, cut; windows are not counted. Source: table 14."""
    run = load_finetune_config(name, given={"model": "m", "data": {"train": "train.json"}})
    epochs = {"squad-v1.1": 2, "squad-v2.0": 3}[name]
    assert str(run.train.duration) == f"{int(questions / run.batch_size * epochs)} steps"
