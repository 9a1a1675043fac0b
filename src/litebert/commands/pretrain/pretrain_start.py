"""What a pretraining run starts from: corpora, tokenizer, initial weights.

Shared by `pretrain` and `dry_run`, so that a dry run validates them as the run does.
"""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch

from litebert.commands.fingerprint import fingerprint_of
from litebert.commands.pretrain.init_checkpoint import load_init_checkpoint
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
from litebert.errors import ConfigError, DataError
from litebert.model.config import ModelConfig
from litebert.model.initialization.embedding_subspaces import EmbeddingSubspaces
from litebert.model.initialization.structured_init import structured_init_
from litebert.model.models import ForPretraining
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.distributed.context import DistributedContext

logger = logging.getLogger(__name__)
MIN_NSP_NEGATIVES = 0.4
"""A warning is logged for a smaller expected share of negative NSP pairs; with many documents it is 0.5."""


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
        _validate_model(run.model, tokenizer)
        return cls(run, corpus, data_mixture, tokenizer)

    @property
    def corpora_fingerprint(self) -> str:
        """Of the documents of all corpora; without a mixture that of the corpus."""
        mixture = [(corpus.fingerprint, weight) for corpus, weight in self.data_mixture]
        corpus = self.corpus.fingerprint
        return fingerprint_of({"corpus": corpus, "data_mixture": mixture}) if mixture else corpus

    @property
    def names_of_corpora(self) -> str:
        """For messages: the directories of the corpus and of the mixture."""
        return ", ".join(str(each) for each in (self.run.corpus, *self.run.data_mixture))

    def model(self, directory: RunDirectory, world: DistributedContext) -> ForPretraining:
        """New weights or those of `init_checkpoint`; a run with a checkpoint loads its weights from there later."""
        model = self._initial_model(directory, world)
        if self.run.sampling.pairing == "none":
            # Nothing trains them, but weight decay would shrink them, and fine-tuning starts from this pooler.
            for name, parameter in model.named_parameters():
                parameter.requires_grad_(not name.startswith(("encoder.pooler.", "sentence_pair.")))
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


def _validate_model(config: ModelConfig, tokenizer: Tokenizer) -> None:
    if config.vocab_size != tokenizer.vocab_size:
        raise ConfigError(
            f"model.vocab_size: {config.vocab_size}, but the corpus's tokenizer has {tokenizer.vocab_size} tokens; "
            "leave the setting out to use that number"
        )
