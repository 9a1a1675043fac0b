"""The settings of `litebert evaluate`. Imports no torch, so that wrong settings are refused at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from pydantic import Field, model_validator

from litebert.commands.data_arguments import (
    NO_COLUMNS,
    ONLY_BENCHMARKS,
    FileExamples,
    SlicedColumnArguments,
    files_by_split,
    validate_labels_of_benchmark,
)
from litebert.commands.many_files.file_arguments import FileWorkers, is_pattern, validate_one_file
from litebert.commands.prediction_files.prediction_arguments import ScoredArguments
from litebert.commands.pretrain.pretrain_settings import PairObjective
from litebert.corpus.sampling.sampling_settings import SamplingSettings, with_preset_values
from litebert.errors import ConfigError
from litebert.inference.word_masking import Masking, Scoring
from litebert.settings import validate_not_given, with_overrides
from litebert.tasks.benchmarks.benchmarks import Decision, Split, benchmark_task
from litebert.tasks.benchmarks.candidate_ranking import validate_ranked
from litebert.tasks.labelled_data import UnlabelledRows
from litebert.tasks.prediction_files.prediction_rows import is_prediction_file

_LABELLED: Final = "--data or --task (labelled data)"
_SUITE: Final = "--suite"
_CORPUS: Final = "--corpus without --suite"
_READ_FOR: Final = {
    _SUITE: ("scoring", "masking", "temperature", "fast"),
    _CORPUS: ("sampling", "max_eval_examples", "eval_pair_objectives"),
    _LABELLED: ("columns", "unlabelled_rows", "metrics", "report"),
}
"""Settings that are read for one source of examples only."""


@dataclass(frozen=True, slots=True)
class MinimalPairFiles:
    """Minimal pairs, for a pretrained model."""

    path: Path
    """A file, or a directory of them."""
    counted_corpus: Path | None
    """Corpus whose token counts give the unigram baseline."""


@dataclass(frozen=True, slots=True)
class ValidationText:
    """The validation split of a corpus, for a pretrained model."""

    corpus: Path


@dataclass(frozen=True, slots=True)
class FilePattern:
    """Labelled files of your own, each with scores of its own."""

    pattern: Path
    output: Path
    """Directory for the scores."""


@dataclass(frozen=True, slots=True)
class DevelopmentSplits:
    """The development splits of a benchmark."""

    task: str
    directory: Path
    """Where its files are."""
    files: Mapping[Split, str]
    """Files of your own in the layout of the official ones, by split; if there are any, only they are scored."""


EvaluationSource = MinimalPairFiles | ValidationText | FilePattern | FileExamples | DevelopmentSplits
"""Where the examples of an evaluation are."""


class EvaluateRun(ScoredArguments):
    """The settings of an evaluation."""

    model: str
    """Model or run directory, a name on the hub, or for labelled data an export directory or a prediction file of any
    program: .csv, .tsv, .jsonl, .json and so on."""
    data: Path | None = None
    """Labelled file: .csv, .tsv, .jsonl or .parquet with named columns, .conll, .conllu, or .json of SQuAD; or a
    pattern."""
    task: str | None = None
    """A benchmark, such as cola, mnli (both development sets), squad-v2.0, race (by level) or race-high."""
    task_dir: Path | None = None
    """Directory with the files of the benchmark."""
    split_file: tuple[str, ...] = ()
    """SPLIT=FILE …: files of your own in the layout of the benchmark's, such as dev=mine.tsv; only they are scored."""
    columns: SlicedColumnArguments = SlicedColumnArguments()
    unlabelled_rows: UnlabelledRows = "error"
    """With --data: what to do with a row of a table whose label is empty: `error`, or `skip` and count it."""
    metrics: tuple[str, ...] = ()
    """Metrics (default: those of the benchmark or of the task type)."""
    decision: Decision = "classify"
    """With --task qnli: `rank`, of the candidate sentences of a question in all files of the benchmark a single one is
    positive, as in the submission of the paper, whose development results are those of classification."""
    report: Path | None = None
    """HTML file to write, with all scores and the worst errors."""
    corpus: Path | None = None
    """Corpus directory, on whose validation split a pretrained model is evaluated; with --suite only its token counts
    are used, for the unigram baseline."""
    suite: Path | None = None
    """Directory (without its folders) or file of minimal pairs in the format of BLiMP (*.jsonl), which a pretrained
    model is to prefer correctly."""
    scoring: Scoring = "pseudo_log_likelihood"
    """With --suite: predict each token of a sentence from all others, or (`causal`) from those before it, which needs a
    model pretrained with `sampling.causal_fraction`."""
    masking: Masking = "token"
    """With --suite: tokens of a word that are masked besides the predicted one (none, those after it, all)."""
    temperature: float = Field(default=1.0, ge=1e-6)
    """With --suite: divides the logits; below 1 the likely tokens count more. Report 1 beside it."""
    fast: bool = False
    """With --suite: only the first 100 pairs of each paradigm."""
    sampling: tuple[str, ...] = ()
    """With --corpus: SETTING=VALUE …, how examples are drawn, as max_length=256 mlm_probability=0.2 (default: as in the
    run that the model is from; without a run, sentence order and at most 128 tokens)."""
    max_eval_examples: int = Field(default=2048, gt=0)
    """Maximum number of validation examples."""
    eval_pair_objectives: tuple[PairObjective, ...] | None = None
    """Pair objectives to score besides that of `sampling` (default: those of the run; without a run, both)."""
    output: Path | None = None
    """With a pattern as --data: directory for the scores of each file."""
    files: FileWorkers = FileWorkers()

    @property
    def source(self) -> EvaluationSource:
        """Where the examples are; ValueError unless exactly one place is given."""
        match self.suite, self.corpus, self.data, self.task, self.task_dir:
            case Path() as suite, corpus, None, None, None:
                return MinimalPairFiles(suite, corpus)
            case None, Path() as corpus, None, None, None:
                return ValidationText(corpus)
            case None, None, Path() as file, None, None:
                return self._file_or_files(file)
            case None, None, None, str() as task, Path() as directory:
                return DevelopmentSplits(task, directory, files_by_split(self.split_file))
        if (self.task is None) != (self.task_dir is None):
            raise ValueError("a benchmark needs both --task and --task-dir")
        raise ValueError(
            "give one of --corpus (validation text), --suite (minimal pairs), --data (a labelled file) and --task-dir "
            "(with --task)"
        )

    def _file_or_files(self, path: Path) -> FileExamples | FilePattern:
        if not is_pattern(path):
            return FileExamples(path, self.columns.to_columns())
        if self.output is None:
            raise ValueError("output: a pattern of files has scores for each; give a directory for them (--output)")
        return FilePattern(path, self.output)

    def drawn_as(self, base: Mapping[str, Any]) -> SamplingSettings:
        """`base` with the settings of `sampling`; those of a preset replace those of `base`."""
        try:
            changes = with_preset_values(with_overrides({}, self.sampling))
        except ValueError as error:
            raise ConfigError(f"sampling: {error}") from None
        return SamplingSettings.parse({**base, **changes}, where="sampling")

    @model_validator(mode="after")
    def _check(self) -> Self:
        source = self.source
        self._check_all_read(source)
        self._check_prediction_file(source)
        self._check_benchmark(source)
        if self.scoring == "causal" and self.masking != "token":
            raise ValueError("masking: with --scoring causal nothing is masked; leave it out")
        self.drawn_as({})
        self._check_files(source)
        return self

    def _check_all_read(self, source: EvaluationSource) -> None:
        """Refuse settings that are read for other sources than the given one."""
        match source:
            case MinimalPairFiles():
                argument = _SUITE
            case ValidationText():
                argument = _CORPUS
            case _:
                argument = _LABELLED
        for reader, names in _READ_FOR.items():
            defaults = {name: type(self).model_fields[name].default for name in names}
            given = {name: getattr(self, name) for name in names if getattr(self, name) != defaults[name]}
            if reader != argument:
                validate_not_given(given, f"read only with {reader}; leave it out")

    def _check_benchmark(self, source: EvaluationSource) -> None:
        """Refuse what only a benchmark has, and for a benchmark what its files decide."""
        if not isinstance(source, DevelopmentSplits):
            if self.split_file:
                raise ValueError(f"split_file: {ONLY_BENCHMARKS} --data")
            if self.decision == "rank":
                raise ValueError(f"decision: {ONLY_BENCHMARKS} --data")
            return
        benchmark_task(source.task)
        validate_not_given(self.columns.model_dump(), NO_COLUMNS.format(instead="--data"))
        validate_labels_of_benchmark(self.unlabelled_rows)
        if self.decision == "rank":
            validate_ranked(source.task)

    def _check_prediction_file(self, source: EvaluationSource) -> None:
        """Refuse what only a model can do, and for a model what only a prediction file needs."""
        self.validate_read([self.model], is_benchmark=isinstance(source, DevelopmentSplits))
        if not is_prediction_file(self.model):
            return
        decision = None if self.decision == "classify" else self.decision
        given = {"corpus": self.corpus, "suite": self.suite, "report": self.report, "decision": decision}
        validate_not_given(given, "only for a model, and MODEL is a prediction file; leave it out")
        if isinstance(source, FilePattern):
            raise ValueError("data: a prediction file is for one file of examples; give its path instead of a pattern")

    def _check_files(self, source: EvaluationSource) -> None:
        if not isinstance(source, FilePattern):
            validate_one_file(self.files)
            only = "only for a pattern of files as --data, such as 'test/*.csv'"
            validate_not_given({"output": self.output}, only)
            return
        validate_not_given({"report": self.report, "output_suffix": self.files.output_suffix}, "only for one file")
