"""What pretraining starts from: corpora, tokenizer, first weights. Before: settings. After: `pretrain`, `dry_run`.

The same for a run and for its rehearsal, which therefore refuses what the run would refuse.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch

from litebert.corpus.batches import PretrainBatches
from litebert.corpus.cooccurrence import neighbour_vectors
from litebert.corpus.frequency import token_counts
from litebert.corpus.mixture import WeightedCorpora, refuse_misfit
from litebert.corpus.shards import Corpus
from litebert.errors import ConfigError, DataError
from litebert.model.config import ModelConfig
from litebert.model.informed_init import Columns, begin_with_neighbours, hold_equal_word_heads
from litebert.model.models import ForPretraining
from litebert.runs.directory import RunDirectory
from litebert.runs.pretrain_settings import PretrainRun
from litebert.runs.warm_start import warm_started
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.parallel import World


@dataclass(frozen=True)
class PretrainStart:
    """What the settings of a run name, opened and found to fit together."""

    run: PretrainRun
    corpus: Corpus
    mixed_with: WeightedCorpora
    tokenizer: Tokenizer
    """Of all the corpora."""

    @classmethod
    def of(cls, run: PretrainRun) -> Self:
        """Open the corpora of `run`; a ConfigError where they, the tokenizer and the model do not fit together."""
        corpus = Corpus.open(run.corpus, "train")
        mixed_with = [(Corpus.open(directory, "train"), weight) for directory, weight in run.mixed_with.items()]
        refuse_misfit([(corpus, 1.0), *mixed_with])
        if run.held_out_examples:
            _refuse_nothing_held_out(run.corpus)
        tokenizer = Tokenizer.load(corpus.tokenizer_directory)
        _refuse_unfit_model(run.model, tokenizer, run.examples.max_length)
        return cls(run, corpus, mixed_with, tokenizer)

    def model(self, directory: RunDirectory, world: World) -> ForPretraining:
        """New weights, or those of `start_from`; a run that has a checkpoint takes its weights from there anyway."""
        model = self._first_model(directory, world)
        self.run.compute.apply(model)
        if self.run.hold_equal_word_heads:
            hold_equal_word_heads(model.encoder)
        return model

    def _first_model(self, directory: RunDirectory, world: World) -> ForPretraining:
        run = self.run
        if directory.has_checkpoint:
            return ForPretraining(run.model, seed=run.seed)
        if run.start_from is not None:
            return warm_started(run.start_from, run.model, self.tokenizer, seed=run.seed)
        return self._new_model(world)

    def _new_model(self, world: World) -> ForPretraining:
        run, config = self.run, self.run.model
        model = ForPretraining(config, seed=run.seed)
        if run.initial_weights == "neighbours":
            counts, width = token_counts(self.corpus), Columns.of(config).words
            # Counted once: on other processors the factors might differ in their last bits.
            found = world.on_first(lambda: neighbour_vectors(self.corpus, width, seed=run.seed, counts=counts))
            begin_with_neighbours(model, torch.from_numpy(found), torch.from_numpy(counts).float(), seed=run.seed)
        return model

    def batches(self, world: World) -> PretrainBatches:
        """The part of every batch that this process of `world` computes."""
        run = self.run
        return PretrainBatches(
            self.corpus,
            run.examples,
            batch_size=run.batch_size,
            microbatch_size=run.microbatch_size,
            rank=world.rank,
            world_size=world.size,
            seed=run.seed,
            mixed_with=self.mixed_with,
        )


def _refuse_nothing_held_out(corpus: Path) -> None:
    try:
        Corpus.open(corpus, "held_out")
    except DataError as error:
        raise DataError(f"{error}; or train without looking: held_out_examples=0") from None


def _refuse_unfit_model(config: ModelConfig, tokenizer: Tokenizer, max_length: int) -> None:
    if config.vocab_size != tokenizer.vocab_size:
        raise ConfigError(
            f"model.vocab_size: {config.vocab_size}, but the corpus's tokenizer has {tokenizer.vocab_size} pieces; "
            "leave the setting out and it follows the corpus"
        )
    if max_length > config.max_position_embeddings:
        raise ConfigError(
            f"examples.max_length: {max_length} tokens, but model.max_position_embeddings is "
            f"{config.max_position_embeddings}; shorten the examples or give the model more positions"
        )
