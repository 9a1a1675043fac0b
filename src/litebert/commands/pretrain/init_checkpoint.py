"""Initial weights from a checkpoint: of an earlier run, of another depth, or of a published model.

Only weights are loaded: steps, schedule, optimizer and data start from the beginning. Source: ALBERT, appendix A.1:
each deeper model starts from the one before, and xxlarge from a model of six layers.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from litebert.corpus.format.shards import Corpus
from litebert.errors import ConfigError, LitebertError
from litebert.interop.convert_weights import is_tf_checkpoint, vocabulary_directory
from litebert.interop.tf_checkpoint import read_tf_checkpoint
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import build, load_weights, read_directory
from litebert.model.io.model_spec import CONFIG, ModelSpec
from litebert.model.models import ForPretraining
from litebert.model.remap_weights import remap_weights
from litebert.settings import read_yaml
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.checkpointing.checkpoint import Checkpoints, read_tensors, verified

OPTIONAL_PREFIXES = ("encoder.pooler.", "mlm.", "sentence_pair.")
"""Tensors that a checkpoint may lack: those on the hub have no sentence-pair head, fine-tuned models no MLM head."""

logger = logging.getLogger(__name__)


class SourceWeights(NamedTuple):
    """The weights of a checkpoint, and its tokenizer."""

    config: ModelConfig
    tensors: Mapping[str, Tensor]
    tokenizer: Path | None
    """Directory of its vocabulary, if known."""


def load_init_checkpoint(source: str, config: ModelConfig, tokenizer: Tokenizer, *, seed: int) -> ForPretraining:
    """A model of `config` with the weights of `source`, remapped where depth or sharing differ.

    Args:
        source: a model directory, a run directory, a checkpoint of one, a name on the hub or a TensorFlow checkpoint.
        config: the model to train.
        tokenizer: of the corpus to train on; must be the source's.
        seed: for the weights that the source lacks.

    Raises:
        ConfigError: the vocabularies differ, or the architectures differ in more than depth and sharing.
        CheckpointError: the source is missing or damaged, or lacks a part of the encoder.
    """
    weights = _read(source)
    _validate_vocabulary(source, weights, tokenizer)
    tensors = remap_weights(weights.tensors, source=weights.config, target=config)
    spec = ModelSpec.parse({"model": "ForPretraining", "config": config.to_dict()}, where="model")
    names = build(spec, device="meta").state_dict()
    new = [name for name in names if name not in tensors and name.startswith(OPTIONAL_PREFIXES)]
    model = load_weights(spec, tensors, where=source, fresh=new, seed=seed)
    logger.info("%s: loaded %d of %d tensors", source, len(names) - len(new), len(names))
    if new:
        logger.warning("%s: has no %s; initialized randomly", source, ", ".join(new))
    assert isinstance(model, ForPretraining)
    return model.train()


def _read(source: str) -> SourceWeights:
    path = Path(source)
    if (path / "settings.yaml").is_file():
        path = _newest_in_run(path)
    if (path / "trainer_state.json").is_file():
        return _read_checkpoint(path)
    if is_tf_checkpoint(path):
        checkpoint = read_tf_checkpoint(path)
        return SourceWeights(checkpoint.spec.config, checkpoint.weights.tensors, vocabulary_directory(path))
    stored = read_directory(path if path.exists() else source)
    return SourceWeights(stored.spec.config, stored.weights.tensors, vocabulary_directory(stored.directory))


def _newest_in_run(run: Path) -> Path:
    """The model of a finished run, or the newest checkpoint of an unfinished one."""
    if (run / "model" / CONFIG).is_file():
        return run / "model"
    newest = Checkpoints(run / "checkpoints", keep=1).newest_valid()
    if newest is None:
        raise ConfigError(f"init_checkpoint: {run} has neither a model nor a checkpoint yet; train it first")
    return newest


def _read_checkpoint(path: Path) -> SourceWeights:
    """A checkpoint of a run; its architecture is in the settings of the run."""
    settings = read_yaml(path.parent.parent / "settings.yaml")
    config = ModelConfig.parse(settings["model"], where=str(path))
    try:
        tokenizer = Corpus.open(Path(settings["corpus"])).tokenizer_directory
    except LitebertError as error:
        logger.warning("%s: its vocabulary is not available, so only the number of tokens is compared: %s", path, error)
        tokenizer = None
    return SourceWeights(config, read_tensors(verified(path))[0], tokenizer)


def _validate_vocabulary(source: str, weights: SourceWeights, tokenizer: Tokenizer) -> None:
    """Token ids must mean the same tokens; without a vocabulary only their number can be compared."""
    if weights.tokenizer is None:
        logger.info("%s: has no vocabulary, so only the number of tokens is compared", source)
    elif Tokenizer.load(weights.tokenizer).fingerprint != tokenizer.fingerprint:
        raise ConfigError(
            f"init_checkpoint: {source} was trained with another vocabulary than that of the corpus; build the corpus "
            f"with --tokenizer {weights.tokenizer}"
        )
    if weights.config.vocab_size != tokenizer.vocab_size:
        raise ConfigError(
            f"init_checkpoint: {source} has {weights.config.vocab_size} tokens, the corpus's tokenizer has "
            f"{tokenizer.vocab_size}; build the corpus with the tokenizer of the model"
        )
