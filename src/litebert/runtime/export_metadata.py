"""`ExportMetadata`: what a predictor needs to know besides the graph; stored in the ONNX file."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from litebert.errors import CheckpointError
from litebert.protobuf_wire import DamagedBytesError, embedded, fields

KEY: Final = "litebert"
"""Key of the metadata in the ONNX file."""
FORMAT: Final = 1
"""Version of the format: of the metadata, and of the inputs and outputs of the graph."""
GRAPH_FILES: Final = {"fp32": "onnx/model.onnx", "int8": "onnx/model_quantized.onnx"}
"""Precision → file in an export directory; the names are those of transformers.js."""
WEIGHTS: Final = ("*.safetensors*", "pytorch_model*.bin")
"""Files of a model directory for torch."""


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
    reads_single_texts: bool = False
    """Whether it was fine-tuned on single texts; False where that is not known, as in files of earlier versions."""
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
    def read(cls, file: Path) -> Self:
        """The metadata of an ONNX file, whose graph is not built; CheckpointError if it is damaged or has none.

        Source: `onnx.proto`: field 14 of the model, `metadata_props`, has a key (field 1) and a value (field 2).
        """
        try:
            properties = [dict(fields(embedded(value))) for number, value in fields(file.read_bytes()) if number == 14]
            texts = {embedded(each[1]).decode(): embedded(each[2]).decode() for each in properties}
        except (DamagedBytesError, KeyError, UnicodeDecodeError):
            raise CheckpointError(f"{file}: damaged, or not a file of ONNX; export the model again") from None
        return cls.from_json(texts.get(KEY), where=str(file))

    @classmethod
    def from_json(cls, text: str | None, *, where: str) -> Self:
        """The metadata of an ONNX file; CheckpointError, which begins with `where`, if there is none or a newer one."""
        if text is None:
            raise CheckpointError(f"{where}: has no metadata of litebert; give a directory from `litebert export`")
        damaged = CheckpointError(f"{where}: the metadata are damaged; export the model again")
        try:
            values: Any = json.loads(text)
            version = values["format"]
        except (ValueError, TypeError, KeyError):
            raise damaged from None
        if type(version) is not int:
            raise damaged
        if version != FORMAT:
            raise CheckpointError(
                f"{where}: format {version} of litebert {values.get('litebert')}, expected format {FORMAT}; "
                "export the model again, or install the version of litebert that wrote it"
            )
        if not all(name in _TYPES and isinstance(value, _TYPES[name]) for name, value in values.items()):
            raise damaged
        if not all(isinstance(label, str) for label in values.get("labels", ())):
            raise damaged
        if values.get("precision") not in GRAPH_FILES:
            raise damaged
        try:
            values["labels"] = tuple(values.get("labels", ()))
            return cls(**values)
        except TypeError:
            raise damaged from None


_TYPES: Final[dict[str, Any]] = {
    **dict.fromkeys(("format", "max_length", "num_hidden_layers"), int),
    **dict.fromkeys(("litebert", "model", "task", "precision", "pooling", "vocabulary", "tokenizer"), str),
    **dict.fromkeys(("settings", "text_settings"), dict),
    "labels": list,
    "reads_single_texts": bool,
    "pairing": str | None,
}
"""Of the fields, as JSON holds them."""


def graph_precisions(directory: Path) -> list[str]:
    """The precisions of the graphs in a directory, the most precise first."""
    return [precision for precision, name in GRAPH_FILES.items() if (directory / name).is_file()]


def is_export(directory: Path) -> bool:
    """Whether a directory is one of `litebert export`, without weights for torch."""
    return bool(graph_precisions(directory)) and not any(
        path for pattern in WEIGHTS for path in directory.glob(pattern)
    )
