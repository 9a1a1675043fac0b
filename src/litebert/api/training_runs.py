"""Training from Python: a tokenizer, a corpus, an encoder, a fine-tuned model."""

import glob
import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from litebert.api.api_results import TrainedModel
from litebert.api.data_sources import Data, DataSource
from litebert.api.function_identity import function_identity
from litebert.api.python_messages import in_terms_of_python
from litebert.commands import tokenizer as tokenizer_command
from litebert.commands.corpus import build as corpus_command
from litebert.commands.finetune.data_settings import LabelledFiles
from litebert.commands.finetune.finetune import finetune as run_finetuning
from litebert.commands.finetune.finetune_settings import FinetuneRun, load_finetune_config, recipe_of_task
from litebert.commands.pretrain.adapt import adapt as run_adaptation
from litebert.commands.pretrain.adapt_settings import AdaptRun, DocumentEnd
from litebert.commands.pretrain.init_checkpoint import weights_digests
from litebert.commands.pretrain.pretrain import pretrain as run_pretraining
from litebert.commands.pretrain.pretrain_result import PretrainResult
from litebert.commands.pretrain.pretrain_settings import PretrainRun, pretrain_config, validate_one_initialization
from litebert.commands.recipes import load_recipe
from litebert.commands.runs.run_directory import DATA, RunDirectory
from litebert.corpus.build.build_corpus import CorpusReport
from litebert.corpus.corpus_settings import CorpusSettings, InvalidRows, InvalidUtf8
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError, suggestion
from litebert.files import expand_home, path_of, path_text
from litebert.hub_datasets import is_dataset_name
from litebert.manifest import content_digests
from litebert.model.io.hub import local_model_directory
from litebert.settings import Settings, merged_settings, name_here
from litebert.tasks.metrics.metrics import listed_metrics, metric_names
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.vocabulary_training import TokenizerSettings
from litebert.training.callbacks.callback import Callback
from litebert.training.callbacks.progress_display import progress_display
from litebert.training.train_settings import TrainSettings

logger = logging.getLogger(__name__)

Files = str | Path | Sequence[str | Path]
"""Paths, globs or directories of text files."""
Metric = str | Callable[[Any, Any], float]
"""The name of a metric, or a function of (predictions [N], labels [N]), of which more is better."""
RUNS = Path("runs")
"""Where runs without `out` are."""


def train_tokenizer(
    files: Files,
    out: Path | str,
    *,
    encoding: str = "utf-8",
    invalid_utf8: InvalidUtf8 = "replace_few",
    text_key: str = "text",
    invalid_rows: InvalidRows = "error",
    **settings: Any,
) -> Tokenizer:
    """Train a SentencePiece vocabulary on text files and write the tokenizer directory `out`, which must be new.

    The report on lines that were not trained on is in `report.json`. If many of their words lose accents or other
    marks, they are logged as a warning: set `keep_accents=True` unless the text is English.

    Args:
        files: paths, globs or directories of text, JSON lines or Parquet.
        out: the tokenizer directory.
        encoding: encoding of text and JSON lines, such as `cp1252` or `gbk`.
        invalid_utf8: what to do with bytes that the encoding does not have, as of `CorpusSettings`.
        text_key: key (JSON lines) or column (Parquet, data sets) of the text of a document.
        invalid_rows: what to do with rows without text, `error` or `skip`.
        settings: fields of `TokenizerSettings`, such as `vocab_size=8000`.
    """
    with in_terms_of_python({}):
        result = tokenizer_command.train(
            _listed(files),
            TokenizerSettings(**settings),
            path_of(out),
            encoding=encoding,
            invalid_utf8=invalid_utf8,
            text_key=text_key,
            invalid_rows=invalid_rows,
        )
    if result.report.loses_many_marks:
        logger.warning("%s: %s", out, result.report.lost_marks())
    return Tokenizer.load(out)


def build_corpus(
    files: Files, out: Path | str, *, tokenizer: Path | str, validation: Files = (), workers: int = 1, **settings: Any
) -> CorpusReport:
    """Build a corpus directory for `pretrain`; an interrupted build continues.

    Args:
        files: paths, globs or directories of text, JSON lines or Parquet.
        out: the corpus directory.
        tokenizer: a tokenizer directory.
        validation: further files, all of whose documents are in the validation split, besides the
            `validation_fraction` of those of `files`; with 0 they are the whole split.
        workers: number of processes.
        settings: fields of `CorpusSettings`, such as `dedup_exact=True`.
    """
    with in_terms_of_python({}):
        report = corpus_command.build(
            [str(path) for path in _listed(files)],
            path_of(tokenizer),
            CorpusSettings(**settings),
            path_of(out),
            validation=[str(path) for path in _listed(validation)],
            workers=workers,
        )
    assert isinstance(report, CorpusReport)
    return report


def pretrain(
    recipe: str,
    *,
    corpus: str | os.PathLike[str],
    out: Path | str | None = None,
    callbacks: Sequence[Callback] | None = None,
    **settings: Any,
) -> TrainedModel:
    """Train an encoder on a corpus; an unfinished run in `out` is resumed.

    Args:
        recipe: name of a recipe, such as `tiny`, or the path of a .yaml file.
        corpus: a corpus directory.
        out: the run directory; None: one in `runs/`, the same for the same arguments, documents and initial weights.
        callbacks: called during the run; None: `[litebert.progress_display()]`, empty: nothing is shown.
        settings: fields of `PretrainRun`, `TrainSettings` and `SamplingSettings`, such as `batch_size=64`,
            `duration="10 minutes"`, `mlm_probability=0.15` or `model={"num_hidden_layers": 6}`.
    """
    given = placed(settings, PretrainRun, {"train": TrainSettings, "sampling": SamplingSettings})
    validate_one_initialization(given)
    values = merged_settings(load_recipe(recipe, command="pretrain").settings, given)
    run = pretrain_config(values, corpus=path_of(corpus), where=recipe)
    directory = path_of(out) if out else _pretraining_directory(run)
    result = run_pretraining(run, directory, callbacks=_or_progress(callbacks))
    return _pretrained(result, directory)


def adapt(
    model: str | os.PathLike[str],
    texts: Files,
    out: Path | str,
    *,
    text: str = "text",
    documents: DocumentEnd = "line",
    callbacks: Sequence[Callback] | None = None,
    **settings: Any,
) -> TrainedModel:
    """Pretrain an encoder further on text of a domain, without labels; an unfinished run in `out` is resumed.

    Args:
        model: a pretrained model or run directory, or a name on the hub.
        texts: paths, globs or directories; rows of tables and JSON lines, and lines of text, are documents.
        out: the run directory.
        text: column of the text in tables, key in JSON lines.
        documents: what ends a document of a text file: `line`, `blank_line` or `file`.
        callbacks: as of `pretrain`.
        settings: as of `pretrain`, but not those that the model and the texts give: `model`, `corpus`, `init` and
            `init_checkpoint`.
    """
    given = placed(settings, PretrainRun, {"train": TrainSettings, "sampling": SamplingSettings})
    files = tuple(str(path) for path in _listed(texts))
    run = AdaptRun(model=path_text(model), texts=files, out=path_of(out), text=text, documents=documents)
    with in_terms_of_python({}):
        result = run_adaptation(run, given=given, callbacks=_or_progress(callbacks))
    return _pretrained(result, path_of(out))


def _pretrained(result: PretrainResult, directory: Path) -> TrainedModel:
    scores = asdict(result.end) if result.end else {}
    numbers = {name: each for name, each in scores.items() if isinstance(each, int | float)}
    return TrainedModel(directory, result, numbers)


def finetune(
    model: str | os.PathLike[str],
    *,
    train: Data = None,
    dev: Data = None,
    out: Path | str | None = None,
    recipe: str = "default",
    metrics: Metric | Sequence[Metric] = (),
    callbacks: Sequence[Callback] | None = None,
    **settings: Any,
) -> TrainedModel:
    """Fine-tune a model on labelled data and keep the best of the evaluated models; an unfinished run is resumed.

    `print` of the result is what the command prints. A model that has collapsed, or is not better than a baseline, is
    also a warning in the log.

    Args:
        model: a model or run directory, or a name on the hub.
        train: labelled data (see `Data`); None: those of the setting `data`, such as a benchmark.
        dev: data that select the best model; None: a tenth of `train`, always the same rows.
        out: the run directory; None: one in `runs/`, the same for the same arguments, rows, weights and functions.
        recipe: name of a recipe or the path of a .yaml file.
        metrics: names of metrics or functions; the first selects the best model. One needs no list. Empty: those of the
            recipe, or else of the task type.
        callbacks: called during the run; None: `[litebert.progress_display()]`, empty: nothing is shown.
        settings: fields of `FinetuneRun`, `TrainSettings` and `LabelledFiles`, such as `batch_size=16`,
            `learning_rate=3e-5`, `duration="3 epochs"`, `text="review"` or `task_type="regression"`.
    """
    tuned, remarks = finetuned(
        model, train=train, dev=dev, out=out, recipe=recipe, metrics=metrics, callbacks=callbacks, settings=settings
    )
    for remark in remarks:
        logger.warning("%s: %s", tuned.directory, remark)
    return tuned


def finetuned(
    model: str | os.PathLike[str],
    *,
    train: Data,
    dev: Data,
    out: Path | str | None,
    recipe: str,
    metrics: Metric | Sequence[Metric],
    callbacks: Sequence[Callback] | None,
    settings: Mapping[str, Any],
) -> tuple[TrainedModel, Sequence[str]]:
    """What `finetune` returns, and what may be wrong with the model."""
    given = placed(settings, FinetuneRun, {"train": TrainSettings, "data": LabelledFiles})
    metrics = listed_metrics(metrics)
    names = metric_names(metrics)
    if len(set(names)) < len(names):
        raise ConfigError(f"metrics: two of {', '.join(names)} have one name; give each metric once")
    sources = {name: DataSource.of(data, name) for name, data in (("train", train), ("dev", dev)) if data is not None}
    if "train" not in sources and "data" not in given:
        raise ConfigError("finetune: no training data; give train=…, or data={'task': NAME, 'directory': DIRECTORY}")
    if "train" in sources and sources["train"].text_pair:
        given = merged_settings({"data": {"text_pair": sources["train"].text_pair}}, given)
    directory = path_of(out) if out else _finetuning_directory(model, recipe, metrics, given, sources)
    data = directory / DATA
    files = {name: str(source.file_in(data)) for name, source in sources.items()}
    fixed = {"model": path_text(model)} | ({"metrics": names} if names else {})
    base = load_recipe(recipe_of_task(recipe), command="finetune").settings
    values = merged_settings(base, merged_settings(given, {"data": files, **fixed}))
    # Wrong settings and another directory are refused before rows are written into it.
    load_finetune_config(recipe, given=values, open_files=False)
    RunDirectory(directory).validate_is_run_or_new()
    for source in sources.values():
        source.to_file(data)
    with in_terms_of_python({source.file_in(data): name for name, source in sources.items() if not source.path}):
        config = load_finetune_config(recipe, given=values, out=directory)
        result = run_finetuning(config, directory, callbacks=_or_progress(callbacks))
    return TrainedModel(directory, result, result.scores), result.remarks


def _or_progress(callbacks: Sequence[Callback] | None) -> Sequence[Callback]:
    return [progress_display()] if callbacks is None else callbacks


def _pretraining_directory(run: PretrainRun) -> Path:
    identity: list[Any] = [run.to_dict(), _content_of_corpora(run)]
    if run.init_checkpoint is not None:  # other runs keep the names that they had
        identity.append(weights_digests(run.init_checkpoint))
    return _run_directory("pretrain", identity)


def _finetuning_directory(
    model: str | os.PathLike[str], recipe: str, metrics: Sequence[Metric], given: Any, sources: Mapping[str, DataSource]
) -> Path:
    digests = {name: source.digest for name, source in sources.items()}
    functions = [metric if isinstance(metric, str) else function_identity(metric) for metric in metrics]
    return _run_directory("finetune", [path_text(model), _content_of_model(model), recipe, functions, given, digests])


def _content_of_model(model: str | os.PathLike[str]) -> dict[str, str]:
    return content_digests(local_model_directory(path_of(model))) if path_of(model).is_dir() else {}


def _content_of_corpora(run: PretrainRun) -> list[str]:
    return [Corpus.open(Path(directory), "train").fingerprint for directory in (run.corpus, *run.data_mixture)]


def _run_directory(command: str, identity: Any) -> Path:
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()
    return RUNS / f"{command}-{digest[:8]}"


def _listed(files: Files) -> list[str | Path]:
    """Paths, globs and directories; ConfigError for texts in memory, which only labelled data may be."""
    listed = [files] if isinstance(files, str | Path) else list(files)
    if hasattr(files, "columns") or not all(isinstance(each, str | Path) for each in listed):
        raise ConfigError(f"files: expected paths, found a {type(files).__name__}; write the texts to a file")
    for each in map(str, listed):
        is_known = is_dataset_name(each) or glob.has_magic(each) or path_of(each).exists()
        if (" " in each or "\n" in each) and not is_known:
            raise ConfigError(f"files: no file {each[:60]!r}; texts in memory are not read: write them to a file")
    return expand_home(listed)


def placed(settings: Mapping[str, Any], owner: type[Settings], groups: Mapping[str, type[Settings]]) -> dict[str, Any]:
    """Nested values of `owner` from flat ones: `learning_rate` becomes `{"train": {"learning_rate": …}}`.

    A name is that of a field of `owner`, or else of the first of its `groups` that has it. A mapping for a whole group,
    such as `train={…}`, or an object, `data=LabelledFiles(…)`, is kept; flat values replace its own. ConfigError for an
    unknown name.
    """
    result: dict[str, Any] = {}
    for name, value in settings.items():
        value = value.to_dict() if isinstance(value, Settings) else value
        if name in owner.model_fields:
            result[name] = {**value, **result.get(name, {})} if isinstance(value, Mapping) else value
            continue
        group = next((group for group, fields in groups.items() if name in fields.model_fields), None)
        if group is None:
            known = [*owner.model_fields, *(field for fields in groups.values() for field in fields.model_fields)]
            here = name_here(name, value)
            meant = f"did you mean {here}?" if here.partition("=")[0] in known else suggestion(name, known)
            raise ConfigError(f"{name}: no such setting; {meant}")
        result[group] = {**result.get(group, {}), name: value}
    return result
