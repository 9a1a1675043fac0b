"""What a model directory, or the run that it is in, records of its pretraining."""

from pathlib import Path
from typing import Any

from litebert.files import PRETRAINING_SETTINGS, RUN_SETTINGS, read_json_object
from litebert.model.io.model_spec import ModelSpec
from litebert.settings import read_yaml


def recorded_sampling(model: Path, spec: ModelSpec) -> dict[str, Any]:
    """How examples of a model are drawn: as in its pretraining, or, without a record, by default.

    A model without a sentence-pair head gets no pairs.
    """
    record, positions = pretraining_record(model), spec.config.max_position_embeddings
    by_default = {"max_length": min(128, positions), "pairing": spec.pairing or "sop"}
    sampling = dict(record["sampling"]) if record else by_default
    return sampling if spec.model == "ForPretraining" else {**sampling, "pairing": "none"}


def pretraining_record(model: Path) -> dict[str, Any] | None:
    """How the examples of a model's pretraining were drawn (`sampling`), by its directory or the run that this lies in.

    None for a model of elsewhere, and for one that is not in a run of `pretrain`.
    """
    if (beside := model / PRETRAINING_SETTINGS).is_file():
        return read_json_object(beside, if_missing="take a fresh copy")
    files = [directory / RUN_SETTINGS for directory in model.resolve().parents[:2]]
    file = next((file for file in files if file.is_file()), None)
    settings = read_yaml(file) if file else {}
    return settings if settings.get("command") == "pretrain" else None
