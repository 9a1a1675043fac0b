"""A tiny pretrained model and settings of runs on it that take no time, for sweeps and ensembles."""

from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForPretraining
from support.data.labelled_files import write_opinions

API_SETTINGS = {
    "duration": "30 steps",
    "optimizer": "adamw",
    "learning_rate": 0.01,
    "device": "cpu",
    "batch_size": 12,
    "microbatch_size": 12,
    "max_length": 32,
}
"""Of a run that separates the opinions, as keyword arguments."""


def save_pretrained(tokenizer, directory, **changes):
    """A pretrained model that does not know anything yet."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size,
        embedding_size=16,
        initializer_range=0.1,
        **{"max_position_embeddings": 96, **sizes, **changes},
    )
    return save_model(ForPretraining(config), directory, extra_files=tokenizer.files())


def opinions_run(pretrained, file, **train):
    """Plain values of a run on `write_opinions`, its development rows those of training."""
    usual = {"duration": "30 steps", "optimizer": "adamw", "learning_rate": 0.01, "device": "cpu", "precision": "fp32"}
    return {
        "model": str(pretrained),
        "data": {"train": str(write_opinions(file)), "dev": str(file)},
        "train": {**usual, **train},
        "batch_size": 12,
        "microbatch_size": 12,
        "max_length": 32,
    }
