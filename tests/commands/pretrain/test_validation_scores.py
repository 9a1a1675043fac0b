"""Validation scores as text, report and JSON."""

import json

import pytest

from litebert.commands.pretrain.validation import Accuracy, ValidationScores

VALUES = {
    "mlm_accuracy": 0.25,
    "mlm_loss": 3.0,
    "mlm_count": 1000,
    "majority_token_accuracy": 0.05,
    "sop_accuracy": 0.6,
    "sop_count": 50,
    "mlm_span_1_accuracy": 0.3,
    "mlm_span_1_count": 600,
    "mlm_span_4_or_more_accuracy": 0.175,
    "mlm_span_4_or_more_count": 400,
    "mlm_length_33_to_64_accuracy": 0.25,
    "mlm_length_33_to_64_count": 1000,
}
SCORES = ValidationScores.of(VALUES)


def test_validation_scores_text_has_percentages():
    assert SCORES.to_text() == (
        "MLM accuracy 25.0% (majority-token baseline 5.0%), "
        "SOP accuracy 60.0% (95 % interval 46.2% to 72.4%, chance 50 %)"
    )


def test_validation_report_has_a_row_for_each_group():
    lines = SCORES.to_report().splitlines()
    assert "perplexity 20.1; 1,000 masked tokens" in lines[0]
    assert "  1                               30.0%         600" in lines
    assert "  4 or more                       17.5%         400" in lines
    assert "  33 to 64                        25.0%       1,000" in lines
    assert len({len(line) for line in lines if line.startswith("  ")}) == 1


def test_validation_scores_of_a_model_with_causal_steps_have_next_tokens():
    scores = ValidationScores.of(VALUES | {"clm_accuracy": 0.2, "clm_loss": 3.0})
    assert "next-token accuracy 20.0%, perplexity 20.1" in scores.to_text()
    assert "next-token accuracy 20.0%, perplexity 20.1" in scores.to_report().splitlines()
    assert SCORES.clm_accuracy is None


def test_sentence_pair_objectives_not_evaluated_are_absent():
    assert set(SCORES.sentence_pairs) == {"sop"}
    assert "NSP" not in SCORES.to_report()


def test_length_groups_without_masked_tokens_are_absent():
    groups = {name: (group.accuracy, group.count) for name, group in SCORES.mlm_by_span_length.items()}
    assert groups == {"1": (0.3, 600), "4 or more": (0.175, 400)}


def test_accuracy_interval_contains_the_accuracy():
    low, high = Accuracy.of(VALUES, "sop").interval
    assert low <= 0.6 <= high


def test_validation_scores_json_has_the_perplexity_and_can_be_read(tmp_path):
    SCORES.write(tmp_path / "scores.json")
    assert ValidationScores.read(tmp_path / "scores.json") == SCORES
    assert json.loads((tmp_path / "scores.json").read_text())["mlm_perplexity"] == pytest.approx(20.0855, rel=1e-4)
