"""`ExportMetadata`: what a predictor needs to know besides the graph; stored in the ONNX file."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self

from litebert.errors import CheckpointError

KEY: Final = "litebert"
"""Key of the metadata in the ONNX file."""
FORMAT: Final = 1
"""Version of the format: of the metadata, and of the inputs and outputs of the graph."""
GRAPH_FILES: Final = {"fp32": "onnx/model.onnx", "int8": "onnx/model_quantized.onnx"}
"""Precision → file in an export directory; the names are those of transformers.js."""


@dataclass(frozen=True, kw_only=True)
class ExportMetadata:
    """Task, labels and settings of an exported model."""

    format: int = FORMAT
    litebert: str
    """Version that wrote the file."""
    model: str
    """Class of `litebert.model.models`."""
    task: str
    """Name of the task type, or `fill_mask` or `embedding`."""
    precision: str
    labels: tuple[str, ...] = ()
    """Label names in the order of the logits."""
    settings: dict[str, Any] = field(default_factory=dict)
    """How examples become sequences and outputs answers: `max_length`, for questions also the no-answer threshold."""
    pooling: str = "mean"
    """Of the output `sentence_embedding`: `mean` or `cls`."""
    pairing: str | None = None
    """`sampling.pairing` with which the sentence-pair head was trained, if known."""
    max_length: int
    """Positions of the model."""
    num_hidden_layers: int
    """Default of the input of that name."""
    vocabulary: str
    """Name of the vocabulary file."""
    text_settings: dict[str, bool]
    """Text normalization and segmentation."""
    tokenizer: str
    """Fingerprint of vocabulary and text settings."""

    def to_json(self) -> str:
        """The metadata as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | None, *, where: str) -> Self:
        """The metadata of an ONNX file; CheckpointError, which begins with `where`, if there is none or a newer one."""
        if text is None:
            raise CheckpointError(f"{where}: has no metadata of litebert; give a directory from `litebert export`")
        try:
            values: Any = json.loads(text)
            version = values["format"]
        except (ValueError, TypeError, KeyError):
            raise CheckpointError(f"{where}: the metadata are damaged; export the model again") from None
        if version != FORMAT:
            raise CheckpointError(
                f"{where}: format {version} of litebert {values.get('litebert')}, expected format {FORMAT}; "
                "export the model again, or install the version of litebert that wrote it"
            )
        try:
            values["labels"] = tuple(values["labels"])
            return cls(**values)
        except (KeyError, TypeError):
            raise CheckpointError(f"{where}: the metadata are damaged; export the model again") from None
