"""What a pretraining run starts from; rejected settings are in `test_pretrain.py` and `test_dry_run.py`."""

import json
import logging

import pytest
import torch

from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_result import model_files
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.commands.pretrain.pretrain_start import PretrainStart
from litebert.commands.runs.run_directory import RunDirectory
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.errors import ConfigError
from litebert.model.encoder import Encoder
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForPretraining
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.distributed.context import DistributedContext
from support.data.texts import sentences
from support.runs.pretrain_runs import plan


def first_weights(start: PretrainStart, directory) -> torch.Tensor:
    return start.model(RunDirectory(directory), DistributedContext.current("cpu")).encoder.embeddings.word.weight


def test_new_model_has_the_weights_of_the_seed(corpus_directory, tmp_path):
    run = plan(corpus_directory, "seed=3")
    expected = ForPretraining(run.model, seed=3).encoder.embeddings.word.weight
    assert torch.equal(first_weights(PretrainStart.of(run), tmp_path), expected)


@pytest.mark.parametrize("resumed", [False, True])
def test_init_checkpoint_is_read_only_before_the_first_step(corpus_directory, tmp_path, resumed):
    """A run that has a checkpoint can be resumed without its init_checkpoint."""
    source = ForPretraining(plan(corpus_directory).model, seed=9)
    save_model(source, tmp_path / "source")
    start = PretrainStart.of(plan(corpus_directory, f"init_checkpoint={tmp_path / 'source'}"))
    if resumed:
        (tmp_path / "run" / "checkpoints" / "step-00000001").mkdir(parents=True)
    found = first_weights(start, tmp_path / "run")
    assert torch.equal(found, source.encoder.embeddings.word.weight) is not resumed


def test_batches_come_from_all_corpora_by_their_weights(corpus_directory, second_corpus):
    start = PretrainStart.of(plan(corpus_directory, f"data_mixture={{{second_corpus}: 0.5}}"))
    fingerprints = [start.corpus.fingerprint, start.data_mixture[0][0].fingerprint]
    mixture = start.batches(DistributedContext.current("cpu")).mixture
    assert mixture.identity == [[fingerprints[0], 1.0], [fingerprints[1], 0.5]]


def test_batches_are_divided_among_processes(corpus_directory):
    start = PretrainStart.of(plan(corpus_directory))
    ranks = [start.batches(DistributedContext(rank, 2, torch.device("cpu"))) for rank in range(2)]
    assert [sum(batch.num_examples for batch in part.microbatches(0)) for part in ranks] == [4, 4]
    assert ranks[0].fingerprint == ranks[1].fingerprint


FEW = "few or very long documents; use sampling.pairing=sop, or more documents"


@pytest.mark.parametrize(
    ("documents", "pairing", "percent"),
    [(2, "nsp", 25), (4, "nsp", 38), (6, "nsp", None), (2, "sop", None)],
)
def test_start_warns_of_fewer_than_40_percent_negative_nsp_pairs(
    corpus_directory, tmp_path, caplog, documents, pairing, percent
):
    """D documents of one length: 0.5 · (1 - 1/D) of the pairs, 0.375 for 4 and 0.417 for 6."""
    lines = sentences(8, seed=0)
    text, corpus = tmp_path / "text.txt", tmp_path / "corpus"
    text.write_text("\n\n".join("\n".join([*lines[first:], *lines[:first]]) for first in range(documents)) + "\n")
    tokenizer = Tokenizer.load(corpus_directory / "tokenizer")
    build_corpus([text], tokenizer, CorpusSettings(validation_fraction=0), corpus)
    with caplog.at_level(logging.WARNING, "litebert"):
        caplog.clear()
        PretrainStart.of(plan(corpus, f"sampling.pairing={pairing}", "max_eval_examples=0"))
    few = f"{corpus}: only {percent} % of the NSP pairs are expected to be negative, because the corpus has {FEW}"
    assert caplog.messages == ([few] if percent else [])


@pytest.mark.parametrize(("optimizer", "rank", "warned"), [("lamb", 2, True), ("adamw", 2, False), ("lamb", 0, False)])
def test_start_warns_of_low_rank_updates_that_lamb_hardly_trains(corpus_directory, caplog, optimizer, rank, warned):
    with caplog.at_level(logging.WARNING, "litebert"):
        caplog.clear()
        settings = [f"model.recursion_lora_rank={rank}", f"train.optimizer={optimizer}", "model.num_hidden_groups=1"]
        PretrainStart.of(plan(corpus_directory, *settings))
    assert ["LAMB hardly trains" in message for message in caplog.messages] == [True] * warned


@pytest.mark.parametrize("from_checkpoint", [False, True])
def test_start_applies_the_compute_settings(corpus_directory, tmp_path, monkeypatch, from_checkpoint):
    compiled = []
    monkeypatch.setattr(Encoder, "compile_blocks", lambda self: compiled.append(self))
    settings = ["compute.compile=true", "compute.activation_checkpoint_interval=3"]
    if from_checkpoint:
        save_model(ForPretraining(plan(corpus_directory).model, seed=9), tmp_path / "source")
        settings.append(f"init_checkpoint={tmp_path / 'source'}")
    start = PretrainStart.of(plan(corpus_directory, *settings))
    model = start.model(RunDirectory(tmp_path), DistributedContext.current("cpu"))
    assert model.encoder.activation_checkpoint_interval == 3
    assert compiled == [model.encoder]


STRUCTURED = "init=structured"


def test_structured_init_changes_embeddings_query_and_key(corpus_directory, tmp_path):
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


def test_structured_init_has_a_lower_loss_before_the_first_step(corpus_directory, tmp_path):
    more = ("train.duration=2 steps", "max_eval_examples=64")
    plain, informed = (
        pretrain(plan(corpus_directory, *more, *settings), tmp_path / str(len(settings)))
        for settings in ((), (STRUCTURED,))
    )
    assert informed.start.mlm_loss < plain.start.mlm_loss


def test_init_checkpoint_takes_precedence_over_structured_init(corpus_directory, tmp_path):
    source = ForPretraining(plan(corpus_directory).model, seed=9)
    save_model(source, tmp_path / "source")
    recipe = plan(corpus_directory, STRUCTURED)  # as many recipes have it
    start = PretrainStart.of(recipe.replace(init_checkpoint=str(tmp_path / "source")))
    assert torch.equal(first_weights(start, tmp_path), source.encoder.embeddings.word.weight)


def test_structured_init_beside_init_checkpoint_is_refused_unless_a_recipe_has_it(corpus_directory):
    given = ["init_checkpoint=source", STRUCTURED]
    with pytest.raises(ConfigError, match="init: structured initialization is of new models; leave it out, or init_ch"):
        load_pretrain_config("tiny", given, corpus=corpus_directory)
    for accepted in (given[:1], [*given, "init=random"], [*given, "init_checkpoint=null"]):
        load_pretrain_config("tiny", accepted, corpus=corpus_directory)


def test_tokenizer_of_a_pretrained_model_truncates_to_its_positions(corpus_directory):
    run = plan(corpus_directory, "model.max_position_embeddings=48")
    files = model_files(run, PretrainStart.of(run).tokenizer)
    assert json.loads(files["tokenizer_config.json"])["model_max_length"] == 48
