"""The settings of `litebert predict`. Imports no torch, so that wrong settings are refused at once."""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from litebert.commands.data_arguments import NO_COLUMNS, ONLY_BENCHMARKS, PredictedSplit, predicted_split
from litebert.commands.many_files.file_arguments import FileArguments, is_pattern, validate_one_file
from litebert.settings import InferencePrecision, validate_not_given
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.benchmarks.benchmarks import Decision
from litebert.tasks.benchmarks.candidate_ranking import validate_ranked
from litebert.tasks.readers.columns import INPUT_COLUMNS, Columns


class PredictRun(FileArguments):
    """The settings of a prediction."""

    model: str
    """Model, run or export directory, or a name on the hub; its task decides what is predicted."""
    input: Path
    """A .txt file with one text a line; a .csv, .tsv, .jsonl or .parquet file; a .json file of SQuAD; .conll columns
    or .conllu; a quoted pattern of such files; with --task the directory of the benchmark."""
    output: Path
    """A .jsonl, .csv or .tsv file, whose suffix is the format; also .conll for .conll and .conllu for .conllu; a
    directory for SQuAD and for a pattern of files; with --task in the format of its leaderboard."""
    text: str | None = None
    """Column of the text or of the words (default: as in training, or `text`)."""
    text_pair: str | None = None
    """Column of the second text of a pair, of the question of a multiple choice, or of the context of a question
    (default: as in training)."""
    options: tuple[str, ...] = ()
    """Columns of the options of a multiple choice (default: those named option1, option2, …)."""
    task: str | None = None
    """A benchmark, whose files are in the directory INPUT."""
    split: PredictedSplit | None = None
    """Its split (default: test)."""
    split_file: str | None = None
    """SPLIT=FILE: a file of your own in the layout of the benchmark's, such as test=mine.tsv."""
    decision: Decision = "classify"
    """With --task qnli: `rank`, of the candidate sentences of a question in all files of the benchmark a single one is
    positive, as in the submission of the paper."""
    threshold: float | None = None
    """Null score above which a question has no answer (default: the one chosen in fine-tuning)."""
    top_k: int | None = Field(default=None, gt=0)
    """Candidates for each [MASK] (default: 5)."""
    precision: InferencePrecision = "auto"
    """Arithmetic of a model: `fp32`, `bf16`, `fp16`, `auto` (the fastest of these, measured), or on CPUs `int8`; of an
    export `fp32`, `int8` or `auto`, the most precise that it has."""

    @property
    def columns(self) -> Columns:
        """The named columns."""
        return Columns(text=self.text, text_pair=self.text_pair, options=self.options)

    @property
    def benchmark_split(self) -> BenchmarkSplit | None:
        """The split of a benchmark to predict; None for a file of your own."""
        return predicted_split(self.task, self.split, self.split_file, default="test", instead="INPUT")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.benchmark_split is not None:
            given = {name: getattr(self, name) for name in (*INPUT_COLUMNS, "top_k")}
            validate_not_given(given, NO_COLUMNS.format(instead="INPUT"))
        if self.decision == "rank":
            if self.task is None:
                raise ValueError(f"decision: {ONLY_BENCHMARKS} INPUT")
            validate_ranked(self.task)
        if not is_pattern(self.input):
            validate_one_file(self.files)
        elif self.task is not None:
            raise ValueError("task: the input of a benchmark is its directory; give that instead of a pattern")
        return self
