"""Scoring a model, start to finish: a pretrained one on held-out text, a fine-tuned one on labelled rows.

Before: a model directory and a corpus or a labelled file. After: a person, or a table.
"""

from collections.abc import Sequence
from pathlib import Path

from litebert.corpus.example_settings import ExampleSettings
from litebert.corpus.shards import Corpus
from litebert.errors import ConfigError
from litebert.model.description import read_description
from litebert.model.directory import load_model
from litebert.runs.held_out import HeldOut, PairTask
from litebert.runs.held_out_scores import HeldOutScores
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.parallel import World
from litebert.training.settings import Precision


def evaluate_held_out(
    model: Path,
    corpus: Path,
    examples: ExampleSettings,
    *,
    most_examples: int,
    pair_tasks: Sequence[PairTask] = (),
    precision: Precision = "fp32",
) -> HeldOutScores:
    """Masked-token and pair accuracy of a pretrained model on the held-out part of a corpus.

    Args:
        model: directory of a pretrained model.
        corpus: directory of a corpus of the same tokenizer.
        examples: how examples are drawn.
        most_examples: how many of them at most.
        pair_tasks: pair tasks to score besides that of `examples`.
        precision: of the model's arithmetic.
    """
    description = read_description(model)
    if description.model != "ForPretraining":
        raise ConfigError(f"{model}: a {description.model} has no pretraining heads; give a model from `pretrain`")
    found, expected = (Tokenizer.load(place) for place in (model, Corpus.open(corpus).tokenizer_directory))
    if found.fingerprint != expected.fingerprint:
        raise ConfigError(f"{corpus}: was built with another tokenizer than {model}; build it with the model's")
    world = World.current()
    held_out = HeldOut(corpus, examples, most_examples, precision, world, pair_tasks)
    return held_out.score(load_model(model).to(world.device))
