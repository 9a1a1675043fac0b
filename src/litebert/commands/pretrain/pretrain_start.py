"""What a pretraining run starts from: corpora, tokenizer, initial weights.

Shared by `pretrain` and `dry_run`, so that a dry run validates them as the run does. Initial weights may come from a
checkpoint: of an earlier run, of another depth or feed-forward width, or of a published model. Only weights are loaded:
steps, schedule, optimizer and data start from the beginning. Source: ALBERT, appendix A.1: each deeper model starts
from the one before, and xxlarge from a model of six layers.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

import torch
from torch import Tensor

from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.runs.run_directory import RunDirectory
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.corpus_examples import CorpusExamples
from litebert.corpus.sampling.mixture import WeightedCorpora, validate_mixture
from litebert.corpus.sampling.pairing import nsp_negative_share
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.statistics.cooccurrence import ppmi_svd_embeddings
from litebert.corpus.statistics.token_frequency import token_counts
from litebert.errors import CheckpointError, ConfigError, DataError
from litebert.files import RUN_SETTINGS
from litebert.interop.convert_weights import is_tf_checkpoint, vocabulary_directory
from litebert.interop.tf_checkpoint import read_tf_checkpoint
from litebert.model.config import ModelConfig
from litebert.model.initialization.embedding_subspaces import EmbeddingSubspaces
from litebert.model.initialization.structured_init import structured_init_
from litebert.model.io.model_directory import build, load_weights, read_directory
from litebert.model.io.model_spec import CONFIG, ModelSpec
from litebert.model.models import ForPretraining
from litebert.model.remapping.remap_weights import merged_blocks, remap_weights
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.checkpointing.checkpoint import Checkpoints
from litebert.training.distributed.context import DistributedContext

OPTIONAL_PREFIXES = ("encoder.pooler.", "mlm.", "sentence_pair.")
"""Tensors that a checkpoint may lack: those on the hub have no sentence-pair head, fine-tuned models no MLM head."""

_FUNCTION_FIELDS = ("hidden_act", "layer_norm_eps", "rope_theta")
"""Fields of the config that change what weights of equal shapes compute."""

logger = logging.getLogger(__name__)
MIN_NSP_NEGATIVES = 0.4
"""A warning is logged for a smaller expected share of negative NSP pairs; with many documents it is 0.5."""


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
    if (path / RUN_SETTINGS).is_file():
        path = _newest_in_run(path)
    if is_tf_checkpoint(path):
        checkpoint = read_tf_checkpoint(path)
        return SourceWeights(checkpoint.spec.config, checkpoint.weights.tensors, vocabulary_directory(path))
    stored = read_directory(path if path.exists() else source)
    if stored.spec.adapters is not None:
        raise ConfigError(
            f"init_checkpoint: {source} has per-layer adapters, which are not pretrained; give the model that it was "
            "fine-tuned from"
        )
    return SourceWeights(stored.spec.config, stored.weights.tensors, vocabulary_directory(stored.directory))


def _newest_in_run(run: Path) -> Path:
    """The model of a finished run, or the newest checkpoint of an unfinished one."""
    if (run / "model" / CONFIG).is_file():
        return run / "model"
    newest = Checkpoints(run / "checkpoints", keep=1).newest_valid()
    if newest is None:
        raise ConfigError(f"init_checkpoint: {run} has neither a model nor a checkpoint yet; train it first")
    return newest


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


@dataclass(frozen=True)
class PretrainStart:
    """The corpora and tokenizer that the settings of a run name, opened and validated."""

    run: PretrainRun
    corpus: Corpus
    data_mixture: WeightedCorpora
    tokenizer: Tokenizer
    """Of all the corpora."""

    @classmethod
    def of(cls, run: PretrainRun) -> Self:
        """Open the corpora of `run`; raises ConfigError if corpora, tokenizer and model do not match."""
        corpus = Corpus.open(run.corpus, "train")
        data_mixture = [(Corpus.open(directory, "train"), weight) for directory, weight in run.data_mixture.items()]
        validate_mixture([(corpus, 1.0), *data_mixture])
        if run.max_eval_examples:
            _validate_validation_split(run.corpus)
        if run.sampling.pairing == "nsp":
            _warn_few_negatives(CorpusExamples(corpus, run.sampling, seed=run.seed).source(0).corpus, run.sampling)
        if run.model.recursion_lora_rank and run.train.optimizer == "lamb":
            logger.warning(
                "model.recursion_lora_rank: LAMB hardly trains the low-rank updates, because it changes a tensor by a "
                "share of its norm and they start from 0; use train.optimizer=adamw or muon"
            )
        tokenizer = Tokenizer.load(corpus.tokenizer_directory)
        _validate_model(run.model, tokenizer, run.sampling.max_length)
        return cls(run, corpus, data_mixture, tokenizer)

    def model(self, directory: RunDirectory, world: DistributedContext) -> ForPretraining:
        """New weights or those of `init_checkpoint`; a run with a checkpoint loads its weights from there later."""
        model = self._initial_model(directory, world)
        self.run.compute.apply(model)
        return model

    def _initial_model(self, directory: RunDirectory, world: DistributedContext) -> ForPretraining:
        run = self.run
        if run.init_checkpoint is not None and not directory.has_checkpoint:
            model = load_init_checkpoint(run.init_checkpoint, run.model, self.tokenizer, seed=run.seed)
            model.pairing = run.sampling.pairing  # not that of the source: its checkpoints say how they were trained
            return model
        model = ForPretraining(run.model, seed=run.seed, pairing=run.sampling.pairing)
        if run.init == "structured" and not directory.has_checkpoint:
            counts, width = token_counts(self.corpus), EmbeddingSubspaces.of(run.model).num_token_columns
            logger.info(
                "structured initialization: co-occurrences of %s tokens are counted", f"{self.corpus.num_tokens:,}"
            )
            # Computed on one process: on different processors the factors may differ in the last bits.
            vectors = world.on_rank_zero(lambda: ppmi_svd_embeddings(self.corpus, width, seed=run.seed, counts=counts))
            structured_init_(model, torch.from_numpy(vectors), torch.from_numpy(counts).float(), seed=run.seed)
        return model

    def batches(self, world: DistributedContext) -> PretrainBatches:
        """This process's part of every batch."""
        run = self.run
        return PretrainBatches(
            self.corpus,
            run.sampling,
            batch_size=run.batch_size,
            microbatch_size=run.microbatch_size,
            rank=world.rank,
            world_size=world.size,
            seed=run.seed,
            data_mixture=self.data_mixture,
        )


def _warn_few_negatives(corpus: Corpus, sampling: SamplingSettings) -> None:
    share = nsp_negative_share(corpus, sampling)
    if share < MIN_NSP_NEGATIVES:
        logger.warning(
            "%s: only %.0f %% of the NSP pairs are expected to be negative, because the corpus has few or very long "
            "documents; use sampling.pairing=sop, or more documents",
            corpus.directory,
            100 * share,
        )


def _validate_validation_split(corpus: Path) -> None:
    try:
        Corpus.open(corpus, "validation")
    except DataError as error:
        raise DataError(f"{error}; or train without evaluation: max_eval_examples=0") from None


def _validate_model(config: ModelConfig, tokenizer: Tokenizer, max_length: int) -> None:
    if config.vocab_size != tokenizer.vocab_size:
        raise ConfigError(
            f"model.vocab_size: {config.vocab_size}, but the corpus's tokenizer has {tokenizer.vocab_size} tokens; "
            "leave the setting out to use that number"
        )
    if max_length > config.max_position_embeddings:
        raise ConfigError(
            f"sampling.max_length: {max_length} tokens, but model.max_position_embeddings is "
            f"{config.max_position_embeddings}; shorten the examples or give the model more positions"
        )
