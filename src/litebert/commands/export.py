"""A model as an ONNX file for runtimes without torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

from pydantic import Field, model_validator

from litebert.commands.result import Result
from litebert.errors import ConfigError
from litebert.export.exported_graph import ExportedGraph, ExportPrecision, OtherHead
from litebert.files import model_name, readable_bytes
from litebert.settings import Settings


class ExportRun(Settings):
    """The settings of an export."""

    model: str
    """Model or run directory, or a name on the hub."""
    out: Path | None = None
    """Directory to write, unless `page` is given; an existing export is replaced with all its files."""
    precision: tuple[ExportPrecision, ...] = Field(default=("fp32",), min_length=1)
    """`fp32`, exact (onnx/model.onnx), `int8`, a quarter of the size (onnx/model_quantized.onnx), or both."""
    as_model: OtherHead | None = None
    """Another head that the model has: `SentenceEmbedder` for embeddings alone, or `ForMaskedLM` (default: its own)."""
    page: Path | None = None
    """Directory of a page that runs its models in the browser, without a server, for any file server: index.html, with
    this export in models/NAME beside those that are there."""
    node_modules: Path = Path("node_modules")
    """Folder that `npm install onnxruntime-web @huggingface/tokenizers` makes, for `page`."""

    @model_validator(mode="after")
    def _has_one_place(self) -> Self:
        if (self.out is None) == (self.page is None):
            found = "neither OUT nor --page" if self.out is None else "both OUT and --page"
            raise ConfigError(f"out: {found}; give one of them")
        return self


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
    """Write `run.out` or `run.page`; nothing is left there if it fails."""
    from litebert.export.browser_page import MODELS, add_to_page, check_node_modules
    from litebert.export.export_model import export_model
    from litebert.model.io.hub import model_directory

    source = model_directory(run.model)
    if run.page is None:
        out = cast(Path, run.out)
        return ExportResult(out, export_model(source, out, precisions=run.precision, as_model=run.as_model))
    check_node_modules(run.node_modules)
    name = model_name(run.model)
    graphs = export_model(source, run.page / MODELS / name, precisions=run.precision, as_model=run.as_model)
    add_to_page(run.page, name, node_modules=run.node_modules)
    return ExportResult(run.page, graphs)
