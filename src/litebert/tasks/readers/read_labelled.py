"""Any labelled file a user brings → examples; the ending of its name tells the format.

Before: `delimited`, `tagged`, `squad_reader`. After: runs.
"""

from collections.abc import Sequence
from pathlib import Path

from litebert.errors import ConfigError
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.readers.answer_alignment import BadAnswers
from litebert.tasks.readers.columns import Columns, SavedColumns
from litebert.tasks.readers.conll import ENDINGS, read_conll
from litebert.tasks.readers.labelled_tables import read_delimited
from litebert.tasks.readers.squad_json import read_squad
from litebert.tasks.task_type import Kind


def read_labelled(
    path: Path,
    columns: Columns | None = None,
    *,
    kind: Kind | None = None,
    labels: Sequence[str] | None = None,
    kept: SavedColumns | None = None,
    invalid_answers: BadAnswers = "refuse",
) -> LabelledData:
    """The examples of a file, as `kind` or as what they look like, which is said.

    `labels` are those of the training file: another one is an error; `kept` its columns, for those that are not named.
    `invalid_answers` says what to do with an answer
    to a question that is not in its text. Raises DataError with file, line and field.
    """
    if path.suffix in ENDINGS:
        if kind not in (None, "tokens"):
            raise ConfigError(f"{path}: CoNLL columns hold a label for each word, not {kind!r}; leave the kind out")
        return read_conll(path, labels=labels)
    if path.suffix == ".json":
        if kind not in (None, "spans", "answerability"):
            raise ConfigError(f"{path}: a .json file holds questions with answers, not {kind!r}; leave the kind out")
        return read_squad(path, kind=kind, invalid_answers=invalid_answers)
    return read_delimited(
        path, columns or Columns(), kind=kind, labels=labels, kept=kept, invalid_answers=invalid_answers
    )
