"""A checkpoint into another format, with an account of every tensor. Before: any checkpoint. After: `runs`, `cli`."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from litebert.errors import ConfigError
from litebert.interop.tensor_bundle import index_file
from litebert.interop.tf_checkpoint import read_tf_checkpoint, write_tf_checkpoint
from litebert.model.io.hf_weights import IDENTITY, Renamed
from litebert.model.io.model_directory import build, load_weights, read_directory, save_model, updated_spec
from litebert.model.io.model_spec import CONFIG, ModelName, ModelSpec, transformers_incompatibility
from litebert.model.io.tensor_names import Format, tensor_names
from litebert.model.remap_weights import remap_weights


@dataclass(frozen=True)
class ConversionReport:
    """What became of every tensor of a conversion."""

    source: str
    target: str
    target_format: Format
    model: ModelName
    mapped: tuple[tuple[str, str], ...]
    """Name in the source and name in the target."""
    dropped: tuple[tuple[str, str], ...]
    """Name in the source and why it was left out."""
    bridged: tuple[str, ...]
    """Name in the target of each further tensor, made from the source's others where depth or sharing changed."""
    missing: tuple[str, ...]
    """Our names of tensors that the source lacks; they start from new weights."""
    ignored_settings: tuple[str, ...] = ()
    """Keys of the source's config that mean nothing here."""

    def text(self) -> str:
        """The report for a reader: a summary, then a line for each tensor."""
        summary = (
            f"{self.source} → {self.target} ({self.model}, {self.target_format} format): {len(self.mapped)} tensors "
            f"mapped, {len(self.dropped)} dropped, {len(self.missing)} missing"
        )
        lines = [f"mapped   {theirs} → {ours}" for theirs, ours in self.mapped]
        lines += [f"dropped  {name}: {reason}" for name, reason in self.dropped]
        lines += [f"bridged  {name}: made from other blocks of the source" for name in self.bridged]
        lines += [f"missing  {name}: starts from new weights" for name in self.missing]
        lines += [f"ignored  setting {name}" for name in self.ignored_settings]
        return "\n".join([summary, *lines])


@dataclass(frozen=True)
class _Source:
    description: ModelSpec
    renamed: Renamed
    ignored_settings: tuple[str, ...] = ()


def convert(
    source: Path | str,
    target: Path,
    *,
    to: Format,
    as_model: ModelName | None = None,
    labels: Collection[str] = (),
    allow_missing: Collection[str] = (),
    changes: Mapping[str, Any] | None = None,
    extra_files: Mapping[str, bytes] | None = None,
) -> ConversionReport:
    """Write the model of any checkpoint as a model directory or as a TensorFlow checkpoint.

    Args:
        source: a model directory of ours or of transformers, a name on the hub, or a TensorFlow checkpoint. `fetch`
            of `model/io/hub.py` gives the directory of a certain revision.
        target: the directory to write.
        to: "litebert" writes what transformers loads too where it can; "transformers" insists on that;
            "tensorflow" writes what the original code loads.
        as_model: another model than the source's, such as "ForPretraining" for a source without its class.
        labels: names of a classifier's classes.
        allow_missing: modules, such as "sop", that may start from new weights if the source lacks them.
        changes: fields of the config to change; a bridge carries the weights over to another depth or sharing.
        extra_files: further files for the target by name, such as those of a tokenizer.

    Raises:
        CheckpointError: the source is damaged or lacks a tensor that is not in `allow_missing`.
        ConfigError: the target's format cannot express the model.
    """
    read = _read(source, as_model=as_model, labels=labels)
    if read.description.adapters:
        raise ConfigError(
            f"{source}: {transformers_incompatibility(read.description)}, nor can the original; use the directory as it is"
        )
    description = updated_spec(read.description, as_model=as_model, labels=labels, changes=changes or {})
    tensors = remap_weights(read.renamed.tensors, source=read.description.config, target=description.config)
    missing = _missing(description, tensors, allow_missing)
    model = load_weights(description, tensors, where=str(source), fresh=missing)
    _write(target, model, description, to=to, extra_files=extra_files)
    names = _names_on_disk(model, description, to=to)
    mapped, unused, bridged = _account(read.renamed, names, missing)
    written_again = _identities(read.renamed, description, to=to)
    return ConversionReport(
        source=str(source),
        target=str(target),
        target_format=to,
        model=description.model,
        mapped=(*mapped, *((name, name) for name in written_again)),
        dropped=(*(entry for entry in read.renamed.dropped if entry[0] not in written_again), *unused),
        bridged=bridged,
        missing=missing,
        ignored_settings=read.ignored_settings,
    )


def _identities(renamed: Renamed, description: ModelSpec, *, to: Format) -> tuple[str, ...]:
    """Tensors of the identity projection that the reader took out and the target's format writes again."""
    if to == "tensorflow" or transformers_incompatibility(description) or description.config.has_projection:
        return ()
    return tuple(name for name, reason in renamed.dropped if reason == IDENTITY)


def _read(source: Path | str, *, as_model: ModelName | None, labels: Collection[str]) -> _Source:
    if is_original(Path(source)):
        original = read_tf_checkpoint(Path(source), as_model=as_model, labels=labels)
        return _Source(original.description, original.renamed, original.ignored_settings)
    stored = read_directory(source)
    return _Source(stored.description, stored.renamed)


def is_original(path: Path) -> bool:
    """Whether a path leads to a TensorFlow checkpoint: its prefix, its index or its directory."""
    if path.is_dir():
        return not (path / CONFIG).exists() and any(path.glob("*.index"))
    return path.suffix == ".index" or index_file(path).is_file()


def _missing(description: ModelSpec, tensors: Mapping[str, Tensor], allowed: Collection[str]) -> tuple[str, ...]:
    """Tensors the model needs and the source lacks; one that is not allowed to be is left for `fill` to refuse."""
    expected = build(description, device="meta").state_dict()
    unknown = [start for start in allowed if not any(_inside(name, start) for name in expected)]
    if unknown:
        raise ConfigError(f"allow_missing: {description.model} has no {unknown[0]!r}; name a module such as 'sop'")
    absent = (name for name in expected if name not in tensors)
    return tuple(name for name in absent if any(_inside(name, start) for start in allowed))


def _inside(name: str, module: str) -> bool:
    return f"{name}.".startswith(f"{module}.")


def _write(
    target: Path,
    model: nn.Module,
    description: ModelSpec,
    *,
    to: Format,
    extra_files: Mapping[str, bytes] | None,
) -> None:
    if to == "tensorflow":
        write_tf_checkpoint(target, description, model.state_dict(), extra_files=extra_files)
        return
    reason = transformers_incompatibility(description)
    if to == "transformers" and reason:
        raise ConfigError(f"{target}: {reason}; convert to 'litebert', its own form")
    save_model(model, target, labels=description.labels, problem_type=description.problem_type, extra_files=extra_files)


def _names_on_disk(model: nn.Module, description: ModelSpec, *, to: Format) -> dict[str, str]:
    """What the target calls each of our tensors."""
    theirs: Format = (
        to if to == "tensorflow" else "litebert" if transformers_incompatibility(description) else "transformers"
    )
    rows = {row.ours: row.in_format(theirs) or row.ours for row in tensor_names(description.config)}
    return {name: rows[name] for name in model.state_dict()}


def _account(
    renamed: Renamed, names: Mapping[str, str], missing: Collection[str]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...], tuple[str, ...]]:
    """What was written under which name, what was not and why, and what a bridge made."""
    mapped = tuple((theirs, names[ours]) for theirs, ours in renamed.mapped if ours in names)
    unused = tuple((theirs, _reason(ours)) for theirs, ours in renamed.mapped if ours not in names)
    known = {*missing, *(ours for _, ours in renamed.mapped)}
    return mapped, unused, tuple(names[name] for name in names if name not in known)


def _reason(name: str) -> str:
    block = name.startswith(("encoder.attentions.", "encoder.feed_forwards."))
    return "merged into the blocks that are kept" if block else "has no place in this model"
