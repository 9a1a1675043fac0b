"""What an export writes. Importing it loads no torch, so that the command line checks its arguments at once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ExportPrecision = Literal["fp32", "int8"]
OtherHead = Literal["SentenceEmbedder", "ForMaskedLM"]


@dataclass(frozen=True)
class Comparison:
    """How far the outputs of a graph are from those of torch."""

    largest_difference: float
    """Of any output, divided by the largest value of that output or by 1."""
    relative_error: float
    """Root mean square error of the hidden states divided by their root mean square."""


@dataclass(frozen=True)
class ExportedGraph:
    """One file that was written."""

    precision: ExportPrecision
    path: Path
    size: int
    """Bytes."""
    comparison: Comparison
