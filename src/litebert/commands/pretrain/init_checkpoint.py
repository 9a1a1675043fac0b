"""The checkpoint whose weights a pretraining run starts from: `init_checkpoint`.

It may be of an earlier run, of another depth or feed-forward width, or of a published model. Only weights are loaded:
steps, schedule, optimizer and data start from the beginning. Source: ALBERT, appendix A.1: each deeper model starts
from the one before, and xxlarge from a model of six layers.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from litebert.commands.fingerprint import fingerprint_of
from litebert.errors import CheckpointError, ConfigError
from litebert.files import RUN_SETTINGS, path_of, sha256
from litebert.interop.conversion_source import is_tf_checkpoint, vocabulary_directory
from litebert.interop.tf_checkpoint import checkpoint_files, read_tf_checkpoint
from litebert.manifest import content_digests
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import build, load_weights, read_directory
from litebert.model.io.model_spec import CONFIG, ModelSpec
from litebert.model.models import ForPretraining
from litebert.model.remapping.remap_weights import merged_blocks, remap_weights
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.checkpointing.checkpoint import Checkpoints

OPTIONAL_PREFIXES = ("encoder.pooler.", "mlm.", "sentence_pair.")
"""Tensors that a checkpoint may lack: those on the hub have no sentence-pair head, fine-tuned models no MLM head."""

_FUNCTION_FIELDS = ("hidden_act", "layer_norm_eps", "rope_theta")
"""Fields of the config that change what weights of equal shapes compute."""

logger = logging.getLogger(__name__)


class SourceWeights(NamedTuple):
    """The weights of a checkpoint, and its tokenizer."""

    config: ModelConfig
    tensors: Mapping[str, Tensor]
    tokenizer: Path | None
    """Directory of its vocabulary, if known."""


def load_init_checkpoint(source: str, config: ModelConfig, tokenizer: Tokenizer, *, seed: int) -> ForPretraining:
    """A model of `config` with the weights of `source`, remapped where depth, sharing or feed-forward width differ.

    Args:
        source: a model directory, a run directory, a checkpoint of one, a name on the hub or a TensorFlow checkpoint.
        config: the model to train.
        tokenizer: of the corpus to train on; must be the source's.
        seed: for the weights that the source lacks.

    Raises:
        ConfigError: the vocabularies differ, or the architectures differ in what cannot be remapped.
        CheckpointError: the source is missing or damaged, or lacks a part of the encoder.
    """
    try:
        weights = _read(source)
    except CheckpointError as error:
        raise CheckpointError(f"init_checkpoint: {error}") from error
    _validate_vocabulary(source, weights, tokenizer)
    for name in _FUNCTION_FIELDS:
        before, after = getattr(weights.config, name), getattr(config, name)
        if before != after:
            logger.warning("%s: was trained with %s %s; the model has %s", source, name, before, after)
    try:
        tensors = remap_weights(weights.tensors, source=weights.config, target=config, seed=seed)
    except ConfigError as error:
        raise ConfigError(f"init_checkpoint: {source}: {error}") from error
    if merged := merged_blocks(weights.config, config):
        blocks = ", ".join(f"{name} from {' and '.join(map(str, numbers))}" for name, numbers in merged.items())
        logger.warning("%s: blocks that are means, never trained, of several of its blocks: %s", source, blocks)
    spec = ModelSpec(model="ForPretraining", config=config)
    names = build(spec, device="meta").state_dict()
    new = [name for name in names if name not in tensors and name.startswith(OPTIONAL_PREFIXES)]
    model = load_weights(spec, tensors, where=source, fresh=new, seed=seed)
    logger.info("%s: loaded %d of %d tensors", source, len(names) - len(new), len(names))
    if new:
        logger.warning("%s: has no %s; initialized randomly", source, ", ".join(new))
    assert isinstance(model, ForPretraining)
    return model.train()


def _read(source: str) -> SourceWeights:
    path = _weights_at(source)
    if path is None:
        raise ConfigError(f"init_checkpoint: {source} has neither a model nor a checkpoint yet; train it first")
    if is_tf_checkpoint(path):
        checkpoint = read_tf_checkpoint(path, as_model="ForPretraining")  # its other head is not read
        return SourceWeights(checkpoint.spec.config, checkpoint.weights.tensors, vocabulary_directory(path))
    stored = read_directory(path if path.exists() else source)
    if stored.spec.adapters is not None:
        raise ConfigError(
            f"init_checkpoint: {source} has per-layer adapters, which are not pretrained; give the model that it was "
            "fine-tuned from"
        )
    return SourceWeights(stored.spec.config, stored.weights.tensors, vocabulary_directory(stored.directory))


def _weights_at(source: str) -> Path | None:
    """`source` itself; of a run its model or, unfinished, its newest valid checkpoint, or None if it has neither."""
    path = path_of(source)
    if not (path / RUN_SETTINGS).is_file():
        return path
    if (path / "model" / CONFIG).is_file():
        return path / "model"
    return Checkpoints(path / "checkpoints", keep=1).newest_valid()


def _validate_vocabulary(source: str, weights: SourceWeights, tokenizer: Tokenizer) -> None:
    """Token ids must mean the same tokens; without a vocabulary only their number can be compared."""
    if weights.tokenizer is None:
        logger.info("%s: has no vocabulary, so only the number of tokens is compared", source)
    elif not Tokenizer.load(weights.tokenizer).has_ids_of(tokenizer):
        raise ConfigError(
            f"init_checkpoint: {source} was trained with another vocabulary than that of the corpus; build the corpus "
            f"with --tokenizer {weights.tokenizer}"
        )
    if weights.config.vocab_size != tokenizer.vocab_size:
        raise ConfigError(
            f"init_checkpoint: {source} has {weights.config.vocab_size} tokens, the corpus's tokenizer has "
            f"{tokenizer.vocab_size}; build the corpus with the tokenizer of the model"
        )


def init_checkpoint_fingerprint(source: str | None) -> str:
    """One digest of `weights_digests`; empty where there are none."""
    digests = weights_digests(source) if source is not None else {}
    return fingerprint_of(digests) if digests else ""


def weights_digests(source: str) -> dict[str, str]:
    """Digests of the files that `load_init_checkpoint` would read; none where it finds none, or a name on the hub."""
    try:
        path = _weights_at(source)
        if path is not None and is_tf_checkpoint(path):
            return {file.name: sha256(file) for file in checkpoint_files(path)}
    except CheckpointError:  # damaged: `load_init_checkpoint` raises it
        return {}
    return content_digests(path) if path is not None and path.is_dir() else {}
