"""Scores on held-out text: the same examples for every run, and beside them what knowing nothing would score."""

from typing import get_args

import pytest
import torch

from litebert.commands.pretrain.held_out import HeldOut
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.sampling_settings import Pairing, SamplingSettings
from litebert.model.config import ModelConfig
from litebert.model.models import ForPretraining
from litebert.training.distributed.context import DistributedContext

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
    def make(*, most=1000, rank=0, size=1, eval_pair_objectives=(), **examples):
        settings = SamplingSettings(max_length=32, **examples)
        world = DistributedContext(rank, size, torch.device("cpu"))
        return HeldOut(corpus_directory, settings, most, "fp32", world, eval_pair_objectives)

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


def test_processes_share_the_examples_and_each_has_a_part_of_every_batch(held_out):
    alone = [row for batch in held_out().batches() for row in batch.input_ids.tolist()]
    parts = [list(held_out(rank=rank, size=3).batches()) for rank in range(3)]
    assert len({len(part) for part in parts}) == 1
    assert sum(batch.num_examples for part in parts for batch in part) in (len(alone), len(alone) // 64 * 64)


def test_more_processes_than_a_batch_has_examples_are_no_trouble(held_out):
    assert len(list(held_out(rank=69, size=70).batches())) == len(list(held_out(size=70).batches()))


def test_a_model_that_always_names_the_most_frequent_token_scores_the_baseline(held_out, corpus_directory):
    counts = torch.bincount(torch.from_numpy(Corpus.open(corpus_directory).read(0, 10**9)[0].astype("int64")))
    model = ForPretraining(CONFIG)
    with torch.no_grad():
        model.mlm.bias[counts.argmax()] = 1000.0
    scores = held_out().score(model)
    assert scores.mlm_accuracy == pytest.approx(scores.baseline_accuracy)
    assert scores.baseline_accuracy > 1 / CONFIG.vocab_size


@pytest.mark.parametrize("groups", ["mlm_by_hidden_words", "mlm_by_example_tokens"])
def test_the_groups_add_up_to_the_whole(held_out, groups):
    scores = held_out().score(ForPretraining(CONFIG))
    shares = getattr(scores, groups).values()
    assert sum(share.count for share in shares) == scores.mlm_count
    right = sum(share.accuracy * share.count for share in shares)
    assert right / scores.mlm_count == pytest.approx(scores.mlm_accuracy)


def test_pairs_without_labels_have_no_order_score(held_out):
    scores = held_out(pairing="none").score(ForPretraining(CONFIG))
    assert (scores.sop_accuracy, scores.sop_count, scores.sop_interval) == (None, 0, None)
    assert "SOP" not in scores.to_text()


@pytest.mark.parametrize("pairing", get_args(Pairing))
def test_any_model_is_asked_for_sentence_order_and_for_next_sentences(held_out, pairing):
    """Source: ALBERT, table 5: each head on both tasks, and on none."""
    scores = held_out(pairing=pairing, eval_pair_objectives=("sop", "nsp")).score(ForPretraining(CONFIG))
    assert min(scores.sop_count, scores.nsp_count) > 0
    assert scores.sop_accuracy is not None
    assert scores.nsp_accuracy is not None
    assert scores == held_out(pairing=pairing, eval_pair_objectives=("nsp", "sop")).score(ForPretraining(CONFIG))


def test_the_other_task_changes_nothing_of_the_first(held_out):
    model = ForPretraining(CONFIG)
    alone, both = held_out().measure(model), held_out(eval_pair_objectives=("nsp",)).measure(model)
    assert {name: value for name, value in both.items() if not name.startswith("nsp")} == alone
