"""`OnnxModel`: an exported graph in onnxruntime, arrays in and arrays out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from litebert.errors import CheckpointError, import_extra
from litebert.runtime.export_metadata import KEY, ExportMetadata

ERRORS_ONLY = 3
"""Severity of onnxruntime's messages."""


class OnnxModel:
    """A loaded graph. Safe to share between threads."""

    def __init__(self, session: Any, *, where: str, layers: int | None = None) -> None:
        self._session = session
        self.metadata = ExportMetadata.from_json(
            session.get_modelmeta().custom_metadata_map.get(KEY),
            where=where,
        )
        self._shapes = {each.name: each.shape for each in session.get_outputs()}
        self.layers = layers
        """Layers to run; None: all."""

    @classmethod
    def load(cls, source: Path | bytes, *, threads: int | None = None, layers: int | None = None) -> Self:
        """The graph in a file or in memory; CheckpointError if it is damaged or not from `litebert export`."""
        where = "graph" if isinstance(source, bytes) else str(source)
        session = open_session(source, threads=threads, where=where)
        return cls(session, where=where, layers=layers)

    @property
    def outputs(self) -> set[str]:
        """Names of the outputs."""
        return set(self._shapes)

    def size_of(self, output: str) -> int:
        """The size of the last axis of an output: its logits, or dimensions."""
        return self._shapes[output][-1]

    def run(self, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]) -> list[np.ndarray]:
        """The named outputs for `input_ids`, `attention_mask` and `token_type_ids`."""
        return run_session(self._session, inputs, outputs, layers=self.layers)


def open_session(source: Path | bytes, *, threads: int | None = None, where: str) -> Any:
    """An onnxruntime session on the CPU."""
    onnxruntime = import_extra("onnxruntime", extra="runtime", needed_for="an exported model")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = ERRORS_ONLY
    options.intra_op_num_threads = threads or 0
    try:
        content = source if isinstance(source, bytes) else source.read_bytes()
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except OSError as error:
        raise CheckpointError(f"{where}: cannot be read ({error.strerror}); check the path") from None
    except Exception as error:  # onnxruntime's exceptions have no common base class
        reason = str(error).splitlines()[0]
        raise CheckpointError(f"{where}: onnxruntime cannot load it ({reason}); export the model again") from None


def run_session(
    session: Any, inputs: Mapping[str, np.ndarray], outputs: Sequence[str], *, layers: int | None = None
) -> list[np.ndarray]:
    """The named outputs of a session; integers and booleans are given as Int64."""
    feed = {name: np.ascontiguousarray(value, dtype=np.int64) for name, value in inputs.items()}
    if layers is not None:
        feed["num_hidden_layers"] = np.array(layers, dtype=np.int64)
    return session.run(list(outputs), feed)
