"""Scoring a model, start to finish: a pretrained one on held-out text, a fine-tuned one on labelled rows.

Before: a model directory and a corpus or a labelled file. After: a person, or a table.
"""

from collections.abc import Sequence
from pathlib import Path

from litebert.commands.pretrain.held_out import HeldOut, PairTask
from litebert.commands.pretrain.held_out_scores import HeldOutScores
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError
from litebert.model.io.model_directory import load_model
from litebert.model.io.model_spec import read_model_spec
from litebert.settings import Precision
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.distributed.context import DistributedContext


def evaluate_held_out(
    model: Path,
    corpus: Path,
    examples: SamplingSettings,
    *,
    max_eval_examples: int,
    eval_pair_objectives: Sequence[PairTask] = (),
    precision: Precision = "fp32",
) -> HeldOutScores:
    """Masked-token and pair accuracy of a pretrained model on the held-out part of a corpus.

    Args:
        model: directory of a pretrained model.
        corpus: directory of a corpus of the same tokenizer.
        examples: how examples are drawn.
        max_eval_examples: how many of them at most.
        eval_pair_objectives: pair tasks to score besides that of `examples`.
        precision: of the model's arithmetic.
    """
    description = read_model_spec(model)
    if description.model != "ForPretraining":
        raise ConfigError(f"{model}: a {description.model} has no pretraining heads; give a model from `pretrain`")
    found, expected = (Tokenizer.load(place) for place in (model, Corpus.open(corpus).tokenizer_directory))
    if found.fingerprint != expected.fingerprint:
        raise ConfigError(f"{corpus}: was built with another tokenizer than {model}; build it with the model's")
    world = DistributedContext.current()
    held_out = HeldOut(corpus, examples, max_eval_examples, precision, world, eval_pair_objectives)
    return held_out.score(load_model(model).to(world.device))
