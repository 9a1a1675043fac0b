"""Scoring a model, start to finish: a pretrained one on held-out text, a fine-tuned one on labelled rows.

Before: a model directory and a corpus or a labelled file. After: a person, or a table.
"""

from pathlib import Path

from litebert.corpus.example_settings import ExampleSettings
from litebert.corpus.shards import Corpus
from litebert.errors import ConfigError
from litebert.model.directory import load_model, read_description
from litebert.runs.held_out import HeldOut, HeldOutScores
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.parallel import World
from litebert.training.settings import Precision


def evaluate_held_out(
    model: Path, corpus: Path, examples: ExampleSettings, *, most_examples: int, precision: Precision = "fp32"
) -> HeldOutScores:
    """Masked-token and sentence-order accuracy of a pretrained model on the held-out part of a corpus."""
    description = read_description(model)
    if description.model != "ForPretraining":
        raise ConfigError(f"{model}: a {description.model} has no pretraining heads; give a model from `pretrain`")
    found, expected = (Tokenizer.load(place) for place in (model, Corpus.open(corpus).tokenizer_directory))
    if found.fingerprint != expected.fingerprint:
        raise ConfigError(f"{corpus}: was built with another tokenizer than {model}; build it with the model's")
    device = World.current().device
    held_out = HeldOut(corpus, examples, most_examples=most_examples, precision=precision, device=device)
    return held_out.score(load_model(model).to(device))
