"""`Predictor` of an exported model, with the methods and the answers of `litebert.Predictor`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Literal, Self, cast

import numpy as np

from litebert.errors import CheckpointError, ConfigError, NotFiniteError
from litebert.files import path_of
from litebert.inference.embeddings.text_embedder import limited
from litebert.inference.method_inputs import (
    validate_pairs,
    validate_positive,
    validate_single_texts,
    validate_threshold,
)
from litebert.inference.prediction_methods import (
    METHODS_WITHOUT_TASK_TYPE,
    EmbeddingOptions,
    PredictionMethods,
    validate_order_head,
)
from litebert.manifest import MANIFEST, verify_manifest
from litebert.runtime.export_metadata import GRAPH_FILES, graph_precisions
from litebert.runtime.exported_embedder import POOLINGS, ExportedEmbedder
from litebert.runtime.exported_tokenizer import load_tokenizer
from litebert.runtime.onnx_model import OnnxModel
from litebert.tasks.encoded import (
    Encoded,
    batches_by_length,
    encode_segments,
    pad,
    warn_empty,
)
from litebert.tasks.masked_text import DEFAULT_TOP_K, filled_masks, masked_feature
from litebert.tasks.results import FilledMasks, softmax
from litebert.tasks.task_inference import GraphOutputs, is_finite
from litebert.tasks.types.built_in_inference import BUILT_IN_INFERENCE
from litebert.tokenization.tokenizer import Tokenizer

if TYPE_CHECKING:
    from litebert.settings import InferencePrecision

TOKENS_PER_BATCH: Final = 2048
"""Padded tokens of a batch."""
LOGITS_PER_BATCH: Final = 16_000_000
"""Most logits of the vocabulary in memory, 64 MB, where the graph has that output."""
NEW_SETTINGS: Final = {"long_texts": "truncate"}
"""Settings of an export that was written before they existed."""


class Predictor(PredictionMethods):
    """An exported model; `task` decides which of its methods applies."""

    def __init__(self, model: OnnxModel, tokenizer: Tokenizer, *, place: str = "the exported model") -> None:
        self.model = model
        self.place = place
        """What messages call it: its directory, if it was loaded from one."""
        self.metadata = model.metadata
        self.tokenizer = tokenizer
        self.task: str = model.metadata.task
        """Name of the task type, or `fill_mask` or `embedding`."""

    @classmethod
    def load(
        cls,
        directory: Path | str,
        *,
        precision: str | None = None,
        threads: int | None = None,
        layers: int | None = None,
        threshold: float | None = None,
    ) -> Self:
        """The model of a directory from `litebert export`.

        Args:
            directory: the export directory.
            precision: `fp32` or `int8`; None: fp32 if the directory has it.
            threads: number of threads of onnxruntime; None: all cores.
            layers: run only the first layers, at most those of the model; None: all.
            threshold: null score above which a question has no answer; None: the one chosen in fine-tuning.

        Raises:
            CheckpointError: a file is missing, damaged or of another version.
            ConfigError: `layers` or `threshold` does not apply to the model.
        """
        validate_positive("threads", threads)
        validate_positive("layers", layers)
        validate_threshold(threshold)
        directory = path_of(directory)
        path = _graph_file(directory, precision)
        model = OnnxModel.load(path, threads=threads, layers=layers)
        _validate_graph(model, path)
        if (directory / MANIFEST).is_file():
            files = (path.relative_to(directory).as_posix(), model.metadata.vocabulary)
            verify_manifest(directory, only=files)
        depth = model.metadata.num_hidden_layers
        if layers is not None and layers > depth:
            raise ConfigError(f"layers: {layers}, expected 1 to {depth}, the layers of {directory}")
        if threshold is not None:
            if "no_answer_threshold" not in model.metadata.settings or model.metadata.task == "extractive_qa":
                raise ConfigError(f'threshold: a model for {model.metadata.task} never predicts "no answer"; remove it')
            model.metadata.settings["no_answer_threshold"] = threshold
        return cls(model, load_tokenizer(directory, model.metadata), place=str(directory))

    @property
    def labels(self) -> tuple[str, ...]:
        """Label names in the order of the model; empty for task types without."""
        return self.metadata.labels

    def results(self, method: str, examples: Sequence[Any]) -> list[Any]:
        """The results for examples of the task type; ConfigError unless `method` is that of the model's task."""
        inference = BUILT_IN_INFERENCE.get(self.task)
        if inference is None or inference.method != method:
            raise self._wrong_method(method)
        if not examples:
            return []
        settings = SimpleNamespace(**(NEW_SETTINGS | self.metadata.settings))
        encoded = inference.encode(examples, self.tokenizer, settings)
        warn_empty("texts", encoded.num_empty, rows=len(examples))
        outputs = self._finite_outputs(encoded, inference.graph)
        predictions = [inference.predict(each, settings, np.float32) for each in encoded.by_example(outputs)]
        pairs = zip(predictions, examples, strict=True)
        return [inference.decode(prediction, example, self.labels, settings) for prediction, example in pairs]

    def fill_masks(self, texts: Iterable[str], *, top_k: int = DEFAULT_TOP_K) -> list[FilledMasks]:
        """The `top_k` best candidates for each `[MASK]` of each text; DataError for a text without one or too long."""
        if self.task != "fill_mask":
            raise self._wrong_method("fill_mask")
        validate_positive("top_k", top_k)
        return [self._fill(text, top_k) for text in validate_single_texts(texts)]

    def _vectors(self, texts: Sequence[str], options: EmbeddingOptions) -> np.ndarray:
        return self.embedder(options).embed(texts)

    def embedder(self, options: EmbeddingOptions) -> ExportedEmbedder:
        """The encoder of this model with options of `embed`; ConfigError for options that it cannot have."""
        if self.metadata.model == "ForMultipleChoice":
            raise ConfigError(
                "Predictor.embed: the graph reads questions with options; export with as_model=SentenceEmbedder"
            )
        pooling, normalize, dimensions, max_length = options
        validate_positive("dimensions", dimensions)
        if pooling not in (None, *POOLINGS):
            raise ConfigError(f"pooling: {pooling!r}, expected one of {', '.join(POOLINGS)}")
        if max_length is not None and max_length < 3:
            raise ConfigError(f"max_length: {max_length}, expected at least 3, two of them special tokens")
        return ExportedEmbedder(
            outputs=self.outputs,
            tokenizer=self.tokenizer,
            pooling=cast("Literal['mean', 'cls']", pooling or self.metadata.pooling),
            normalize=normalize,
            dimensions=limited("dimensions", dimensions, self.model.size_of("last_hidden_state")),
            max_length=limited("max_length", max_length, self.metadata.max_length),
            precision=cast("InferencePrecision", self.metadata.precision),
            place=self.place,
        )

    def order_batch(self, pairs: Iterable[tuple[str, str]]) -> list[float]:
        """`order` of each (first, second), faster than one by one."""
        if self.metadata.model != "ForPretraining":
            raise ConfigError(
                f"Predictor.order: a {self.metadata.model} has no sentence-pair head; export a model from `pretrain`"
            )
        validate_order_head(self.metadata.pairing)
        listed = validate_pairs(pairs)
        encoded = encode_segments(listed, self.tokenizer, max_length=self.metadata.max_length)
        logits = self._finite_outputs(encoded, GraphOutputs(names=("sentence_pair_logits",)))
        return [float(softmax(each)[0]) for each in logits]

    def _fill(self, text: str, top_k: int) -> FilledMasks:
        feature = masked_feature(text, self.tokenizer, max_length=self.metadata.max_length)
        (logits,) = self.model.run(pad([feature], pad_id=self.tokenizer.pad_id)._asdict(), ("logits",))
        masks = feature.input_ids == self.tokenizer.mask_id
        if not np.isfinite(logits[0, masks]).all():
            raise NotFiniteError(self.place)
        return filled_masks(softmax(logits[0, masks, : self.tokenizer.vocab_size]), self.tokenizer, top_k=top_k)

    def _finite_outputs(self, encoded: Encoded, graph: GraphOutputs) -> list[Any]:
        outputs = self.outputs(encoded, graph)
        if not all(map(is_finite, outputs)):
            raise NotFiniteError(self.place)
        return outputs

    def outputs(self, encoded: Encoded, graph: GraphOutputs) -> list[Any]:
        """What `graph` reads of the outputs of the model, for each sequence."""
        found: list[Any] = [None] * len(encoded)
        budget = TOKENS_PER_BATCH
        if self.task == "fill_mask":
            budget = min(budget, LOGITS_PER_BATCH // self.tokenizer.vocab_size)
        for positions in batches_by_length(encoded.lengths, tokens_per_batch=budget):
            batch = encoded.arrays(positions)
            outputs = self.model.run(batch._asdict(), graph.names)
            for position, output in zip(positions, graph.by_sequence(outputs, batch), strict=True):
                found[position] = output
        return found

    @property
    def _own_method(self) -> str:
        if inference := BUILT_IN_INFERENCE.get(self.task):
            return inference.method
        return METHODS_WITHOUT_TASK_TYPE.get(self.task, "model.run")


def _validate_graph(model: OnnxModel, path: Path) -> None:
    """Raise CheckpointError unless the graph has the outputs, and the metadata the settings, of the task."""
    metadata, inference = model.metadata, BUILT_IN_INFERENCE.get(model.metadata.task)
    if inference is None:
        return
    absent = [*(set(inference.graph.names) - model.outputs), *(set(inference.settings) - metadata.settings.keys())]
    if not absent:
        logits = model.size_of("logits") if metadata.labels else 0
        absent = [] if logits == len(metadata.labels) else [f"label for each of {logits} logits"]
    if absent:
        raise CheckpointError(f"{path}: has no {', '.join(sorted(absent))}; export the model again")


def _graph_file(directory: Path, precision: str | None) -> Path:
    """The graph of a precision, or the most precise one."""
    if precision is not None and precision not in GRAPH_FILES:
        raise ConfigError(f"precision: {precision!r}, expected one of {', '.join(GRAPH_FILES)}")
    names = GRAPH_FILES.values() if precision is None else [GRAPH_FILES[precision]]
    for name in names:
        if (directory / name).is_file():
            return directory / name
    others = graph_precisions(directory)
    advice = f"choose {' or '.join(others)}, which it has" if others else "give a directory from `litebert export`"
    raise CheckpointError(f"{directory}: has no {' or '.join(names)}; {advice}")
