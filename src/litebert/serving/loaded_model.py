"""Loads what the server needs of a model directory, with the runtime of the settings."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from litebert.errors import CheckpointError
from litebert.manifest import content_digests
from litebert.runtime.export_metadata import GRAPH_FILES, graph_precisions, is_export
from litebert.serving.model_operations import READ_IN_WINDOWS, Operation
from litebert.serving.serve_settings import ServeSettings
from litebert.serving.served_tasks import SERVED_TASKS, Scorer

ONEDNN_CACHES: Final = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}
"""Environment variables of oneDNN and of torch's interface to it: most compiled products that they keep.

By default each keeps 1024, of up to 1 MB. Nearly every batch of a server has another number of tokens, so it would keep
that many, and find few of them again; the layers of one batch need eight.
"""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A predictor with what decides about its inputs."""

    predictor: Any
    tokenizer: Any
    max_length: int
    """Longest sequence of its task in tokens, as in fine-tuning; longer ones are truncated or read in windows."""
    max_position_embeddings: int
    """Longest text in tokens for its vectors, which are not those of the task."""
    embedding_size: int
    """Dimensions of its vectors; 0 for a model without."""
    pooling: str
    """How its vectors are made of its tokens by default: `mean` or `cls`."""
    digest: str
    """Of the files; models with equal files have equal ones."""
    precision: str
    """Its arithmetic; never `auto`."""
    reads_single_texts: bool = False
    """Whether it was trained on single texts; False where that is not known."""
    reads_long_texts: bool = False
    """Whether it was fine-tuned with `long_texts=windows`."""

    @property
    def task(self) -> str:
        """Name of the task type, `fill_mask` or `embedding`."""
        return self.predictor.task

    @property
    def labels(self) -> tuple[str, ...]:
        """Label names in the order of the model."""
        return tuple(self.predictor.labels)

    @property
    def scorer(self) -> Scorer | None:
        """How it scores texts; None for task types that do not."""
        served = SERVED_TASKS.get(self.task)
        return served.scorer if served else None

    def reads_windows(self, operation: Operation) -> bool:
        """Whether the texts of an operation may be longer than the model reads at once."""
        of_task = self.scorer is not None and operation.method == self.scorer.method
        return operation.method in READ_IN_WINDOWS or (of_task and self.reads_long_texts)

    @property
    def routes(self) -> tuple[str, ...]:
        """The routes that the model has."""
        served = SERVED_TASKS.get(self.task)
        own = [served.route] if served else []
        if self.scorer and len(self.labels) in self.scorer.rerank_labels and not self.reads_single_texts:
            own.append("/rerank")
        embeddings = ("/embed", "/similarity", "/v1/embeddings") if self.embedding_size else ()
        return (*own, *embeddings, "/tokenize")

    @property
    def queued_routes(self) -> tuple[str, ...]:
        """Those whose requests wait for the model."""
        return tuple(route for route in self.routes if route != "/tokenize")

    def try_out(self) -> None:
        """Run the model once, which also warms it up; CheckpointError for numbers that are not finite."""
        if served := SERVED_TASKS.get(self.task):
            served.operation(self.predictor, [served.example])
        if self.embedding_size and not np.isfinite(self.predictor.embed(["a"])).all():
            raise CheckpointError("the model computes numbers that are not finite; its weights are damaged")


def load(model: str, settings: ServeSettings) -> LoadedModel:
    """A model, after a trial run; CheckpointError if it cannot be loaded."""
    directory = find_directory(model, settings)
    digest = digest_of(directory)  # before the weights are read: a directory that changes meanwhile has another one
    loaded = _RUNTIMES[settings.runtime](directory, settings, digest=digest)
    loaded.try_out()
    return loaded


def find_directory(model: str, settings: ServeSettings) -> Path:
    """The directory of a model, from the hub if it is a name there; CheckpointError if the runtime cannot load it."""
    if settings.runtime == "onnx":
        directory = Path(model)
        if not graph_precisions(directory):
            raise CheckpointError(
                f"{directory}: no {' or '.join(GRAPH_FILES.values())}; give a directory of `litebert export`, or serve "
                "a model or run directory without --runtime onnx"
            )
        return directory
    from litebert.model.io.hub import model_directory

    directory = model_directory(model)
    if not (directory / "config.json").is_file():
        raise CheckpointError(f"{directory}: no model directory, as it has no config.json; give a model or a run")
    if is_export(directory):
        raise CheckpointError(f"{directory}: a directory of `litebert export`; serve it with --runtime onnx")
    return directory


def digest_of(directory: Path) -> str:
    """The first digits of the SHA-256 of the checksums of every file."""
    return hashlib.sha256(repr(sorted(content_digests(directory).items())).encode()).hexdigest()[:12]


def _load_torch(directory: Path, settings: ServeSettings, *, digest: str) -> LoadedModel:
    from litebert.inference.embeddings.embedding_settings import DEFAULT_EMBEDDING
    from litebert.inference.predictor import Predictor

    for name, capacity in ONEDNN_CACHES.items():
        os.environ.setdefault(name, capacity)  # both are read at the first product
    predictor = Predictor.load(
        directory, precision=settings.precision or "fp32", device=settings.device, threads=settings.threads
    )
    backend = predictor.backend
    embedder = predictor.embedder(DEFAULT_EMBEDDING)
    return LoadedModel(
        predictor,
        backend.tokenizer,
        max_length=backend.max_length,
        max_position_embeddings=embedder.max_length,
        embedding_size=embedder.dimensions,
        pooling=embedder.pooling,
        digest=digest,
        precision=predictor.precision,
        reads_single_texts=backend.reads_single_texts,
        reads_long_texts=backend.reads_long_texts,
    )


def _load_onnx(directory: Path, settings: ServeSettings, *, digest: str) -> LoadedModel:
    from litebert.runtime import Predictor

    precision = None if settings.precision == "auto" else settings.precision
    predictor = Predictor.load(directory, precision=precision, threads=settings.threads)
    served = SERVED_TASKS.get(predictor.task)
    reads_long_texts = predictor.metadata.settings.get("long_texts") == "windows"
    return LoadedModel(
        predictor,
        predictor.tokenizer,
        max_length=predictor.metadata.settings.get("max_length", predictor.metadata.max_length),
        max_position_embeddings=predictor.metadata.max_length,
        embedding_size=0 if served and not served.has_embeddings else predictor.embed(["a"]).shape[1],
        pooling=predictor.metadata.pooling,
        digest=digest,
        precision=precision or graph_precisions(directory)[0],
        reads_single_texts=predictor.metadata.reads_single_texts or reads_long_texts,
        reads_long_texts=reads_long_texts,
    )


_RUNTIMES: Final[dict[str, Callable[..., LoadedModel]]] = {"torch": _load_torch, "onnx": _load_onnx}
