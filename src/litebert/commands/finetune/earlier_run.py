"""The run that is already in the directory of a fine-tuning, compared with what the command asks for."""

import logging
from pathlib import Path

from litebert.commands.finetune.data.missing_inputs import validate_local_files
from litebert.commands.finetune.data.run_data import read_examples
from litebert.commands.finetune.data_settings import BenchmarkFiles, LabelledFiles
from litebert.commands.finetune.finetune_result import FinetuneResult
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.fingerprint import fingerprint_of
from litebert.commands.runs.run_directory import RunDirectory
from litebert.errors import CheckpointError, ConfigError, LitebertError
from litebert.hub_datasets import is_dataset_name, load_split
from litebert.model.io.hub import local_model_directory
from litebert.settings import read_yaml

logger = logging.getLogger(__name__)


def open_directory(run: FinetuneRun, out: Path) -> RunDirectory:
    """The directory of a new run, or of an earlier run with the same settings.

    Raises what `RunDirectory.open` does; but DataError if a data file is missing, and CheckpointError if its rows are
    not those of the finished run there.
    """
    try:
        return RunDirectory.open(out, run, command="finetune", allowed=run.train.allow_config_changes)
    except ConfigError:
        # Some settings are chosen by the number of rows: that they differ may only follow from the file.
        require_files(run.data)
        if _reads_the_same(run, out) and (result := _result_with_any_settings(out)):
            validate_same_rows(run, result, out)
        raise


def validate_same_rows(run: FinetuneRun, result: FinetuneResult, out: Path) -> None:
    """Raise CheckpointError if the data are not those of the finished run in `out`; warn if they are missing."""
    if not result.rows:
        return
    try:
        require_files(run.data)
    except LitebertError as error:
        logger.warning("%s. It cannot be compared with the rows of the finished run in %s", error, out)
        return
    data = read_examples(run)
    for part, use, rows in (("train", "trained on", data.train), ("dev", "evaluated on", data.dev)):
        if rows.fingerprint != result.rows[part]:
            raise CheckpointError(
                f"{rows.path}: its rows are not those that the finished run in {out} was {use}; restore the file, or "
                "choose another --out (an earlier version may have split it otherwise)"
            )


def weights_fingerprint(run: FinetuneRun) -> str:
    """Fingerprint of the model directory to start from; empty for random weights and for a model of the hub."""
    if run.from_scratch or not Path(run.model).is_dir():
        return ""
    return fingerprint_of(models=[local_model_directory(run.model)])


def validate_same_weights(run: FinetuneRun, result: FinetuneResult, out: Path) -> None:
    """Raise CheckpointError if the model to start from is not that of the finished run in `out`, if it still exists."""
    found = weights_fingerprint(run)
    if found and result.model_fingerprint and found != result.model_fingerprint:
        raise CheckpointError(
            f"{run.model}: not the model that the finished run in {out} started from, though its name is the same; "
            "choose another --out, or remove that run"
        )


def require_files(data: LabelledFiles | BenchmarkFiles) -> None:
    """Raise DataError, or MissingExtraError, if a file or data set does not exist."""
    validate_local_files(data)
    files = (data.train, data.dev) if isinstance(data, LabelledFiles) else ()
    for file in files:
        if isinstance(file, Path) and is_dataset_name(file):
            load_split(file)


def _reads_the_same(run: FinetuneRun, out: Path) -> bool:
    """Whether the run in `out` has the same settings of the data: with others, the rows of one file may differ."""
    file = RunDirectory(out).settings_file
    return file.exists() and read_yaml(file).get("data") == run.to_dict()["data"]


def _result_with_any_settings(out: Path) -> FinetuneResult | None:
    """The result of a finished fine-tuning run; None for everything else, such as a pretraining run."""
    try:
        return RunDirectory(out).result(FinetuneResult)
    except CheckpointError:
        return None
