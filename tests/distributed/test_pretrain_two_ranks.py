"""Pretraining on two processes, replicated or with FSDP: the model directories of one process."""

import json
import os
import sys

import pytest
import torch

from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_result import PretrainResult
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.model.io.model_directory import load_model
from support.data.texts import write_documents
from support.models.model_builders import MODERN
from support.models.tolerances import PROMISED, tolerance
from support.programs.forks import ForkedPopen
from support.programs.processes import free_port
from support.runs.pretrain_runs import losses

SMALL = (
    *("model.num_hidden_layers=2", "model.hidden_size=32", "model.num_attention_heads=2", "model.embedding_size=16"),
    *("model.intermediate_size=64", "model.initializer_range=0.1", "sampling.max_length=32"),
    # Larger weights would make more of the noise that AdamW makes of the biases of keys, whose gradient is zero.
    "init=random",
    # One of the two layers for three of the six steps.
    "progressive_depth.initial_layers=1",
    # Each rank draws dropout of its own.
    *("model.hidden_dropout_prob=0", "model.attention_probs_dropout_prob=0"),
    *("batch_size=8", "microbatch_size=2", "max_eval_examples=32", "metric_for_best_model=mlm_loss"),
    *("train.duration=6 steps", "train.evaluate_every=2 steps", "train.checkpoint_every=3 steps"),
    *("train.optimizer=adamw", "train.learning_rate=0.01", "train.precision=fp32", "train.device=cpu"),
)
LAYOUTS = {"replicated": "train.fsdp=false", "fsdp": "train.fsdp=true"}
# Rows of several examples in microbatches of one row: the ranks have unequal numbers of microbatches. One example is
# evaluated, by the first of them.
PACKED = (
    *("sampling.packing=true", "microbatch_size=1", "batch_size=9"),
    *("max_eval_examples=1", "metric_for_best_model=null"),
)
PROGRAM = """
import sys
from pathlib import Path
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.settings import read_yaml
directory, name = Path(sys.argv[1]), sys.argv[2]
run = PretrainRun.parse(read_yaml(directory / f"{name}.yaml"), where=name)
pretrain(run, directory / name)
"""


@pytest.fixture(scope="module")
def runs(tiny_tokenizer, tmp_path_factory):
    """A directory with the runs that two processes have done together, and the one that one process did alone."""
    directory = tmp_path_factory.mktemp("pretrain")
    text = write_documents(directory / "text.txt", documents=40)
    build_corpus([text], tiny_tokenizer, CorpusSettings(validation_fraction=0.2), directory / "corpus")
    plans = {
        name: load_pretrain_config("quickstart", [*SMALL, how], corpus=directory / "corpus")
        for name, how in LAYOUTS.items()
    }
    packed = load_pretrain_config("quickstart", [*SMALL, *PACKED], corpus=directory / "corpus")
    plans["packed"] = packed.replace(train=packed.train.replace(fsdp=True).to_dict())
    pretrain_on_two_ranks(directory, plans)
    pretrain(plans["replicated"], directory / "alone")
    pretrain(packed, directory / "packed-alone")
    return directory


def pretrain_on_two_ranks(directory, plans) -> None:
    """Do the runs of `plans` by two processes, in `directory`, one after another."""
    for name, run in plans.items():
        (directory / f"{name}.yaml").write_text(json.dumps(run.to_dict()))
    for name in plans:
        # New processes and a new port for each: a port of a run that has just ended may still accept connections.
        together = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
        environment = os.environ | together | {"OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", PROGRAM, str(directory), name]
        ranks = [ForkedPopen(command, env=environment | {"RANK": str(rank)}) for rank in range(2)]
        assert [rank.wait(timeout=300) for rank in ranks] == [0, 0]


def files(directory) -> set[str]:
    return {path.name for path in directory.iterdir()}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("exported", ["model", "last"])
def test_pretraining_on_two_ranks_gives_the_model_directory_of_one_process(runs, layout, exported):
    """The best model of the run, and the last."""
    ours, theirs = (runs / name / exported for name in (layout, "alone"))
    assert files(ours) == files(theirs)
    for name in ("config.json", "spiece.model", "tokenizer.json", "tokenizer_config.json"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    weights, expected = load_model(ours).state_dict(), load_model(theirs).state_dict()
    assert weights.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(
            weights[name],
            expected[name],
            atol=PROMISED["weights of two ranks"],
            rtol=tolerance(depth="compound"),
            msg=name,
        )


@pytest.mark.parametrize(("layout", "alone"), [*((name, "alone") for name in LAYOUTS), ("packed", "packed-alone")])
def test_pretraining_on_two_ranks_has_the_metrics_of_one_process(runs, layout, alone):
    ours, theirs = (PretrainResult.read(runs / name / "result.json") for name in (layout, alone))
    assert (ours.steps, ours.tokens) == (theirs.steps, theirs.tokens)
    for name in ("start", "end"):
        scores, expected = getattr(ours, name), getattr(theirs, name)
        assert scores.mlm_loss == pytest.approx(expected.mlm_loss, rel=tolerance(depth="compound"))
        assert scores.mlm_count == expected.mlm_count


def test_pretraining_with_fsdp_leaves_files_without_shards(runs):
    """Its files have the names of those of a replicated run."""
    sharded, replicated = (runs / name for name in ("fsdp", "replicated"))
    assert {path.relative_to(sharded) for path in sharded.rglob("*")} == {
        path.relative_to(replicated) for path in replicated.rglob("*")
    }


def test_pretraining_packed_rows_with_fsdp_gives_the_weights_of_one_process(runs):
    weights, expected = (load_model(runs / name / "model").state_dict() for name in ("packed", "packed-alone"))
    for name in expected:
        torch.testing.assert_close(
            weights[name],
            expected[name],
            atol=PROMISED["weights of two ranks"],
            rtol=tolerance(depth="compound"),
            msg=name,
        )


@pytest.mark.parametrize(
    ("layout", "largest"),
    [
        (["train.fsdp=true"], 2e-4),
        # Muon gives every direction of a gradient the same length, also those that are nothing but rounding.
        (["train.optimizer=muon", "train.muon_learning_rate=0.01"], 2e-2),
    ],
    ids=["fsdp", "muon"],
)
def test_modern_block_on_two_ranks_gives_the_weights_of_one_process(tiny_tokenizer, tmp_path, layout, largest):
    text = write_documents(tmp_path / "text.txt", documents=40)
    build_corpus([text], tiny_tokenizer, CorpusSettings(validation_fraction=0.2), tmp_path / "corpus")
    modern = [f"model.{name}={str(value).lower()}" for name, value in MODERN.items()]
    run = load_pretrain_config(
        "quickstart", [*SMALL, "progressive_depth=null", *modern, *layout], corpus=tmp_path / "corpus"
    )
    pretrain_on_two_ranks(tmp_path, {"together": run})
    pretrain(run.replace(train=run.train.replace(fsdp=False).to_dict()), tmp_path / "alone")
    for step, other in zip(losses(tmp_path / "together"), losses(tmp_path / "alone"), strict=True):
        assert step == pytest.approx(other, rel=1e-3)
    weights, expected = (load_model(tmp_path / name / "last").state_dict() for name in ("together", "alone"))
    assert weights.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(weights[name], expected[name], atol=largest, rtol=1e-3, msg=name)
