"""`litebert convert SOURCE TARGET --to FORMAT`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Json, OptionalPath, Several, emit
from litebert.model.io.model_spec import ModelName
from litebert.model.io.tensor_names import Format


def convert(
    source: Annotated[str, Positional, arg(metavar="SOURCE")],
    target: Annotated[Path, Positional, arg(metavar="TARGET")],
    *,
    to: Format,
    as_model: Annotated[ModelName | None, arg(metavar="MODEL", help_behavior_hint="")] = None,
    labels: Several = (),
    allow_missing: Several = (),
    change: Annotated[tuple[str, ...], arg(metavar="[SETTING=VALUE …]", help_behavior_hint="")] = (),
    tokenizer: OptionalPath = None,
    json: Json = False,
) -> None:
    """Write a checkpoint in another format and account for every tensor.

    Args:
        source: a model directory, a name on the hub, or a TensorFlow checkpoint (its directory or prefix)
        target: directory to write; what is there already is replaced only by a whole one
        to: the format; litebert is what transformers loads too, wherever it can express the model
        as_model: write another model than the source's, such as ForPretraining
        labels: names of a classifier's classes
        allow_missing: modules that may start from new weights where the source lacks them, such as sop
        change: fields of the config to change, such as sharing=none; weights cross over to another depth or sharing
        tokenizer: tokenizer directory or vocabulary file for the target; default: the source's
    """
    from litebert.commands.convert import convert as run
    from litebert.settings import with_overrides

    report = run(
        source,
        target,
        to=to,
        as_model=as_model,
        labels=labels,
        allow_missing=allow_missing,
        changes=with_overrides({}, change),
        tokenizer=tokenizer,
    )
    emit(asdict(report), report.text(), as_json=json)
