"""Scores as a result: one line, a report, JSON, and back."""

import json

import pytest

from litebert.commands.pretrain.held_out_scores import HeldOutScores, Share

VALUES = {
    "mlm_accuracy": 0.25,
    "mlm_loss": 3.0,
    "mlm_count": 1000,
    "mlm_baseline_accuracy": 0.05,
    "sop_accuracy": 0.6,
    "sop_count": 50,
    "nsp_accuracy": 0.0,
    "nsp_count": 0,
    "mlm_1_word_accuracy": 0.3,
    "mlm_1_word_count": 600,
    "mlm_4_words_or_more_accuracy": 0.175,
    "mlm_4_words_or_more_count": 400,
    "mlm_to_64_tokens_accuracy": 0.25,
    "mlm_to_64_tokens_count": 1000,
}
SCORES = HeldOutScores.of(VALUES)


def test_a_person_reads_percentages():
    assert SCORES.to_text() == (
        "MLM accuracy 25.0% (most frequent token 5.0%), SOP accuracy 60.0% (95 % interval 46.2% to 72.4%, chance 50 %)"
    )


def test_the_report_has_a_row_for_each_group():
    lines = SCORES.to_report().splitlines()
    assert "perplexity 20.1; 1,000 masked tokens" in lines[0]
    assert "  1 word                  30.0%         600" in lines
    assert "  4 words or more         17.5%         400" in lines
    assert "  to 64 tokens            25.0%       1,000" in lines
    assert len({len(line) for line in lines if line.startswith("  ")}) == 1


def test_a_task_without_pairs_has_no_score():
    assert (SCORES.nsp_accuracy, SCORES.nsp_count, SCORES.nsp_interval) == (None, 0, None)
    assert "NSP" not in SCORES.to_report()


def test_groups_without_tokens_are_left_out():
    assert SCORES.mlm_by_hidden_words == {"1 word": Share(0.3, 600), "4 words or more": Share(0.175, 400)}


def test_the_interval_holds_the_accuracy():
    assert SCORES.sop_interval is not None
    assert SCORES.sop_interval[0] <= 0.6 <= SCORES.sop_interval[1]


def test_json_says_the_perplexity_and_is_read_back(tmp_path):
    SCORES.write(tmp_path / "scores.json")
    assert HeldOutScores.read(tmp_path / "scores.json") == SCORES
    assert json.loads((tmp_path / "scores.json").read_text())["mlm_perplexity"] == pytest.approx(20.0855, rel=1e-4)
