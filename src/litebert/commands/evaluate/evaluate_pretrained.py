"""Evaluation of a pretrained model: on minimal pairs, and on the validation text of a corpus."""

import logging
from pathlib import Path
from typing import get_args

from litebert.commands.evaluate.evaluate_settings import EvaluateRun, MinimalPairFiles
from litebert.commands.evaluate.minimal_pairs import MinimalPairScores, evaluate_minimal_pairs
from litebert.commands.pretrain.pretrain_settings import PairObjective
from litebert.commands.pretrain.validation import ValidationScores, ValidationSet
from litebert.corpus.format.matching_corpus import open_matching_corpus
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.statistics.token_frequency import token_counts
from litebert.device import usable_device
from litebert.errors import ConfigError
from litebert.inference.inference_model import inference_model, resolve_precision
from litebert.inference.pretraining_record import pretraining_record, recorded_sampling
from litebert.inference.sentence_likelihood import validate_causal_steps
from litebert.model.io.model_directory import load_model
from litebert.model.io.model_spec import MASKED_LANGUAGE_MODELS, ModelSpec, read_model_spec
from litebert.training.distributed.context import DistributedContext

logger = logging.getLogger(__name__)


def evaluate_suite(run: EvaluateRun, model: Path, suite: MinimalPairFiles) -> MinimalPairScores:
    """Which sentence of each minimal pair a pretrained model prefers.

    Raises ConfigError if next tokens are to be predicted by a model that was trained on masked tokens only.
    """
    trained = pretraining_record(model)
    if run.scoring == "causal":
        validate_causal_steps(model, trained)
    elif trained and trained["sampling"].get("causal_fraction"):
        logger.info("%s: was pretrained on next tokens too; --scoring causal scores by them, faster", model)
    corpus = suite.counted_corpus
    counts = None if corpus is None else token_counts(open_matching_corpus(corpus, "train", model=model))
    return evaluate_minimal_pairs(
        model,
        suite.path,
        masking=None if run.scoring == "causal" else run.masking,
        temperature=run.temperature,
        fast=run.fast,
        precision=run.precision,
        device=run.device,
        counts=counts,
    )


def evaluate_pretraining(run: EvaluateRun, model: Path, corpus: Path) -> ValidationScores:
    """Masked-token and pair accuracy of a pretrained model on the validation split of a corpus.

    Examples are drawn as in the run that the model is from, unless `run` says otherwise. A model without a
    sentence-pair head is scored on masked tokens.
    """
    spec = read_model_spec(model)
    if spec.model not in MASKED_LANGUAGE_MODELS:
        raise ConfigError(
            f"{model}: a {spec.model} has no masked-LM head; give a model from `pretrain`, or labelled data (--data)"
        )
    open_matching_corpus(corpus, "validation", model=model)
    sampling, objectives = _examples(run, model, spec)
    world = DistributedContext.current(usable_device(run.device, run.precision))
    validation = ValidationSet(corpus, sampling, run.max_eval_examples, "fp32", world, objectives)
    fresh = () if _has_pair_head(spec) else ("encoder.pooler", "sentence_pair")  # drawn at random and not scored
    loaded = load_model(model, as_model="ForPretraining", fresh=fresh).to(world.device)
    with inference_model(loaded, resolve_precision(run.precision, loaded)) as running:
        return validation.score(running)


def _examples(run: EvaluateRun, model: Path, spec: ModelSpec) -> tuple[SamplingSettings, tuple[PairObjective, ...]]:
    """How examples are drawn, and the pair objectives to score besides."""
    trained = pretraining_record(model)
    positions = spec.config.max_position_embeddings
    base = recorded_sampling(model, spec)
    objectives = run.eval_pair_objectives
    if not _has_pair_head(spec):
        objectives = objectives or ()
    elif objectives is None:
        both = () if spec.pairing == "none" else get_args(PairObjective)  # an untrained head only if it is asked for
        objectives = tuple(trained.get("eval_pair_objectives", ())) if trained else both
    sampling = run.drawn_as(base)
    if not _has_pair_head(spec) and (sampling.pairing != "none" or objectives):
        raise ConfigError(f"{model}: a {spec.model} has no sentence-pair head; score it without pair objectives")
    if sampling.max_length > positions:
        raise ConfigError(
            f"sampling: max_length {sampling.max_length}, but {model} reads {positions} tokens; reduce it"
        )
    source = "as in its pretraining" if trained else "by default"
    told = f", but {' '.join(run.sampling)}" if run.sampling else "; change this by --sampling SETTING=VALUE"
    logger.info(
        "%s: examples of at most %d tokens, pairing %s, drawn %s%s",
        model,
        sampling.max_length,
        sampling.pairing,
        source,
        told,
    )
    return sampling, objectives


def _has_pair_head(spec: ModelSpec) -> bool:
    return spec.model == "ForPretraining"
