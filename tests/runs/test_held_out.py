"""Scores on held-out text: the same examples for every run, and beside them what knowing nothing would score."""

import pytest
import torch

from litebert.corpus.example_settings import ExampleSettings
from litebert.corpus.shards import Corpus
from litebert.model.config import ModelConfig
from litebert.model.models import ForPretraining
from litebert.runs.held_out import HeldOut, HeldOutScores

CONFIG = ModelConfig(
    vocab_size=60,
    embedding_size=8,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=64,
)


@pytest.fixture
def held_out(corpus_directory):
    def make(*, most=1000, **examples):
        settings = ExampleSettings(max_length=32, **examples)
        device = torch.device("cpu")
        return HeldOut(corpus_directory, settings, most_examples=most, precision="fp32", device=device)

    return make


def test_the_examples_are_the_same_every_time(held_out):
    first, second = (list(held_out().batches()) for _ in range(2))
    assert len(first) == len(second) >= 1
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one.input_ids, other.input_ids)
        assert torch.equal(one.mlm_labels, other.mlm_labels)


def test_no_more_is_scored_than_was_asked_for(held_out):
    everything = sum(batch.num_examples for batch in held_out().batches())
    assert everything > 1
    assert len(list(held_out(most=1).batches())) == 1


def test_a_model_that_always_names_the_most_frequent_token_scores_the_baseline(held_out, corpus_directory):
    scoring = held_out()
    model = ForPretraining(CONFIG)
    with torch.no_grad():
        model.mlm.bias[scoring._frequent] = 1000.0
    scores = scoring.score(model)
    assert scores.mlm_accuracy == pytest.approx(scores.baseline_accuracy)
    assert scores.baseline_accuracy > 1 / CONFIG.vocab_size
    counts = torch.bincount(torch.from_numpy(Corpus.open(corpus_directory).read(0, 10**9)[0].astype("int64")))
    assert counts.argmax() == scoring._frequent


def test_pairs_without_labels_have_no_order_score(held_out):
    scores = held_out(pairing="none").score(ForPretraining(CONFIG))
    assert (scores.sop_accuracy, scores.sop_count, scores.sop_interval) == (None, 0, None)
    assert "SOP" not in scores.to_text()


def test_the_interval_holds_the_accuracy(held_out):
    scores = held_out().score(ForPretraining(CONFIG))
    assert scores.sop_accuracy is not None
    assert scores.sop_interval is not None
    assert scores.sop_interval[0] <= scores.sop_accuracy <= scores.sop_interval[1]


def test_a_person_reads_percentages():
    text = HeldOutScores(0.25, 3.0, 100, 0.05, 0.6, 50, (0.46, 0.72)).to_text()
    assert text == (
        "MLM accuracy 25.0% (most frequent token 5.0%), SOP accuracy 60.0% (95 % interval 46.0% to 72.0%, chance 50 %)"
    )
