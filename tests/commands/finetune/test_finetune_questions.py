"""Questions from file to answer: trained, evaluated and predicted by the same verbs as every kind."""

import json
import logging
import shutil

import pytest
from litebert.commands.predict.predict_questions import predict_squad

from litebert.commands.ensemble.ensemble import ensemble
from litebert.commands.evaluate.evaluate_labelled import evaluate_labelled
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun, load_finetune_config
from litebert.commands.predict.predict import PredictRun, predict
from litebert.errors import ConfigError, DataError
from litebert.inference.predictor import Predictor
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForPretraining
from litebert.settings import read_yaml, write_yaml
from litebert.tasks.metrics.squad_metrics import evaluate_with_unanswerable
from litebert.tasks.readers.columns import Columns
from litebert.tasks.types.extractive_qa.question_settings import Threshold
from litebert.tasks.types.extractive_qa.squad_json import read_squad
from support.question_builders import CONTEXT, QUESTIONS, squad_json, write_squad


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


def test_a_file_decides_the_kind_and_is_learnt(unsure, certain):
    assert (unsure[0].task_type, certain[0].task_type) == ("extractive_qa_no_answer", "extractive_qa")
    assert unsure[0].best["metrics"]["answer_f1"] == 100
    assert certain[0].best["metrics"]["answer_f1"] == 100
    assert unsure[0].train_examples == 4


def test_an_evaluation_repeats_that_of_the_run(unsure, certain):
    for result, file in (unsure, certain):
        evaluation = evaluate_labelled(result.model, file)
        found = evaluation.metrics
        assert found["answer_f1"] == pytest.approx(result.best["metrics"]["answer_f1"])
        assert found.get("no_answer_threshold") == result.best["metrics"].get("no_answer_threshold")
        assert f": {evaluation.to_text()}\nmodel: " in result.to_text()


def test_an_evaluation_says_whether_its_threshold_was_kept_or_chosen(unsure, tmp_path, caplog):
    bare = shutil.copytree(
        unsure[0].model, tmp_path / "model", ignore=shutil.ignore_patterns("SHA256SUMS", "question_*")
    )
    with caplog.at_level(logging.INFO, "litebert"):
        for model in (unsure[0].model, bare):
            evaluate_labelled(model, unsure[1])
    said = [message.rpartition(", ")[2] for message in caplog.messages if "no-answer threshold" in message]
    assert said == ["kept with the model", "the best for the F1 of these very rows"]


def test_a_predictor_answers_with_offsets_or_says_no(unsure, certain):
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
    with pytest.raises(ConfigError, match="it answers by 'answer'"):
        always.classify(["a text"])


def test_a_squad_file_is_answered_without_its_answers(unsure, tmp_path):
    result, file = unsure
    content = json.loads(file.read_text())
    for question in content["data"][0]["paragraphs"][0]["qas"]:
        del question["answers"], question["is_impossible"]
    written = predict_squad(result.model, write_squad(tmp_path / "test.json", content), tmp_path / "answers")
    assert (written.questions, written.unanswered) == (4, 1)
    limit = result.best["metrics"]["no_answer_threshold"]
    assert written.threshold == Threshold(limit, "kept")
    assert written.to_text().endswith(
        f"4 questions, 1 of them without an answer (no-answer threshold {limit:.4f}, kept with the model)"
    )
    predictions = json.loads((tmp_path / "answers" / "predictions.json").read_text())
    assert evaluate_with_unanswerable(read_squad(file).examples, predictions)["f1"] == 100
    assert set(json.loads((tmp_path / "answers" / "null_odds.json").read_text())) == set(predictions)


def test_exactly_the_questions_above_a_given_threshold_have_no_answer(unsure, tmp_path):
    result, file = unsure
    predict_squad(result.model, file, tmp_path / "first")
    odds = json.loads((tmp_path / "first" / "null_odds.json").read_text())
    for limit in (min(odds.values()) - 1, *odds.values()):
        written = predict_squad(result.model, file, tmp_path / "answers", threshold=limit)
        predictions = json.loads((tmp_path / "answers" / "predictions.json").read_text())
        assert {name for name, text in predictions.items() if not text} == {name for name in odds if odds[name] > limit}
        assert written.threshold == Threshold(limit, "given")
        assert json.loads((tmp_path / "answers" / "null_odds.json").read_text()) == odds


def test_a_threshold_is_said_and_a_table_is_answered_by_it_too(unsure, tmp_path, caplog):
    result, _ = unsure
    (tmp_path / "in.jsonl").write_text(json.dumps({"question": QUESTIONS[0].text, "context": CONTEXT}) + "\n")
    run = PredictRun(model=result.model, input=tmp_path / "in.jsonl", output=tmp_path / "out.jsonl", threshold=-1e9)
    with caplog.at_level(logging.INFO, "litebert"):
        written = predict(run)
    assert "no-answer threshold -1000000000.0000, as given" in caplog.text
    assert written.to_text().endswith("1 rows answered (answer; no-answer threshold -1000000000.0000, as given)")
    assert written.to_dict()["threshold"] == {"value": -1e9, "source": "given"}
    assert json.loads(run.output.read_text())["prediction"] == ""


def test_a_model_without_a_threshold_uses_the_middle_and_warns(unsure, tmp_path, caplog):
    bare = shutil.copytree(unsure[0].model, tmp_path / "model")
    (bare / "SHA256SUMS").unlink()
    kept = json.loads((bare / "question_answering.json").read_text())
    (bare / "question_answering.json").write_text(json.dumps(kept | {"no_answer_threshold": None}))
    assert predict_squad(bare, unsure[1], tmp_path / "answers").threshold == Threshold(0.0, "default")
    (record,) = (record for record in caplog.records if record.levelno == logging.WARNING)
    assert "no-answer threshold 0.0000, since none was chosen; `litebert evaluate`" in record.getMessage()


def test_a_threshold_for_a_model_that_always_answers_is_refused(certain, unsure, tmp_path):
    with pytest.raises(ConfigError, match="threshold: a ForQuestionAnswering never says that there is no answer"):
        predict_squad(certain[0].model, unsure[1], tmp_path / "answers", threshold=0.0)
    assert predict_squad(certain[0].model, unsure[1], tmp_path / "answers").threshold is None


def test_the_answers_to_a_squad_file_are_a_directory(unsure, tmp_path):
    with pytest.raises(ConfigError, match="give a directory"):
        predict_squad(unsure[0].model, unsure[1], tmp_path / "answers.jsonl")


def test_a_table_is_answered_row_by_row(certain, tmp_path):
    result, file = certain
    output = tmp_path / "answers.jsonl"
    predict(PredictRun(model=result.model, input=file, output=output))
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [row["prediction"] for row in rows] == [row["answer"] for row in rows]
    assert CONTEXT[rows[1]["start"] : rows[1]["end"]] == rows[1]["prediction"]


def test_no_verb_takes_another_column_for_one_that_is_named(pretrained, certain, tmp_path):
    result, file = certain
    verbs = [
        lambda: finetune(run_of(pretrained, file, text="text"), tmp_path / "run"),
        lambda: evaluate_labelled(result.model, file, Columns(text="text")),
        lambda: ensemble([result.model], file, Columns(text="text")),
        lambda: predict(PredictRun(model=result.model, input=file, output=tmp_path / "out.csv", text="text")),
    ]
    for verb in verbs:
        with pytest.raises(DataError, match=r"no column 'text'.*; it has 'question', 'context', 'answer'"):
            verb()


def test_a_run_of_a_version_that_kept_names_nobody_gave_goes_on(pretrained, certain, tmp_path):
    result, file = certain
    shutil.copytree(result.model.parent, tmp_path / "run")
    (tmp_path / "run" / "result.json").unlink()
    stored = tmp_path / "run" / "settings.yaml"
    older = read_yaml(stored)
    assert (older["data"]["text"], older["data"]["label"]) == (None, None)
    stored.write_text(write_yaml(older | {"data": older["data"] | {"text": "text", "label": "label"}}))
    with pytest.raises(ConfigError, match=r"data\.text was text, is question\."):
        finetune(run_of(pretrained, file, text="question"), tmp_path / "run")
    assert finetune(run_of(pretrained, file), tmp_path / "run").best == result.best


def test_a_run_of_a_version_that_let_it_name_what_nothing_reads_goes_on(pretrained, unsure, tmp_path):
    result, file = unsure
    shutil.copytree(result.model.parent, tmp_path / "run")
    (tmp_path / "run" / "result.json").unlink()
    stored = tmp_path / "run" / "settings.yaml"
    older = read_yaml(stored)
    stored.write_text(write_yaml(older | {"data": older["data"] | {"text": "q", "label": "label", "options": ["a"]}}))
    assert finetune(run_of(pretrained, file), tmp_path / "run").best == result.best


def test_answers_that_are_not_in_their_text_train_nothing_unless_skipped(pretrained, tmp_path):
    content = squad_json(*QUESTIONS)
    content["data"][0]["paragraphs"][0]["qas"][0]["answers"] = [{"text": "nobody", "answer_start": 0}]
    file = write_squad(tmp_path / "train.json", content)
    with pytest.raises(DataError, match=r"question 'q1': field 'answers\[0\]\.answer_start'"):
        finetune(run_of(pretrained, file), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert finetune(run_of(pretrained, file, invalid_answers="skip"), tmp_path / "run").train_examples == 3


@pytest.mark.parametrize(("name", "questions"), [("squad-v1.1", 87_599), ("squad-v2.0", 130_319)])
def test_the_recipes_take_the_steps_of_the_paper(name, questions):
    """Steps are questions ÷ batch × epochs, cut; windows are not counted. Source: table 14."""
    run = load_finetune_config(name, given={"model": "m", "data": {"train": "train.json"}})
    epochs = {"squad-v1.1": 2, "squad-v2.0": 3}[name]
    assert str(run.train.duration) == f"{int(questions / run.batch_size * epochs)} steps"
