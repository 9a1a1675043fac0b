"""Ranking of the candidates of a question, as in the paper's submission for QNLI."""

import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.commands.glue_submission.glue_submission import glue_submission
from litebert.commands.glue_submission.glue_submission_settings import GlueSubmissionRun
from litebert.commands.predict.predict_settings import PredictRun
from litebert.errors import ConfigError
from litebert.inference.predictor import Predictor
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.benchmarks.candidate_ranking import independent_decisions, other_candidates, rank_candidates
from litebert.tasks.labelled_data import Example
from litebert.tasks.metrics.metrics import wilson_interval
from support.runs.prediction_commands import evaluate_task, run_predict

LABELS = ("entailment", "not_entailment")
PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1)), min_size=1, max_size=9)


@given(PAIRS)
def test_ranking_makes_exactly_one_candidate_of_a_question_positive(pairs):
    examples = [Example(text=question, text_pair=str(index)) for index, (question, _) in enumerate(pairs)]
    given_ = [np.array([value, 1 - value]) for _, value in pairs]
    ranked = rank_candidates(given_, examples, positive=0)
    for question in {question for question, _ in pairs}:
        members = [index for index, (text, _) in enumerate(pairs) if text == question]
        if len(members) == 1:
            assert ranked[members[0]] is given_[members[0]]
            continue
        positive = [index for index in members if ranked[index][0] == 1]
        assert len(positive) == 1
        assert given_[positive[0]][0] == max(given_[index][0] for index in members)


def write_qnli(root):
    """Two questions whose candidates are in dev and test, and one that stands alone."""
    (root / "QNLI").mkdir(parents=True)
    rows = {
        "train": ["0\twho acted\tthe old film\tentailment", "1\twhat fell\tthe snow\tentailment"],
        "dev": ["0\twhat was good\tthe film\tentailment", "1\twho sang\tthe actor\tnot_entailment"],
        "test": ["0\twhat was good\tthe music", "1\twho sang\tthe old actor", "2\twho alone\tthe film was bad"],
    }
    for split, lines in rows.items():
        header = "index\tquestion\tsentence" + ("" if split == "test" else "\tlabel")
        (root / "QNLI" / f"{split}.tsv").write_text("\n".join([header, *lines]) + "\n")
    return root


@pytest.fixture(scope="module")
def model(tiny_tokenizer, small_config, tmp_path_factory):
    network = ForSequenceClassification(small_config, num_labels=2, seed=3)
    directory = tmp_path_factory.mktemp("qnli") / "model"
    return save_model(network, directory, labels=LABELS, extra_files=tiny_tokenizer.files())


@pytest.fixture
def directory(tmp_path):
    return write_qnli(tmp_path / "glue")


def test_candidates_are_mined_from_the_other_files_without_labels(directory):
    dev = BenchmarkSplit(task="qnli", split="dev")
    found = other_candidates(dev, directory, dev.read(directory).examples)
    assert [(each.text, each.text_pair) for each in found] == [
        ("what was good", "the music"),
        ("who sang", "the old actor"),
    ]
    assert {each.target for each in found} == {None}


def test_evaluation_classifies_unless_ranking_is_asked_for(model, directory):
    pairs = [("what was good", "the film"), ("who sang", "the actor")]
    others = [("what was good", "the music"), ("who sang", "the old actor")]
    predictor = Predictor.load(model, precision="fp32")
    scores = [[each.probabilities["entailment"] for each in predictor.classify(part)] for part in (pairs, others)]
    targets = (True, False)
    classified = np.mean([(score > 0.5) == target for score, target in zip(scores[0], targets, strict=True)])
    ranked = np.mean([(own > other) == target for own, other, target in zip(*scores, targets, strict=True)])
    for decision, expected in (("classify", classified), ("rank", ranked)):
        found = evaluate_task(model, "qnli", directory, decision=decision).splits["dev"]
        assert found.metrics["accuracy"] == expected


def test_ranked_submission_equals_the_ranked_predictions(model, directory, tmp_path):
    run = GlueSubmissionRun(
        predictions=(f"qnli={model}",), task_dir=directory, out=tmp_path / "glue.zip", decision="rank"
    )
    glue_submission(run)
    with zipfile.ZipFile(tmp_path / "glue.zip") as archive:
        packed = archive.read("QNLI.tsv").decode()
    options = {"task": "qnli", "decision": "rank", "precision": "fp32"}
    run_predict(model, directory, tmp_path / "QNLI.tsv", **options)
    assert (tmp_path / "QNLI.tsv").read_text() == packed
    run_predict(model, directory, tmp_path / "dev.tsv", split="dev", **options)
    by_split = [packed.splitlines()[1:3], (tmp_path / "dev.tsv").read_text().splitlines()[1:]]
    for test_line, dev_line in zip(*by_split, strict=True):  # one of the two candidates of a question is positive
        assert {line.split("\t")[1] for line in (test_line, dev_line)} == set(LABELS)


def test_ranking_is_refused_for_other_tasks(directory, tmp_path, model):
    rank = {"decision": "rank"}
    for make in (
        lambda: EvaluateRun(model=str(model), task="rte", task_dir=directory, **rank),
        lambda: EvaluateRun(model=str(model), data=tmp_path / "x.csv", **rank),
        lambda: PredictRun(model=str(model), input=directory, output=tmp_path / "x.tsv", task="rte", **rank),
        lambda: PredictRun(model=str(model), input=tmp_path / "x.csv", output=tmp_path / "y.csv", **rank),
        lambda: GlueSubmissionRun(predictions=("cola=x",), task_dir=directory, out=tmp_path / "x.zip", **rank),
    ):
        with pytest.raises(ConfigError, match="decision: "):
            make()


def test_official_file_has_candidates_for_a_file_of_your_own_in_its_place(directory):
    mine = directory / "mine.tsv"
    mine.write_text("index\tquestion\tsentence\tlabel\n0\twho sang\tthe snow\tnot_entailment\n")
    own = BenchmarkSplit(task="qnli", split="dev", file=str(mine))
    found = other_candidates(own, directory, own.read(directory).examples)
    assert [each.text_pair for each in found] == ["the actor", "the old actor"]


def test_evaluation_of_a_file_of_your_own_ranks_the_candidates_of_the_official_one(model, directory):
    """The sentences of one question are right in turn: only one of them is positive."""
    header = "index\tquestion\tsentence\tlabel\n"
    sentences = ("the film", "the music", "the old actor")
    rows = [f"{n}\twho sang\t{sentence}\tentailment\n" for n, sentence in enumerate(sentences)]
    (directory / "QNLI" / "dev.tsv").write_text(header + "".join(rows))
    right = 0.0
    for number, row in enumerate(rows):
        mine = directory / f"{number}.tsv"
        mine.write_text(header + row)
        found = evaluate_task(model, "qnli", directory, decision="rank", files={"dev": str(mine)})
        right += found.splits["dev"].metrics["accuracy"]
    assert right == 1


@pytest.mark.parametrize(("questions", "decisions"), [("aabbccdd", 4), ("abcd", 4), ("aab", 9 / 5)])
def test_pairs_of_one_question_are_no_independent_decisions(questions, decisions):
    assert independent_decisions([Example(text=each) for each in questions]) == pytest.approx(decisions)


def test_interval_after_a_ranking_is_that_of_the_independent_decisions(model, directory):
    dev = directory / "QNLI" / "dev.tsv"
    pairs = [f"{n}\twho {n // 2}\tthe film {n}\t{LABELS[n % 2]}" for n in range(20)]
    dev.write_text("\n".join(["index\tquestion\tsentence\tlabel", *pairs]) + "\n")
    scores = {
        each: evaluate_task(model, "qnli", directory, decision=each).splits["dev"] for each in ("classify", "rank")
    }
    for decision, count in (("classify", 20), ("rank", 10)):
        share = scores[decision].metrics["accuracy"]
        assert scores[decision].accuracy_interval == pytest.approx(wilson_interval(share * count, count))
