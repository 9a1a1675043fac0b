"""Settings of pretraining runs that take no time."""

import json

from litebert.commands.pretrain.pretrain_settings import load_pretrain_config

TOY = (
    "model.num_hidden_layers=1",
    "model.hidden_size=16",
    "model.embedding_size=16",
    "model.num_attention_heads=2",
    "model.intermediate_size=32",
    "sampling.max_length=32",
    "batch_size=8",
    "microbatch_size=8",
    "train.duration=4 steps",
    "train.device=cpu",
    "train.precision=fp32",
    "max_eval_examples=64",
)


MODEL = ("model.num_hidden_layers=2", "model.hidden_size=32", "model.num_attention_heads=2")
SMALL = (
    *MODEL,
    "model.intermediate_size=64",
    "model.embedding_size=16",
    "model.initializer_range=0.1",
    "model.hidden_dropout_prob=0.1",
    "init=random",
    "sampling.max_length=32",
    "batch_size=8",
    "microbatch_size=4",
    "train.duration=120 steps",
    "train.learning_rate=0.01",
    "train.checkpoint_every=25 steps",
    "train.evaluate_every=50 steps",
    "train.device=cpu",
    "train.precision=fp32",
)


def plan(corpus, *more):
    return load_pretrain_config("quickstart", [*SMALL, *more], corpus=corpus)


def losses(run):
    """(step, losses) of every record, exactly."""
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in record.items() if "loss" in name or name == "step"} for record in records]


SIZES = {"embedding_size": 8, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}
ONE_BLOCK = (
    *(f"model.{name}={value}" for name, value in SIZES.items()),
    "model.num_hidden_layers=1",
    "sampling.max_length=32",
    "batch_size=8",
    "max_eval_examples=64",
    "train.duration=2 steps",
    "train.device=cpu",
    "train.precision=fp32",
)
