"""`Predictor`: predictions of a model directory from Python."""

import logging
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
import torch

from litebert.device import usable_device
from litebert.errors import ConfigError
from litebert.hub_download import HubOptions
from litebert.inference.backend import Backend
from litebert.inference.embeddings.embedder import Embedder
from litebert.inference.embeddings.embedding_settings import DEFAULT_EMBEDDING, EmbeddingSettings
from litebert.inference.embeddings.exact_search import Hit, exact_search
from litebert.inference.fill_mask import FillMask
from litebert.inference.inference_model import resolve_precision
from litebert.inference.method_inputs import (
    method_examples,
    validate_pairs,
    validate_positive,
    validate_single_texts,
    validate_texts,
    validate_threshold,
)
from litebert.inference.pipeline import Pipeline
from litebert.inference.prediction_methods import (
    EmbeddingOptions,
    PredictionMethods,
    validate_order_head,
)
from litebert.inference.pretraining_record import pretraining_record
from litebert.inference.sentence_likelihood import log_likelihoods, validate_causal_steps
from litebert.inference.sentence_order import order_probabilities
from litebert.inference.task_pipeline import validate_no_threshold
from litebert.inference.word_masking import Masking, Scoring
from litebert.model.encoder import Encoder, encoder_of
from litebert.model.io.hub import HUB, model_directory
from litebert.model.io.model_directory import load_model
from litebert.model.io.model_spec import MASKED_LANGUAGE_MODELS, read_model_spec
from litebert.model.models import ForMaskedLM, ForPretraining
from litebert.settings import InferencePrecision
from litebert.tasks.masked_text import DEFAULT_TOP_K
from litebert.tasks.readers.columns import SavedTask
from litebert.tasks.results import (
    Candidate,
    Choice,
    Classification,
    DecodedPrediction,
    FilledMasks,
    MultiLabelPrediction,
    TokenPrediction,
)
from litebert.tasks.types.extractive_qa.question_settings import NoAnswerThreshold
from litebert.tasks.types.extractive_qa.span_scores import Answer
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

__all__ = ["Answer", "Candidate", "Choice", "Classification", "MultiLabelPrediction", "Predictor", "TokenPrediction"]


class Predictor(PredictionMethods):
    """A loaded model; `task` decides which of its methods applies."""

    def __init__(
        self,
        model: Path | str,
        *,
        precision: InferencePrecision = "auto",
        threads: int | None = None,
        device: str | torch.device = "auto",
        layers: int | None = None,
        threshold: float | None = None,
        hub: HubOptions = HUB,
    ) -> None:
        """Load the model of a model or run directory, or of the hub.

        Args:
            model: directory from `finetune` or `pretrain`; a string may be a name on the hub.
            precision: arithmetic of the model; `auto` measures the fastest one once, in a quarter of a second.
            threads: number of threads of torch, for the whole process.
            device: where the model runs: `auto` (a CUDA device if there is one, but the processor for int8), `cpu`,
                `cuda` or `cuda:1`, or a `torch.device`.
            layers: run only the first layers, at most those of the model; None: all. For a model that was fine-tuned
                with `elastic_depth`.
            threshold: null score above which a question has no answer; None: the one chosen in fine-tuning.
            hub: options of the download.

        Raises:
            ConfigError: `layers` or `threshold` does not apply to the model, or torch does not find the device, or the
                device does not compute in `precision`.
        """
        usable = usable_device(device, precision)
        validate_positive("threads", threads)
        validate_positive("layers", layers)
        validate_threshold(threshold)
        directory = self._directory = model_directory(model, hub=hub)
        if threads is not None:
            torch.set_num_threads(threads)
        self.backend: Backend = _load_backend(directory, usable, precision)
        if layers is not None:
            _run_first_layers(encoder_of(self.backend.model), layers, directory)
        self.task: str = self.backend.task
        """Name of the task type, or `fill_mask` or `embedding`."""
        self.threshold: NoAnswerThreshold | None = None
        """When a question has no answer; None for models that always answer."""
        if isinstance(self.backend, Pipeline):
            self.backend, self.threshold = self.backend.with_threshold(threshold)
        else:
            validate_no_threshold(self.task, threshold)

    @classmethod
    def load(cls, model: Path | str, **options: Any) -> Self:
        """`Predictor(model, **options)`, for those who look for `load`, as `load_model` and `Tokenizer` have it."""
        return cls(model, **options)

    def __call__(self, inputs: Iterable[Any]) -> Any:
        """What the method of the task returns for `inputs`: `classify(texts)`, `answer_batch(questions)`, …

        A masked language model fills in the masks of each text; an embedding model returns vectors.
        """
        if isinstance(self.backend, FillMask):
            return [[list(candidates) for candidates in filled.masks] for filled in self.fill_masks(inputs)]
        method = self.backend.method
        return getattr(self, "answer_batch" if method == "answer" else method)(inputs)

    @property
    def precision(self) -> InferencePrecision:
        """The arithmetic of the model; never `auto`."""
        return self.backend.precision

    @property
    def labels(self) -> tuple[str, ...]:
        """Label names in the order of the model; empty for task types without."""
        return self.backend.labels

    def fill_masks(self, texts: Iterable[str], *, top_k: int = DEFAULT_TOP_K) -> list[FilledMasks]:
        """The `top_k` best candidates for each `[MASK]` of each text; DataError for a text without one or too long."""
        fill_mask = self._fill_mask("fill_mask")
        validate_positive("top_k", top_k)
        return fill_mask.results(validate_single_texts(texts), top_k=top_k)

    def log_likelihoods(
        self,
        sentences: Iterable[str],
        *,
        scoring: Scoring = "pseudo_log_likelihood",
        masking: Masking | None = None,
        temperature: float = 1.0,
    ) -> np.ndarray:
        """Float64 [N]: how likely a masked language model finds each sentence, a natural logarithm; higher is likelier.

        For sentences that compete with each other, such as the hypotheses of a speech recognizer or a text before and
        after a correction. It is a sum over tokens, so longer sentences have lower values.

        Args:
            sentences: N texts, each with at most as many tokens as the model reads.
            scoring: `pseudo_log_likelihood`, each token from all others, one forward pass for each; or `causal`, each
                token from those before it, one pass for the sentence, which only models pretrained with
                `sampling.causal_fraction` can do, such as those of the recipe `night`; `docs/results/night.md`
                compares both on BLiMP.
            masking: with `pseudo_log_likelihood`, which tokens of the own word are masked besides the predicted one:
                none (`token`, the default), those to the right (`word_left_to_right`) or all (`whole_word`, better for
                models that were pretrained on whole words).
            temperature: divides the logits; below 1 the distributions are sharper.

        Raises:
            ConfigError: the model is no masked language model, its directory records a pretraining without next tokens,
                or an argument is wrong.
            DataError: a sentence without tokens, or with more than the model reads.
        """
        fill_mask = self._fill_mask("log_likelihoods")
        if scoring not in get_args(Scoring):
            raise ConfigError(f"scoring: {scoring!r}, expected one of {', '.join(get_args(Scoring))}")
        if masking is not None and masking not in get_args(Masking):
            raise ConfigError(f"masking: {masking!r}, expected one of {', '.join(get_args(Masking))}")
        if not 0 < temperature < math.inf:
            raise ConfigError(f"temperature: {temperature}, expected a positive number")
        if scoring == "causal":
            if masking is not None:
                raise ConfigError("masking: with scoring='causal' nothing is masked; leave it out")
            validate_causal_steps(self._directory, pretraining_record(self._directory))
        return log_likelihoods(
            fill_mask.model,
            fill_mask.tokenizer,
            validate_single_texts(sentences, name="sentences"),
            masking=None if scoring == "causal" else masking or "token",
            temperature=temperature,
            precision=fill_mask.precision,
        )

    def _fill_mask(self, method: str) -> FillMask:
        """The masked language model; ConfigError for a model without, named by the `method` that needs it."""
        if isinstance(self.backend, FillMask):
            return self.backend
        raise self._wrong_method(method)

    def _vectors(self, texts: Sequence[str], options: EmbeddingOptions) -> np.ndarray:
        return self.embedder(EmbeddingSettings(**options._asdict())).embed(texts)

    def embedder(self, settings: EmbeddingSettings) -> Embedder:
        """The encoder of this model with settings for embeddings."""
        backend = self.backend
        options = {"precision": backend.precision, "place": backend.place}
        return Embedder.of(backend.model, backend.tokenizer, settings, **options)

    def search(
        self,
        queries: Iterable[str],
        vectors: np.ndarray,
        *,
        top_k: int = 10,
        embedding: EmbeddingSettings = DEFAULT_EMBEDDING,
    ) -> list[list[Hit]]:
        """For each query the `top_k` nearest rows of `vectors`, best first.

        Args:
            queries: texts.
            vectors: float32 [N, D] from `embed`.
            top_k: hits for each query; all N, if there are fewer.
            embedding: the settings with which `vectors` were made.
        """
        validate_positive("top_k", top_k)
        embedded = self.embedder(embedding).embed(validate_single_texts(queries, name="queries"))
        return exact_search(embedded, vectors, top_k=top_k)

    def order_batch(self, pairs: Iterable[tuple[str, str]]) -> list[float]:
        """`order` of each (first, second), faster than one by one."""
        model = self.backend.model
        if not isinstance(model, ForPretraining):
            raise ConfigError(
                f"Predictor.order: a {type(model).__name__} has no sentence-pair head; give a model from "
                "`pretrain` with sampling.pairing=sop"
            )
        validate_order_head(model.pairing)
        listed, precision = validate_pairs(pairs), self.backend.precision
        return order_probabilities(model, self.backend.tokenizer, listed, precision=precision).tolist()

    def predict(self, inputs: Iterable[Any]) -> list[DecodedPrediction]:
        """The results for the inputs of the task's method, such as texts, or for examples of its task type.

        They are of one kind for all task types: a regression gives a `Regression` where `regress` gives a number.
        """
        match self.backend:
            case Pipeline() as pipeline:
                return pipeline.results(method_examples(pipeline.method, validate_texts(inputs)))
            case FillMask() as fill_mask:
                return list(fill_mask.results(validate_single_texts(inputs)))
        raise self._wrong_method("predict")

    def results(self, method: str, examples: Sequence[Any]) -> list[Any]:
        """The results for examples of the task type; ConfigError unless `method` is that of the model's task."""
        if isinstance(self.backend, Pipeline) and self.backend.method == method:
            return self.backend.results(examples)
        raise self._wrong_method(method)

    @property
    def _own_method(self) -> str:
        return self.backend.method


def _run_first_layers(encoder: Encoder, layers: int, directory: Path) -> None:
    depth = encoder.config.num_hidden_layers
    if layers > depth:
        raise ConfigError(f"layers: {layers}, expected 1 to {depth}, the layers of {directory}")
    encoder.schedule = encoder.first_layers(layers)


def _load_backend(directory: Path, device: str, precision: InferencePrecision) -> Backend:
    """What computes the results: a task's pipeline, or a masked language model or an embedding model without a task."""
    spec = read_model_spec(directory)
    is_masked = spec.model in MASKED_LANGUAGE_MODELS and SavedTask.stored(directory) is None
    if not is_masked and spec.model != "SentenceEmbedder":
        return Pipeline.load(directory, device=device, precision=precision)
    model, tokenizer = load_model(directory).to(device), Tokenizer.load(directory)
    resolved, place = resolve_precision(precision, model), str(directory)
    if not is_masked:
        return Embedder.of(model, tokenizer, precision=resolved, place=place)
    assert isinstance(model, ForPretraining | ForMaskedLM)
    longest = spec.config.max_position_embeddings
    return FillMask(model=model, tokenizer=tokenizer, max_length=longest, precision=resolved, place=place)
