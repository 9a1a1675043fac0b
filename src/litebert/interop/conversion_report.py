"""What became of every tensor of a converted checkpoint."""

from collections.abc import Collection
from dataclasses import dataclass

from litebert.model.io.model_spec import ModelName
from litebert.model.io.tensor_names import Format


@dataclass(frozen=True)
class ConversionReport:
    """What became of every tensor."""

    source: str
    target: str
    target_format: Format
    model: ModelName
    mapped: tuple[tuple[str, str], ...]
    """(name in the source, name in the target)."""
    dropped: tuple[tuple[str, str], ...]
    """(name in the source, reason)."""
    remapped: tuple[str, ...]
    """Names in the target of tensors that a change of depth, sharing or feed-forward width made from the source's."""
    missing: tuple[str, ...]
    """litebert's names of tensors that the source lacks; they are initialized at random."""
    ignored_settings: tuple[str, ...] = ()
    """Keys of the source's config without an equivalent."""
    layers: tuple[int, int] | None = None
    """How many of how many layers were kept; None: all."""

    def to_text(self, *, verbose: bool = False) -> str:
        """A summary and what is not simply mapped; with `verbose` a line for each tensor."""
        kept = "" if self.layers is None else ", the first {} of {} layers".format(*self.layers)
        summary = (
            f"{self.source} → {self.target} ({self.model}, {self.target_format} format){kept}: "
            f"{len(self.mapped)} tensors mapped, {len(self.remapped)} remapped, {len(self.dropped)} dropped, "
            f"{len(self.missing)} missing"
        )
        lines = [f"mapped   {source} → {name}" for source, name in self.mapped if verbose]
        lines += _grouped("dropped", self.dropped, verbose=verbose)
        remapped = [(name, "made from blocks of the source") for name in self.remapped]
        lines += _grouped("remapped", remapped, verbose=verbose)
        lines += [f"missing  {name}: initialized at random" for name in self.missing]
        lines += [f"ignored  setting {name}" for name in self.ignored_settings]
        return "\n".join([summary, *lines])


def _grouped(outcome: str, tensors: Collection[tuple[str, str]], *, verbose: bool) -> list[str]:
    """A line for each reason, or with `verbose` for each tensor."""
    groups: dict[str, list[str]] = {}
    for name, reason in tensors:
        groups.setdefault(f"{name}: {reason}" if verbose else reason, []).append(name)
    if verbose:
        return [f"{outcome:8} {line}" for line in groups]
    return [f"{outcome:8} {len(names)} such as {names[0]}: {reason}" for reason, names in groups.items()]
