"""The labelled files of a set of tables stay the same: their digests are kept beside the results.

The name of a cell has the task but no digest of its files, so results of other files would be taken for these.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from litebert.commands.reproduce.cells import Cell
from litebert.commands.reproduce.scheduler import CellPaths
from litebert.errors import CheckpointError
from litebert.files import read_json_object, write_json
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit

FILE: Final = "data.json"


def record_digests(cells: Sequence[Cell], paths: CellPaths) -> None:
    """Record the digests of the files that the cells are fine-tuned and scored on in `OUT/data.json`.

    Raises CheckpointError if a file has another digest than at the first run, or the record is damaged.
    """
    file = paths.path / FILE
    found = read_json_object(file, if_missing="run the command again") if file.exists() else {}
    tasks = {cell.settings["data"]["task"]: cell for cell in cells if cell.kind == "finetune"}
    for task, cell in tasks.items():
        digests = _digests(task, Path(cell.settings["data"]["directory"]))
        if found.setdefault(task, digests) != digests:
            raise CheckpointError(
                f"{file}: the results in {paths.path} are of other files of {task} than those in "
                f"{cell.settings['data']['directory']}; give the same files, or another --out"
            )
    if tasks:
        write_json(file, found)


def _digests(task: str, directory: Path) -> dict[str, str]:
    """Split → digest of its file, or of all files of a split in several."""
    return {split: _digest(BenchmarkSplit(task=task, split=split).paths(directory)) for split in ("train", "dev")}


def _digest(paths: Sequence[Path]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for file in (file for path in paths for file in _files(path)):
        digest.update(hashlib.blake2b(file.read_bytes(), digest_size=16).digest())
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
