"""Which labelled rows, as arguments. Before: a command line. After: `finetune`, `sweep`, `evaluate`, `ensemble`."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from litebert.cli.output import OptionalName, OptionalPath, Several
from litebert.errors import ConfigError

if TYPE_CHECKING:
    from litebert.tasks.delimited import Columns


@dataclass(frozen=True, kw_only=True)
class ColumnArguments:
    """What the columns of a file of your own hold."""

    text: str = "text"
    """column of the text"""
    text_pair: OptionalName = None
    """column of the second text of a pair, or of a question with options"""
    label: str = "label"
    """column of the label, labels, score or right option"""
    options: Several = ()
    """columns of the options of a multiple choice; default: those called option1, option2, …"""
    slice: OptionalName = None
    """column by whose values the rows are also scored apart"""

    def to_columns(self) -> "Columns":
        """As readers take them."""
        from litebert.tasks.delimited import Columns

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
    kind: OptionalName = None
    """classification, regression, multi_label, multiple_choice, tokens, spans or answerability; else guessed"""

    def setting(self, recipe: str, columns: ColumnArguments) -> dict[str, Any]:
        """The setting `data` of a run: a published task, by default that of the recipe, or files with these columns."""
        from litebert.tasks.catalogue import TASKS

        task = recipe if self.task is None and self.train is None and recipe in TASKS else self.task
        if (task is None) == (self.train is None) or (task is None) != (self.data is None):
            raise ConfigError(
                "give either --train (a labelled file), or --task and --data (a published task; the recipe of its "
                "name stands for --task)"
            )
        if self.train is None:
            return {"task": task, "directory": str(self.data)}
        files = {"train": str(self.train)} | ({"dev": str(self.dev)} if self.dev is not None else {})
        return {**files, **asdict(columns), "kind": self.kind}


NO_ROWS: Final = TrainingRows()
