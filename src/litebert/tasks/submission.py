"""Files of answers as the leaderboards take them. Before: examples of a test part and their answers. After: runs."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Final

from litebert.tasks.labelled import ChoiceExample, Example

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""Time of every file in the archive, so that the same answers are the same bytes."""


def glue_file(examples: Sequence[Example], answers: Sequence[str | float]) -> str:
    """`index` and `prediction` with a tab between them: label names, or scores to three decimals."""
    rows = [
        f"{example.id}\t{f'{answer:.3f}' if isinstance(answer, float) else answer}\n"
        for example, answer in zip(examples, answers, strict=True)
    ]
    return "".join(["index\tprediction\n", *rows])


def glue_archive(files: Mapping[str, str]) -> bytes:
    """The zip that the leaderboard takes: files by their official names, with no folder around them."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def race_file(examples: Sequence[ChoiceExample], answers: Sequence[str]) -> str:
    """A JSON object: name of the passage and number of the question → letter."""
    letters = {str(example.id): answer for example, answer in zip(examples, answers, strict=True)}
    return json.dumps(letters, indent=0) + "\n"
