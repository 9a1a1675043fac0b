"""Any labelled file a user brings → examples; the ending of its name tells the format.

Before: `delimited`, `tagged`, `squad_reader`. After: runs.
"""

from collections.abc import Sequence
from pathlib import Path

from litebert.errors import ConfigError
from litebert.tasks.columns import Columns, KeptColumns
from litebert.tasks.delimited import read_delimited
from litebert.tasks.labelled import LabelledData
from litebert.tasks.squad_placing import BadAnswers
from litebert.tasks.squad_reader import read_squad
from litebert.tasks.tagged import ENDINGS, read_conll
from litebert.tasks.task import Kind


def read_labelled(
    path: Path,
    columns: Columns | None = None,
    *,
    kind: Kind | None = None,
    labels: Sequence[str] | None = None,
    kept: KeptColumns | None = None,
    on_bad_answer: BadAnswers = "refuse",
) -> LabelledData:
    """The examples of a file, as `kind` or as what they look like, which is said.

    `labels` are those of the training file: another one is an error; `kept` its columns, for those that are not named.
    `on_bad_answer` says what to do with an answer
    to a question that is not in its text. Raises DataError with file, line and field.
    """
    if path.suffix in ENDINGS:
        if kind not in (None, "tokens"):
            raise ConfigError(f"{path}: CoNLL columns hold a label for each word, not {kind!r}; leave the kind out")
        return read_conll(path, labels=labels)
    if path.suffix == ".json":
        if kind not in (None, "spans", "answerability"):
            raise ConfigError(f"{path}: a .json file holds questions with answers, not {kind!r}; leave the kind out")
        return read_squad(path, kind=kind, on_bad_answer=on_bad_answer)
    return read_delimited(path, columns or Columns(), kind=kind, labels=labels, kept=kept, on_bad_answer=on_bad_answer)
