"""`litebert convert SOURCE TARGET --to FORMAT`, `litebert average MODELS --out OUT`, `push` and `export`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Flag, Json, OptionalName, OptionalPath, Several, emit, print_result
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.export import ExportRun
from litebert.model.io.model_spec import ModelName, SavedDtype, TargetFormat, validate_target


def convert(
    source: Annotated[str, Positional, arg(metavar="SOURCE")],
    target: Annotated[Path, Positional, arg(metavar="TARGET")],
    *,
    to: TargetFormat,
    as_model: Annotated[ModelName | None, arg(metavar="MODEL", help_behavior_hint="")] = None,
    labels: Several = (),
    allow_missing: Several = (),
    change: Annotated[tuple[str, ...], arg(metavar="[SETTING=VALUE …]", help_behavior_hint="")] = (),
    layers: Annotated[int | None, arg(metavar="INT", help_behavior_hint="")] = None,
    tokenizer: OptionalPath = None,
    dtype: SavedDtype = "float32",
    verbose: Flag = False,
    json: Json = False,
) -> None:
    """Write a checkpoint in another format and report what became of its tensors.

    Args:
        source: a model or run directory, a name on the hub, or a TensorFlow checkpoint (its directory or prefix)
        target: directory to write; an existing model directory is replaced
        to: the format; transformers loads litebert directories too, if it can run the model; sentence-transformers
            adds the files with which that library computes the embeddings of `litebert embed`
        as_model: another model than the source's, such as ForPretraining
        labels: class names of a classifier
        allow_missing: modules to initialize at random if the source lacks them, such as sentence_pair
        change: fields of the config to change, such as sharing=none; weights are remapped to another depth, sharing or
            feed-forward width
        layers: keep only the first layers, for a faster model; fine-tuning with elastic_depth trains it for that
        tokenizer: tokenizer directory or vocabulary file for the target; default: the source's
        dtype: of the weights in the target; 16 bits halve the file, which litebert reads as float32
        verbose: list every tensor
    """
    from litebert.settings import with_overrides

    validate_target(to, as_model, dtype)
    changes = with_overrides({}, change)
    # Imports torch, which takes seconds: only once the settings are known to be valid.
    from litebert.interop.convert_weights import convert as run

    report = run(
        source,
        target,
        to=to,
        as_model=as_model,
        labels=labels,
        allow_missing=allow_missing,
        changes=changes,
        layers=layers,
        tokenizer=tokenizer,
        dtype=dtype,
    )
    emit(asdict(report), report.to_text(verbose=verbose), as_json=json)


def average(
    models: Annotated[tuple[str, ...], Positional, arg(metavar="MODELS", help_behavior_hint="(required)")],
    *,
    out: Path,
    weights: Annotated[tuple[float, ...], arg(metavar="[NUMBER …]", help_behavior_hint="")] = (),
    dtype: SavedDtype = "float32",
    json: Json = False,
) -> None:
    """Write a model whose weights are the average of those of several models that were trained from the same one.

    Such as an encoder and what further pretraining made of it: the average can have the abilities of both, at the cost
    of one. Models that were fine-tuned with other seeds are too far apart; average their predictions, by `litebert
    ensemble`.

    Args:
        models: two or more model or run directories, or names on the hub, with one architecture and vocabulary
        out: directory to write; an existing model directory is replaced
        weights: how much each model counts, such as 0.3 0.7 after the models and --out; divided by their sum; default:
            all the same
        dtype: of the weights in the file; 16 bits halve it, which litebert reads as float32
    """
    from litebert.interop.average_shares import shares_of

    shares_of(models, weights)
    # Imports torch, which takes seconds: only once the arguments are known to be valid.
    from litebert.interop.average_weights import average_models

    print_result(average_models(models, out, weights=weights, dtype=dtype), as_json=json)


def push(
    model: Annotated[Path, Positional, arg(metavar="MODEL")],
    name: Annotated[str, Positional, arg(metavar="OWNER/NAME")],
    *,
    token: Annotated[str | None, arg(metavar="TOKEN", help_behavior_hint="")] = None,
    private: Flag = False,
    revision: OptionalName = None,
    json: Json = False,
) -> None:
    """Upload a model directory to the Hugging Face hub, where litebert and transformers load it by its name.

    Args:
        model: a model or run directory
        name: the name on the hub; a repository that does not exist is created
        token: access token with write permission (default: that of `hf auth login`, or HF_TOKEN)
        private: make a new repository private
        revision: branch to commit to (default: main)
    """
    from litebert.model.io.push import push_to_hub

    print_result(push_to_hub(model, name, token=token, private=private or None, revision=revision), as_json=json)


def export(run: Annotated[ExportRun, arguments_of(ExportRun, positional=("model", "out"))], json: Json = False) -> None:
    """Write a model as ONNX files, which onnxruntime, transformers.js and `litebert.runtime` run without torch.

    The layers are a loop over one stored block. The outputs are compared with torch's before anything is written.
    """
    from litebert.commands.export import export as export_model

    print_result(export_model(run), as_json=json)
