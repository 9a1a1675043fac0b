"""A model as an ONNX file for runtimes without torch."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from litebert.commands.result import Result
from litebert.export.exported_graph import ExportedGraph, ExportPrecision, OtherHead
from litebert.files import readable_bytes
from litebert.settings import Settings


class ExportRun(Settings):
    """The settings of an export."""

    model: str
    """Model or run directory, or a name on the hub."""
    out: Path
    """Directory to write; an existing export is replaced."""
    precision: tuple[ExportPrecision, ...] = Field(default=("fp32",), min_length=1)
    """`fp32`, exact (onnx/model.onnx), `int8`, a quarter of the size (onnx/model_quantized.onnx), or both."""
    as_model: OtherHead | None = None
    """Another head that the model has: `SentenceEmbedder` for embeddings alone, or `ForMaskedLM` (default: its own)."""


@dataclass(frozen=True)
class ExportResult(Result):
    """What was written."""

    out: Path
    graphs: list[ExportedGraph]

    def to_text(self) -> str:
        """One line for each file."""
        return "\n".join(
            f"{each.path}: {readable_bytes(each.size)}; outputs differ from torch's by at most "
            f"{each.comparison.largest_difference:.2g} (hidden states: {each.comparison.relative_error:.2g} root mean "
            "square)"
            for each in self.graphs
        )


def export(run: ExportRun) -> ExportResult:
    """Write `run.out`; nothing is left there if it fails."""
    from litebert.export.export_model import export_model
    from litebert.model.io.model_directory import HUB
    from litebert.model.io.resolve import local_model_directory

    source = local_model_directory(run.model, hub=HUB)
    return ExportResult(run.out, export_model(source, run.out, precisions=run.precision, as_model=run.as_model))
