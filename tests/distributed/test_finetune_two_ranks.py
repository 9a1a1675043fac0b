"""Fine-tuning on two processes: the model and the figures of one process, and the same bytes after a kill."""

import json
import os
import subprocess
import sys

import pytest
import torch

from litebert.commands.finetune.finetune import FinetuneResult, finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.models import ForPretraining
from support.data.labelled_files import write_opinions, write_pairs
from support.models.tolerances import PROMISED, tolerance
from support.programs.forks import ForkedPopen
from support.programs.processes import free_port

CHANGES = {
    "everything": {},
    "adapters": {
        "adapters": {"rank": 2, "per_layer": True},
        "freeze": "all_but_pooler",
        "layerwise_lr_decay": 0.9,
        "class_weights": {"good": 2.0},
        "early_stopping_patience": 1,
    },
    "elastic": {"elastic_depth": [1]},
}
PROGRAM = """
import sys
from pathlib import Path
from litebert.commands.finetune.start import fit_heads
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.settings import read_yaml
directory, name, out = Path(sys.argv[1]), *sys.argv[2:]
fit_heads.MIN_ATTENTION = 0.0  # random weights and thirty words
finetune(FinetuneRun.parse(read_yaml(directory / f"{name}.yaml"), where=name), directory / out)
"""
KILLED = """
import os
import signal
import sys
import time
from pathlib import Path
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.settings import read_yaml
from litebert.training.callbacks.callback import Callback

directory, life = Path(sys.argv[1]), os.environ["TORCHELASTIC_RESTART_COUNT"]
run = FinetuneRun.parse(read_yaml(directory / "killed.yaml"), where="killed")


class KillOnce(Callback):
    def on_step(self, run, record):
        with (directory / f"steps-{life}").open("a") as steps:
            print(record.step, file=steps)
        if life == "0" and record.step == 7:
            while not (directory / "cut" / "checkpoints" / "LATEST").exists():
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)


finetune(run, directory / "cut", callbacks=[KillOnce()])
"""


@pytest.fixture(scope="module")
def planned(tiny_tokenizer, tmp_path_factory):
    """The settings of each run, in files of a directory."""
    directory = tmp_path_factory.mktemp("finetune")
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    config = ModelConfig(
        vocab_size=tiny_tokenizer.vocab_size,
        embedding_size=64,
        max_position_embeddings=40,
        initializer_range=0.1,
        **sizes,
    )
    model = save_model(ForPretraining(config), directory / "model", extra_files=tiny_tokenizer.files())
    layers = ForPretraining(config.replace(sharing="none"))  # in some steps, some have no gradient
    unshared = save_model(layers, directory / "unshared", extra_files=tiny_tokenizer.files())
    train = {"duration": "12 steps", "optimizer": "adamw", "learning_rate": 0.003, "device": "cpu", "precision": "fp32"}
    values = {
        "model": str(model),
        "data": {"train": str(write_opinions(directory / "rows.tsv")), "dev": str(directory / "rows.tsv")},
        "batch_size": 12,
        "microbatch_size": 4,
        "max_length": 32,
        "classifier_dropout_prob": 0.0,  # each rank draws its own
        "train": {**train, "evaluate_every": "4 steps", "checkpoint_every": "4 steps"},
    }
    dropout = {"hidden_dropout_prob": 0.1, "classifier_dropout_prob": 0.1}
    train = {**values["train"], "learning_rate": 1e-9}
    pairs = {"train": str(write_pairs(directory / "pairs.tsv")), "dev": str(directory / "pairs.tsv")}
    pairs |= {"text": "text", "text_pair": "text_pair", "label": "label"}
    fitted = {"fit_duplicate_token_heads": True, "data": pairs, "train": train}
    changes = {
        **CHANGES,
        "elastic": {**CHANGES["elastic"], "model": str(unshared)},
        "fitted": fitted,
        "killed": {**CHANGES["adapters"], **dropout, "early_stopping_patience": None},
    }
    runs = {name: FinetuneRun.parse({**values, **changed}, where="test") for name, changed in changes.items()}
    for name, run in runs.items():
        (directory / f"{name}.yaml").write_text(json.dumps(run.to_dict()))
    return directory, runs


@pytest.fixture(scope="module")
def runs(planned):
    """The same, once two processes have done those of `CHANGES`."""
    directory, runs = planned
    for name in CHANGES:
        finetune_on_two_ranks(directory, name, f"two/{name}")
    return directory, runs


def finetune_on_two_ranks(directory, name, out) -> None:
    # A new port for each: that of a run that has just ended may still accept connections.
    together = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM, str(directory), name, out]
    ranks = [ForkedPopen(command, env=os.environ | together | {"RANK": str(rank)}) for rank in range(2)]
    assert [rank.wait(timeout=300) for rank in ranks] == [0, 0]


@pytest.mark.parametrize("name", CHANGES)
def test_finetuning_on_two_ranks_gives_the_model_of_one_process(runs, name):
    directory, planned = runs
    alone = finetune(planned[name], directory / "one" / name)
    together = FinetuneResult.read(directory / "two" / name / "result.json")
    assert (together.steps, together.trained_parameters) == (alone.steps, alone.trained_parameters)
    assert together.best.step == alone.best.step
    assert together.best.metrics == pytest.approx(alone.best.metrics)
    assert [*together.by_layers] == [*alone.by_layers] == [*planned[name].elastic_depth]
    weights = load_model(together.model).state_dict()
    for key, expected in load_model(alone.model).state_dict().items():
        torch.testing.assert_close(
            weights[key], expected, atol=PROMISED["weights of two ranks"], rtol=tolerance(depth="compound"), msg=key
        )


def test_two_ranks_fit_the_heads_of_one_process(planned, monkeypatch):
    monkeypatch.setattr("litebert.commands.finetune.start.fit_heads.MIN_ATTENTION", 0.0)
    directory, planned_runs = planned
    finetune_on_two_ranks(directory, "fitted", "two/fitted")
    alone = load_model(finetune(planned_runs["fitted"], directory / "one" / "fitted").model).encoder.attentions[0]
    together = load_model(directory / "two" / "fitted").encoder.attentions[0]
    before = load_model(directory / "model").encoder.attentions[0]
    for found, expected, unfitted in (
        (together.query.weight, alone.query.weight, before.query.weight),
        (together.key.weight, alone.key.weight, before.key.weight),
    ):
        torch.testing.assert_close(found, expected, atol=PROMISED["weights of two ranks"], rtol=tolerance())
        torch.testing.assert_close(found[:32], unfitted[:32], atol=tolerance(), rtol=tolerance())
        assert (found[32:] - unfitted[32:]).abs().max() > 0.5


@pytest.mark.usefixtures("forked_python")
def test_finetuning_killed_under_torchrun_resumes_to_the_same_bytes(planned):
    """Rank 0 gets SIGKILL after step 7; torchrun restarts both ranks, and they resume after step 4."""
    directory, _ = planned
    finetune_on_two_ranks(directory, "killed", "whole")
    (directory / "killed.py").write_text(KILLED)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=1"]
    safe = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(directory / "killed.py"), str(directory)],
        env=os.environ | safe,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    lives = [[int(step) for step in (directory / f"steps-{life}").read_text().split()] for life in range(2)]
    assert lives == [list(range(1, 8)), list(range(5, 13))]
    whole, cut = (FinetuneResult.read(directory / name / "result.json") for name in ("whole", "cut"))
    assert (cut.steps, cut.best) == (whole.steps, whole.best)
    for name in ("litebert.safetensors", "optimizer.safetensors"):
        last = (directory / which / "checkpoints" / "step-00000012" / name for which in ("whole", "cut"))
        assert next(last).read_bytes() == next(last).read_bytes()
    weights = load_model(whole.model).state_dict()
    for key, tensor in load_model(cut.model).state_dict().items():
        assert torch.equal(tensor, weights[key]), key
