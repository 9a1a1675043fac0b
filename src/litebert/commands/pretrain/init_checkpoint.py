"""Weights to pretrain from: another depth, an earlier run, anybody's model. Before: settings. After: `pretrain`.

Only weights are taken over: steps, schedule, optimizer and data begin anew. Source: ALBERT, appendix A.1: each depth
starts from the one before, and xxlarge from a net of six layers.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from litebert.corpus.format.shards import Corpus
from litebert.errors import ConfigError, LitebertError
from litebert.interop.convert_weights import is_tf_checkpoint
from litebert.interop.tf_checkpoint import read_tf_checkpoint
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import build, load_weights, read_directory
from litebert.model.io.model_spec import CONFIG, ModelSpec
from litebert.model.models import ForPretraining
from litebert.model.remap_weights import remap_weights
from litebert.settings import read_yaml
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.checkpointing.checkpoint import Checkpoints, read_tensors, verified

MAY_BE_NEW = ("encoder.pooler.", "mlm.", "sentence_pair.")
"""What a checkpoint may lack: the hub's have no sentence-order head, other models none for masked tokens."""

logger = logging.getLogger(__name__)


class Weights(NamedTuple):
    """What a source holds."""

    config: ModelConfig
    tensors: Mapping[str, Tensor]
    tokenizer: Path | None
    """Where its vocabulary is, as far as known."""


def warm_started(source: str, config: ModelConfig, tokenizer: Tokenizer, *, seed: int) -> ForPretraining:
    """A model of `config` with the weights of `source`, over another depth or sharing if the two differ in that.

    Args:
        source: a model directory, a run directory, a checkpoint of one, a name on the hub or a TensorFlow checkpoint.
        config: the model to train.
        tokenizer: of the corpus to train on; must be the source's.
        seed: of the weights that the source lacks.

    Raises:
        ConfigError: the vocabularies differ, or the architectures in what no bridge crosses.
        CheckpointError: the source is missing or damaged, or lacks a part of the encoder.
    """
    found = _read(source)
    _validate_vocabulary(source, found, tokenizer)
    tensors = remap_weights(found.tensors, source=found.config, target=config)
    spec = ModelSpec.parse({"model": "ForPretraining", "config": config.to_dict()}, where="model")
    names = build(spec, device="meta").state_dict()
    new = [name for name in names if name not in tensors and name.startswith(MAY_BE_NEW)]
    model = load_weights(spec, tensors, where=source, fresh=new, seed=seed)
    logger.info("%s: %d of %d tensors start from there", source, len(names) - len(new), len(names))
    if new:
        logger.warning("%s: lacks %s; these start from new weights", source, ", ".join(new))
    assert isinstance(model, ForPretraining)
    return model.train()


def _read(source: str) -> Weights:
    path = Path(source)
    if (path / "settings.yaml").is_file():
        path = _newest(path)
    if (path / "trainer_state.json").is_file():
        return _of_checkpoint(path)
    if is_tf_checkpoint(path):
        checkpoint = read_tf_checkpoint(path)
        return Weights(checkpoint.spec.config, checkpoint.weights.tensors, _vocabulary(path))
    stored = read_directory(path if path.exists() else source)
    return Weights(stored.spec.config, stored.weights.tensors, _vocabulary(stored.directory))


def _newest(run: Path) -> Path:
    """The model that a run left, or its newest checkpoint while it is unfinished."""
    if (run / "model" / CONFIG).is_file():
        return run / "model"
    newest = Checkpoints(run / "checkpoints", keep=1).newest_valid()
    if newest is None:
        raise ConfigError(f"init_checkpoint: {run} has neither a model nor a checkpoint yet; let it run first")
    return newest


def _of_checkpoint(path: Path) -> Weights:
    """A checkpoint says nothing of its architecture; the settings of its run do."""
    settings = read_yaml(path.parent.parent / "settings.yaml")
    config = ModelConfig.parse(settings["model"], where=str(path))
    try:
        tokenizer = Corpus.open(Path(settings["corpus"])).tokenizer_directory
    except LitebertError as error:
        logger.warning("%s: its vocabulary cannot be compared, only counted: %s", path, error)
        tokenizer = None
    return Weights(config, read_tensors(verified(path))[0], tokenizer)


def _vocabulary(path: Path) -> Path | None:
    directory = path if path.is_dir() else path.parent
    return directory if any(directory.glob("*.model")) or any(directory.glob("vocab.txt")) else None


def _validate_vocabulary(source: str, found: Weights, tokenizer: Tokenizer) -> None:
    """A row of the embedding table must mean the same token, which its number alone does not say."""
    if found.tokenizer is None:
        logger.info("%s: has no vocabulary beside it; only the number of tokens is compared", source)
    elif Tokenizer.load(found.tokenizer).fingerprint != tokenizer.fingerprint:
        raise ConfigError(
            f"init_checkpoint: {source} was trained with another vocabulary than the corpus has; build the corpus with "
            f"--tokenizer {found.tokenizer}"
        )
    if found.config.vocab_size != tokenizer.vocab_size:
        raise ConfigError(
            f"init_checkpoint: {source} has {found.config.vocab_size} tokens, the corpus's tokenizer has "
            f"{tokenizer.vocab_size}; build the corpus with the tokenizer of the model"
        )
