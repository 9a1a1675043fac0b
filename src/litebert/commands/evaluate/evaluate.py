"""Evaluation: of a pretrained model on validation text or minimal pairs, of a fine-tuned one on labelled data."""

from pathlib import Path
from typing import Any

from litebert.commands.evaluate.evaluate_labelled import evaluate_benchmark, evaluate_labelled
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.commands.evaluate.minimal_pairs import MinimalPairScores, evaluate_minimal_pairs
from litebert.commands.finetune.data_arguments import files_by_split
from litebert.commands.pretrain.validation import ValidationSet
from litebert.commands.pretrain.validation_scores import ValidationScores
from litebert.corpus.format.shards import Corpus
from litebert.corpus.statistics.token_frequency import token_counts
from litebert.errors import ConfigError
from litebert.model.io.model_directory import load_model
from litebert.model.io.model_spec import read_model_spec
from litebert.model.io.resolve import resolve_model_directory
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.distributed.context import DistributedContext


def evaluate(run: EvaluateRun) -> tuple[dict[str, Any], str]:
    """The scores, as JSON values and as text."""
    model = resolve_model_directory(run.model)
    if run.suite is not None:
        pairs = _evaluate_suite(run, model, run.suite)
        return pairs.to_dict(), pairs.to_text()
    if run.corpus is not None:
        scores = evaluate_pretraining(run, model, run.corpus)
        return scores.to_dict(), scores.to_report()
    columns = run.columns
    if run.data is not None:
        result = evaluate_labelled(model, run.data, columns.to_columns(), metrics=run.metrics, report=run.report)
        return result.to_dict(), result.to_text()
    assert run.task is not None
    assert run.task_dir is not None
    files = files_by_split(run.split_file)
    scored = evaluate_benchmark(model, run.task, run.task_dir, files=files, metrics=run.metrics, report=run.report)
    return scored.to_dict(), scored.to_text()


def _evaluate_suite(run: EvaluateRun, model: Path, suite: Path) -> MinimalPairScores:
    counts = None if run.corpus is None else token_counts(_corpus_of(model, run.corpus))
    return evaluate_minimal_pairs(
        model, suite, masking=run.masking, fast=run.fast, precision=run.precision, counts=counts
    )


def evaluate_pretraining(run: EvaluateRun, model: Path, corpus: Path) -> ValidationScores:
    """Masked-token and pair accuracy of a pretrained model on the validation split of a corpus."""
    spec = read_model_spec(model)
    if spec.model != "ForPretraining":
        raise ConfigError(f"{model}: a {spec.model} has no pretraining heads; give a model from `pretrain`")
    _corpus_of(model, corpus)
    world = DistributedContext.current()
    validation = ValidationSet(
        corpus, run.sampling, run.max_eval_examples, run.precision, world, run.eval_pair_objectives
    )
    return validation.score(load_model(model).to(world.device))


def _corpus_of(model: Path, corpus: Path) -> Corpus:
    """The training split of a corpus that was built with the tokenizer of the model."""
    opened = Corpus.open(corpus)
    if Tokenizer.load(model).fingerprint != Tokenizer.load(opened.tokenizer_directory).fingerprint:
        raise ConfigError(f"{corpus}: was built with another tokenizer than {model}; build it with the model's")
    return opened
