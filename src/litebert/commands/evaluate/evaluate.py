"""Evaluation: of a pretrained model on validation text or minimal pairs, of a fine-tuned one on labelled data."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field

from litebert.commands.evaluate.evaluate_labelled import evaluate_benchmark, evaluate_labelled
from litebert.commands.evaluate.minimal_pairs import MinimalPairScores, evaluate_minimal_pairs
from litebert.commands.finetune.data_arguments import NO_COLUMNS, ONLY_BENCHMARKS, ColumnArguments, files_by_split
from litebert.commands.pretrain.pretrain_settings import PairObjective
from litebert.commands.pretrain.validation import ValidationSet
from litebert.commands.pretrain.validation_scores import ValidationScores
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.statistics.token_frequency import token_counts
from litebert.errors import ConfigError
from litebert.inference.inference_model import inference_model, resolve_precision
from litebert.inference.pseudo_log_likelihood import Masking
from litebert.model.io.model_directory import load_model
from litebert.model.io.model_spec import read_model_spec
from litebert.model.io.resolve import resolve_model_directory
from litebert.settings import InferencePrecision, Settings, validate_not_given
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.distributed.context import DistributedContext


class EvaluateRun(Settings):
    """The settings of an evaluation."""

    model: Path
    """Model or run directory."""
    data: Path | None = None
    """Labelled file: .csv, .tsv or .jsonl with named columns, .conll, or .json of SQuAD."""
    task: str | None = None
    """A benchmark, such as cola, mnli (both development sets), squad-v2.0, race (by level) or race-high."""
    task_dir: Path | None = None
    """Directory with the files of the benchmark."""
    split_file: tuple[str, ...] = ()
    """SPLIT=FILE …: files of your own in the layout of the benchmark's, such as dev=mine.tsv; only they are scored."""
    columns: ColumnArguments = ColumnArguments()
    metrics: tuple[str, ...] = ()
    """Metrics (default: those of the benchmark or of the task type)."""
    report: Path | None = None
    """HTML file to write, with all scores and the worst errors."""
    corpus: Path | None = None
    """Corpus directory, on whose validation split a pretrained model is evaluated; with --suite only its token counts
    are used, for the unigram baseline."""
    suite: Path | None = None
    """Directory of minimal pairs in the format of BLiMP (*.jsonl), which a pretrained model is to prefer correctly."""
    masking: Masking = "token"
    """With --suite: tokens of a word that are masked besides the predicted one (none, those after it, all)."""
    fast: bool = False
    """With --suite: only the first 100 pairs of each paradigm."""
    sampling: SamplingSettings = SamplingSettings(max_length=128)
    max_eval_examples: int = Field(default=2048, gt=0)
    """Maximum number of validation examples."""
    eval_pair_objectives: tuple[PairObjective, ...] = ("sop", "nsp")
    """Pair objectives to score, whichever the model was trained on."""
    precision: InferencePrecision = "fp32"
    """Arithmetic of the model: `fp32`, `bf16`, `fp16`, `auto` (the fastest one, measured) or `int8`; with labelled data
    any other than fp32 is reported beside the scores of fp32."""


def evaluate(run: EvaluateRun) -> tuple[dict[str, Any], str]:
    """The scores, as JSON values and as text."""
    text = run.corpus if run.suite is None else run.suite
    if [text, run.data, run.task_dir].count(None) != 2:
        raise ConfigError(
            "evaluate: give one of --corpus (validation text), --suite (minimal pairs), --data (a labelled file) and "
            "--task-dir (with --task)"
        )
    if (run.task is None) != (run.task_dir is None):
        raise ConfigError("evaluate: a benchmark needs both --task and --task-dir")
    if run.split_file and run.task is None:
        raise ConfigError(f"split_file: {ONLY_BENCHMARKS} --data")
    model = resolve_model_directory(run.model)
    if run.suite is not None:
        pairs = _evaluate_suite(run, model, run.suite)
        return pairs.to_dict(), pairs.to_text()
    if run.corpus is not None:
        scores = evaluate_pretraining(run, model, run.corpus)
        return scores.to_dict(), scores.to_report()
    columns = run.columns
    if run.data is not None:
        labelled = partial(evaluate_labelled, model, run.data, columns.to_columns(), metrics=run.metrics)
        return _beside_fp32(run, labelled)
    validate_not_given(columns.model_dump(), NO_COLUMNS.format(instead="--data"))
    assert run.task is not None
    assert run.task_dir is not None
    files = files_by_split(run.split_file)
    benchmark = partial(evaluate_benchmark, model, run.task, run.task_dir, files=files, metrics=run.metrics)
    return _beside_fp32(run, benchmark)


def _beside_fp32(run: EvaluateRun, score: Callable[..., Any]) -> tuple[dict[str, Any], str]:
    """The scores in the precision of `run` and, if that is another, those of fp32."""
    if run.precision == "fp32":
        result = score(report=run.report)
        return result.to_dict(), result.to_text()
    results = {"fp32": score(), run.precision: score(report=run.report, precision=run.precision)}
    values = {precision: result.to_dict() for precision, result in results.items()}
    return values, "\n".join(f"{precision}: {result.to_text()}" for precision, result in results.items())


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
    validation = ValidationSet(corpus, run.sampling, run.max_eval_examples, "fp32", world, run.eval_pair_objectives)
    loaded = load_model(model).to(world.device)
    with inference_model(loaded, resolve_precision(run.precision, loaded)) as running:
        return validation.score(running)


def _corpus_of(model: Path, corpus: Path) -> Corpus:
    """The training split of a corpus that was built with the tokenizer of the model."""
    opened = Corpus.open(corpus)
    if Tokenizer.load(model).fingerprint != Tokenizer.load(opened.tokenizer_directory).fingerprint:
        raise ConfigError(f"{corpus}: was built with another tokenizer than {model}; build it with the model's")
    return opened
