"""Which labelled rows, as arguments. Before: a command line. After: the verbs of fine-tuning.

A file of your own in place of a published one is `--files PART=FILE` for all of them.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args

from tyro.conf import arg

from litebert.cli.arguments.common import OptionalName, OptionalPath, Several
from litebert.errors import ConfigError
from litebert.settings import validate_not_given

if TYPE_CHECKING:
    from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
    from litebert.tasks.readers.columns import Columns

AnsweredPart = Literal["dev", "dev-mismatched", "test", "test-mismatched", "diagnostic"]
PartFiles = Annotated[tuple[str, ...], arg(metavar="PART=FILE …", help_behavior_hint="")]
PartFile = Annotated[str | None, arg(metavar="PART=FILE", help_behavior_hint="")]
OptionalPart = Annotated[
    AnsweredPart | None, arg(metavar=f"{{{','.join(get_args(AnsweredPart))}}}", help_behavior_hint="")
]


@dataclass(frozen=True, kw_only=True)
class ColumnArguments:
    """What the columns of a file of your own hold; a fine-tuned model knows those of its training."""

    text: OptionalName = None
    """column of the text; default: as in training, or else text"""
    text_pair: OptionalName = None
    """column of the second text of a pair, or of a question with options"""
    label: OptionalName = None
    """column of the label, labels, score or right option; default: as in training, or else label"""
    options: Several = ()
    """columns of the options of a multiple choice; default: those called option1, option2, …"""
    slice: OptionalName = None
    """column by whose values the rows are also scored apart"""

    def to_columns(self) -> "Columns":
        """As readers take them."""
        from litebert.tasks.readers.columns import Columns

        return Columns(**asdict(self))


COLUMNS: Final = ColumnArguments()


@dataclass(frozen=True, kw_only=True)
class TrainingRows:
    """What is learnt: a published task (--task, --data), or files of your own (--train, --dev)."""

    task: OptionalName = None
    """a published task by its name, where the recipe has another"""
    data: OptionalPath = None
    """directory of the published files of the task"""
    train: OptionalPath = None
    """labelled file of your own: .csv, .tsv, .jsonl, .conll, .json of SQuAD"""
    dev: OptionalPath = None
    """file to select the best model by; without one a tenth of the training rows is held out, always the same"""
    files: PartFiles = ()
    """your own files laid out as the task's, each in place of a part: train=mine.tsv dev=held.tsv"""
    kind: OptionalName = None
    """classification, regression, multi_label, multiple_choice, tokens, spans or answerability; else guessed"""

    def setting(self, recipe: str, columns: ColumnArguments) -> dict[str, Any]:
        """The setting `data` of a run: a published task, by default that of the recipe, or files with these columns."""
        from litebert.tasks.benchmarks.benchmarks import TASKS

        task = recipe if self.task is None and self.train is None and recipe in TASKS else self.task
        if (task is None) == (self.train is None) or (task is None) != (self.data is None):
            raise ConfigError(
                "give either --train (a labelled file), or --task and --data (a published task; the recipe of its "
                "name stands for --task)"
            )
        if self.train is None:
            validate_not_given({**asdict(columns), "kind": self.kind}, OWN_COLUMNS.format(otherwise="--train"))
            validate_not_given(
                {"dev": self.dev}, "a published task has its own; give yours, laid out alike, by --files dev=FILE"
            )
            files = {"files": files_by_part(self.files)} if self.files else {}
            return {"task": task, "directory": str(self.data), **files}
        if self.files:
            raise ConfigError(f"files: {NO_TASK} --train and --dev")
        files = {"train": str(self.train)} | ({"dev": str(self.dev)} if self.dev is not None else {})
        named = {name: column for name, column in asdict(columns).items() if column is not None}
        return {**files, **named, "kind": self.kind}


NO_ROWS: Final = TrainingRows()
OWN_COLUMNS: Final = (
    "a published task has its own; leave out what is named, or give its file as {otherwise}, without --task"
)
NO_TASK: Final = "only with a published task; give --task, or the file itself as"


def files_by_part(values: Sequence[str]) -> dict[Any, str]:
    """Part → file, from PART=FILE; the part is checked where the task is known."""
    pairs = [value.partition("=") for value in values]
    if not all(part and file for part, _, file in pairs) or len({part for part, _, _ in pairs}) < len(pairs):
        raise ConfigError("files: give PART=FILE, a file for each part, such as dev=mine.tsv")
    return {part: file for part, _, file in pairs}


def answered_part(
    task: str | None, part: AnsweredPart | None, file: str | None, *, usual: AnsweredPart, otherwise: str
) -> "BenchmarkSplit | None":
    """The part of a task to answer: `part`, or that of PART=FILE, or the usual one; None without a task.

    `otherwise` is where a file that belongs to no task is named.
    """
    from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit

    if task is None:
        if part is not None or file is not None:
            raise ConfigError(f"{'part' if part else 'files'}: {NO_TASK} {otherwise}")
        return None
    ((named, own),) = files_by_part([file]).items() if file else ((part or usual, None),)
    if part not in (None, named):
        raise ConfigError(f"part: {part!r}, but --files gives a file for {named!r}; leave --part out")
    return BenchmarkSplit(task, named, own)
