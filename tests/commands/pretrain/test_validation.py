"""Evaluation on the validation split: the same examples in every run, and the majority-token baseline."""

from typing import get_args

import pytest
import torch

from litebert.commands.pretrain.validation import ValidationSet
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.sampling_settings import Pairing, SamplingSettings
from litebert.errors import DataError
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
def validation_set(corpus_directory):
    def make(*, most=1000, rank=0, size=1, eval_pair_objectives=(), **examples):
        settings = SamplingSettings(max_length=32, **examples)
        world = DistributedContext(rank, size, torch.device("cpu"))
        return ValidationSet(corpus_directory, settings, most, "fp32", world, eval_pair_objectives)

    return make


def test_validation_examples_are_the_same_in_every_evaluation(validation_set):
    first, second = (list(validation_set().batches()) for _ in range(2))
    assert len(first) == len(second) >= 1
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one.input_ids, other.input_ids)
        assert torch.equal(one.labels, other.labels)


def test_max_eval_examples_limits_the_number_of_batches(validation_set):
    everything = sum(batch.num_examples for batch in validation_set().batches())
    assert everything > 1
    assert len(list(validation_set(most=1).batches())) == 1


@pytest.mark.parametrize("most", [1, 10, 64, 65, 100])
def test_no_more_examples_are_evaluated_than_max_eval_examples(validation_set, most):
    everything = sum(batch.num_examples for batch in validation_set().batches())
    evaluated = sum(batch.num_examples for batch in validation_set(most=most).batches())
    assert min(everything, most) - 1 <= evaluated <= most


def rows(batches) -> list[tuple[int, ...]]:
    return sorted(
        tuple(ids[mask].tolist())
        for batch in batches
        for ids, mask in zip(batch.input_ids, batch.attention_mask, strict=True)
    )


@pytest.mark.parametrize("most", [1, 10, 65, 1000])
@pytest.mark.parametrize("size", [2, 3, 70])
def test_validation_examples_are_the_same_for_any_number_of_processes(validation_set, most, size):
    parts = [rows(validation_set(most=most, rank=rank, size=size).batches()) for rank in range(size)]
    assert sorted(row for part in parts for row in part) == rows(validation_set(most=most).batches())


def test_majority_token_baseline_is_the_accuracy_of_always_predicting_that_token(validation_set, corpus_directory):
    counts = torch.bincount(torch.from_numpy(Corpus.open(corpus_directory).read(0, 10**9)[0].astype("int64")))
    model = ForPretraining(CONFIG)
    with torch.no_grad():
        model.mlm.bias[counts.argmax()] = 1000.0
    scores = validation_set().score(model)
    assert scores.mlm_accuracy == pytest.approx(scores.majority_token_accuracy)
    assert scores.majority_token_accuracy > 1 / CONFIG.vocab_size


@pytest.mark.parametrize("groups", ["mlm_by_span_length", "mlm_by_example_length"])
def test_mlm_accuracy_groups_add_up_to_the_whole(validation_set, groups):
    scores = validation_set().score(ForPretraining(CONFIG))
    shares = getattr(scores, groups).values()
    assert sum(share.count for share in shares) == scores.mlm_count
    right = sum(share.accuracy * share.count for share in shares)
    assert right / scores.mlm_count == pytest.approx(scores.mlm_accuracy)


def test_pairing_none_has_no_sop_metrics(validation_set):
    validation = validation_set(pairing="none")
    assert not [name for name in validation.evaluate(ForPretraining(CONFIG)) if "sop" in name or "nsp" in name]
    scores = validation.score(ForPretraining(CONFIG))
    assert scores.sentence_pairs == {}
    assert "SOP" not in scores.to_text()


@pytest.mark.parametrize("pairing", get_args(Pairing))
def test_eval_pair_objectives_evaluate_both_objectives_whatever_was_trained(validation_set, pairing):
    """Source: ALBERT, table 5: each head on both tasks, and on none."""
    scores = validation_set(pairing=pairing, eval_pair_objectives=("sop", "nsp")).score(ForPretraining(CONFIG))
    assert set(scores.sentence_pairs) == {"sop", "nsp"}
    assert all(pairs.count > 0 for pairs in scores.sentence_pairs.values())
    assert scores == validation_set(pairing=pairing, eval_pair_objectives=("nsp", "sop")).score(ForPretraining(CONFIG))


def test_eval_pair_objectives_have_two_segments_where_training_has_one(validation_set):
    both = ("sop", "nsp")
    one, two = (
        validation_set(pairing="none", single_segment=single, eval_pair_objectives=both).score(ForPretraining(CONFIG))
        for single in (True, False)
    )
    assert set(one.sentence_pairs) == set(both)
    assert one.sentence_pairs == two.sentence_pairs


def test_eval_pair_objectives_do_not_change_the_other_metrics(validation_set):
    model = ForPretraining(CONFIG)
    alone, both = validation_set().evaluate(model), validation_set(eval_pair_objectives=("nsp",)).evaluate(model)
    assert {name: value for name, value in both.items() if not name.startswith("nsp")} == alone


def test_validation_scores_next_tokens_of_a_run_with_causal_steps(validation_set):
    model = ForPretraining(CONFIG)
    values = validation_set(causal_fraction=0.5).evaluate(model)
    masked_only = validation_set().evaluate(model)
    assert values["clm_count"] > masked_only["mlm_count"]
    assert 0 < values["clm_loss"] < 10
    assert "clm_loss" not in masked_only
    assert {name: values[name] for name in masked_only} == masked_only


def test_validation_without_masked_tokens_is_refused(validation_set, monkeypatch):
    monkeypatch.setattr(ValidationSet, "_evaluate", lambda *arguments: {"mlm_count": 0})
    with pytest.raises(DataError, match="no token of the validation split is masked"):
        validation_set().evaluate(ForPretraining(CONFIG))
