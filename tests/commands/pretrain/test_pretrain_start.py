"""What a pretraining run starts from; what is refused of it is in `test_pretrain.py` and `test_dry_run.py`."""

import pytest
import torch

from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_start import PretrainStart
from litebert.commands.run_directory import RunDirectory
from litebert.errors import ConfigError
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.models import ForPretraining
from litebert.training.distributed.context import DistributedContext
from support.pretrain_runs import plan


def first_weights(start: PretrainStart, directory) -> torch.Tensor:
    return start.model(RunDirectory(directory), DistributedContext.current("cpu")).encoder.embeddings.word.weight


def test_new_weights_are_those_of_the_seed(corpus_directory, tmp_path):
    run = plan(corpus_directory, "seed=3")
    expected = ForPretraining(run.model, seed=3).encoder.embeddings.word.weight
    assert torch.equal(first_weights(PretrainStart.of(run), tmp_path), expected)


@pytest.mark.parametrize("resumed", [False, True])
def test_weights_to_start_from_are_read_for_the_first_step_only(corpus_directory, tmp_path, resumed):
    """A run that has a checkpoint goes on where these have been moved away."""
    source = ForPretraining(plan(corpus_directory).model, seed=9)
    save_model(source, tmp_path / "source")
    start = PretrainStart.of(plan(corpus_directory, f"init_checkpoint={tmp_path / 'source'}"))
    if resumed:
        (tmp_path / "run" / "checkpoints" / "step-00000001").mkdir(parents=True)
    found = first_weights(start, tmp_path / "run")
    assert torch.equal(found, source.encoder.embeddings.word.weight) is not resumed


def test_batches_are_drawn_from_all_corpora_by_their_weights(corpus_directory, second_corpus):
    start = PretrainStart.of(plan(corpus_directory, f"data_mixture={{{second_corpus}: 0.5}}"))
    fingerprints = [start.corpus.fingerprint, start.data_mixture[0][0].fingerprint]
    mixture = start.batches(DistributedContext.current("cpu")).mixture
    assert mixture.identity == [[fingerprints[0], 1.0], [fingerprints[1], 0.5]]


def test_each_process_computes_its_part(corpus_directory):
    start = PretrainStart.of(plan(corpus_directory))
    ranks = [start.batches(DistributedContext(rank, 2, torch.device("cpu"))) for rank in range(2)]
    assert [sum(batch.num_examples for batch in part.microbatches(0)) for part in ranks] == [4, 4]
    assert ranks[0].fingerprint == ranks[1].fingerprint


STRUCTURED = "init=structured"


def test_structured_initialization_changes_embeddings_projection_queries_and_keys(corpus_directory, tmp_path):
    run = plan(corpus_directory, STRUCTURED)
    found, fresh = (
        PretrainStart.of(run).model(RunDirectory(tmp_path), DistributedContext.current("cpu")),
        ForPretraining(run.model),
    )
    changed = {name for name, tensor in found.state_dict().items() if not torch.equal(tensor, fresh.state_dict()[name])}
    assert changed == {
        *(f"encoder.embeddings.{table}.weight" for table in ("word", "position", "token_type")),
        *("encoder.attentions.0.query.weight", "encoder.attentions.0.key.weight"),
        *("encoder.projection.weight", "mlm.bias"),
    }


def test_structured_initialization_has_a_lower_loss_before_the_first_step(corpus_directory, tmp_path):
    more = ("train.duration=2 steps", "max_eval_examples=64")
    plain, informed = (
        pretrain(plan(corpus_directory, *more, *settings), tmp_path / str(len(settings)))
        for settings in ((), (STRUCTURED,))
    )
    assert informed.start.mlm_loss < plain.start.mlm_loss


def test_structured_initialization_has_no_effect_with_init_checkpoint(corpus_directory, tmp_path):
    source = ForPretraining(plan(corpus_directory).model, seed=9)
    save_model(source, tmp_path / "source")
    start = PretrainStart.of(plan(corpus_directory, f"init_checkpoint={tmp_path / 'source'}", STRUCTURED))
    assert torch.equal(first_weights(start, tmp_path), source.encoder.embeddings.word.weight)


FROZEN = (STRUCTURED, "freeze_duplicate_token_heads=true", "model.num_attention_heads=4")


def test_frozen_heads_keep_their_weights_while_others_learn(corpus_directory, tmp_path):
    exclude = "train.exclude_from_weight_decay=[norm,bias,query,key]"
    run = plan(corpus_directory, *FROZEN, exclude, "train.duration=3 steps")
    begun = PretrainStart.of(run).model(RunDirectory(tmp_path / "begun"), DistributedContext.current("cpu"))
    pretrain(run, tmp_path / "run")
    learnt, half = load_model(tmp_path / "run" / "model"), run.model.hidden_size // 2
    for layer in ("query", "key"):
        before, after = (getattr(model.encoder.attentions[0], layer).weight for model in (begun, learnt))
        assert torch.equal(before[half:], after[half:])
        assert (before[:half] != after[:half]).any(dim=1).all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (FROZEN[1:], "freeze_duplicate_token_heads: a random initialization has no"),
        (
            (*FROZEN[:2], "model.num_attention_heads=2"),
            "freeze_duplicate_token_heads: of 2 heads none is a duplicate-token head",
        ),
    ],
    ids=["random weights", "two heads"],
)
def test_frozen_heads_need_duplicate_token_heads(corpus_directory, settings, said):
    with pytest.raises(ConfigError, match=said):
        plan(corpus_directory, *settings)


def test_frozen_heads_are_frozen_after_init_checkpoint_too(corpus_directory, tmp_path):
    save_model(ForPretraining(plan(corpus_directory, *FROZEN).model, seed=9), tmp_path / "source")
    start = PretrainStart.of(plan(corpus_directory, *FROZEN[1:], f"init_checkpoint={tmp_path / 'source'}"))
    model = start.model(RunDirectory(tmp_path), DistributedContext.current("cpu"))
    ids = torch.arange(4)[None]
    model(ids, ids >= 0, ids * 0, torch.tensor([1])).mlm_logits.sum().backward()
    rows = model.encoder.attentions[0].query.weight.grad.abs().sum(dim=1)
    assert rows[: len(rows) // 2].all()
    assert not rows[len(rows) // 2 :].any()
