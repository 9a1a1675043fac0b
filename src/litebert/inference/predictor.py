"""`Predictor`: predictions of a model directory from Python."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import torch

from litebert.errors import ConfigError
from litebert.inference.embeddings.embedder import Embedder
from litebert.inference.embeddings.embedding_settings import DEFAULT_EMBEDDING, EmbeddingSettings
from litebert.inference.embeddings.exact_search import Hit, exact_search
from litebert.inference.fill_mask import DEFAULT_TOP_K, MASKED_LANGUAGE_MODELS, Candidate, FillMask
from litebert.inference.inference_model import resolve_precision
from litebert.inference.pipeline import Pipeline
from litebert.inference.sentence_order import order_probabilities
from litebert.model.io.hub import HubOptions
from litebert.model.io.model_directory import HUB, load_model
from litebert.model.io.model_spec import Pooling, read_model_spec
from litebert.model.io.resolve import local_model_directory
from litebert.model.models import ForPretraining
from litebert.settings import InferencePrecision, validate_not_given
from litebert.tasks.labelled_data import Example
from litebert.tasks.types.classification.classification import Classification
from litebert.tasks.types.extractive_qa.extractive_qa import NO_ANSWER
from litebert.tasks.types.extractive_qa.question_settings import NoAnswerThreshold, QuestionSettings
from litebert.tasks.types.extractive_qa.questions import Question
from litebert.tasks.types.extractive_qa.span_answers import Answer
from litebert.tasks.types.multi_label.multi_label import MultiLabelPrediction
from litebert.tasks.types.multiple_choice.multiple_choice import Choice, ChoiceExample
from litebert.tasks.types.task_type import Result
from litebert.tasks.types.token_classification.token_classification import TokenPrediction
from litebert.tasks.types.token_classification.token_examples import TokenExample
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

__all__ = ["Answer", "Candidate", "Choice", "Classification", "MultiLabelPrediction", "Predictor", "TokenPrediction"]

Text = str | tuple[str, str]
"""A text, or a text and its pair."""
Options = tuple[str, str | None, Sequence[str]]
"""A text, an optional question about it, and the options."""
FILL_MASK: Final = "fill_mask"
EMBEDDING: Final = "embedding"


class Predictor:
    """A loaded model; `task` decides which of its methods applies."""

    def __init__(self, backend: Pipeline | FillMask | Embedder, *, threshold: NoAnswerThreshold | None = None) -> None:
        self.backend = backend
        self.threshold = threshold
        """When a question has no answer; None for models that always answer."""
        self.task: str = _task(backend)
        """Name of the task type, or `fill_mask` or `embedding`."""

    @classmethod
    def load(
        cls,
        directory: Path | str,
        *,
        precision: InferencePrecision = "auto",
        threads: int | None = None,
        device: str = "cpu",
        threshold: float | None = None,
        hub: HubOptions = HUB,
    ) -> Self:
        """The model of a model or run directory, or of the hub.

        Args:
            directory: from `finetune` or `pretrain`; a string may be a name on the hub.
            precision: arithmetic of the model; `auto` measures the fastest one once, in a quarter of a second.
            threads: number of threads of torch, for the whole process.
            device: where the model runs.
            threshold: null score above which a question has no answer; None: the one chosen in fine-tuning.
            hub: options of the download.

        Raises:
            ConfigError: `threshold` does not apply to the model.
        """
        directory = local_model_directory(directory, hub=hub)
        spec = read_model_spec(directory)
        if threads is not None:
            torch.set_num_threads(threads)
        if spec.model in MASKED_LANGUAGE_MODELS:
            _validate_threshold({"threshold": threshold}, FILL_MASK)
            model = load_model(directory).to(device)
            backend = FillMask(
                model=model,
                tokenizer=Tokenizer.load(directory),
                max_length=spec.config.max_position_embeddings,
                precision=resolve_precision(precision, model),
            )
            return cls(backend)
        if spec.model == "SentenceEmbedder":
            _validate_threshold({"threshold": threshold}, EMBEDDING)
            model = load_model(directory).to(device)
            return cls(Embedder.of(model, Tokenizer.load(directory), precision=resolve_precision(precision, model)))
        pipeline = Pipeline.load(directory, device=device, precision=precision)
        if pipeline.task_type.name != NO_ANSWER:
            _validate_threshold({"threshold": threshold}, pipeline.task_type.name)
            return cls(pipeline)
        used = _threshold(pipeline.settings, threshold, directory)
        return cls(pipeline.with_threshold(used.value), threshold=used)

    @property
    def labels(self) -> tuple[str, ...]:
        """Label names in the order of the model; empty for task types without."""
        return self.backend.labels if isinstance(self.backend, Pipeline) else ()

    def fill_mask(self, text: str, *, top_k: int = DEFAULT_TOP_K) -> list[list[Candidate]]:
        """For each `[MASK]` of `text` the `top_k` best candidates, best first."""
        if not isinstance(self.backend, FillMask):
            raise self._wrong_method("fill_mask")
        (filled,) = self.backend.results([text], top_k=top_k)
        return [list(candidates) for candidates in filled.masks]

    def classify(self, texts: Sequence[Text]) -> list[Classification]:
        """The label of each text or pair of texts, with the probabilities of all labels."""
        return self._results("classify", _examples(texts))

    def classify_multi_label(self, texts: Sequence[Text]) -> list[MultiLabelPrediction]:
        """The labels of each text or pair of texts, which may have several or none."""
        return self._results("classify_multi_label", _examples(texts))

    def regress(self, texts: Sequence[Text]) -> list[float]:
        """The score of each text or pair of texts."""
        return [each.value for each in self._results("regress", _examples(texts))]

    def multiple_choice(self, questions: Sequence[Options]) -> list[Choice]:
        """The best option of each question; all have equally many."""
        examples = [
            ChoiceExample(text=text, question=question, options=tuple(options)) for text, question, options in questions
        ]
        if len({len(each.options) for each in examples}) > 1:
            raise ConfigError("questions: they have different numbers of options; predict them separately")
        return self._results("multiple_choice", examples)

    def classify_tokens(self, sentences: Sequence[Sequence[str]]) -> list[TokenPrediction]:
        """The label of each word of each sentence, which is a list of words."""
        if any(isinstance(words, str) for words in sentences):
            raise ConfigError("sentences: expected lists of words, found a text; split it into words")
        if not all(sentences):
            raise ConfigError("sentences: one of them has no words; remove it")
        return self._results("classify_tokens", [TokenExample(words=tuple(words)) for words in sentences])

    def answer(self, question: str, context: str) -> Answer:
        """The span of `context` that answers `question`; empty if the model predicts that there is none."""
        return self.answer_batch([(question, context)])[0]

    def answer_batch(self, questions: Sequence[tuple[str, str]]) -> list[Answer]:
        """The answer to each (question, context), faster than one by one."""
        examples = [
            Question(id=str(index), text=text, context=context) for index, (text, context) in enumerate(questions)
        ]
        return self._results("answer", examples)

    def embed(
        self,
        texts: Sequence[str],
        *,
        pooling: Pooling | None = None,
        normalize: bool = True,
        dimensions: int | None = None,
        max_length: int | None = None,
    ) -> np.ndarray:
        """Float32 [N, H]: the vector of each text, from the last hidden states of any model.

        Args:
            texts: N texts.
            pooling: `mean` of the hidden states, special tokens included, or that of the first token, `cls`; None: the
                pooling of the model, or `mean`.
            normalize: scale the vectors to length 1.
            dimensions: keep only the first dimensions; None: all.
            max_length: tokens after which a text is truncated; None: as many as the model has positions.

        Raises:
            DataError: a text has no token.
        """
        settings = EmbeddingSettings(pooling=pooling, normalize=normalize, dimensions=dimensions, max_length=max_length)
        return self.embedder(settings).embed(_texts(texts))

    def embedder(self, settings: EmbeddingSettings) -> Embedder:
        """The encoder of this model with settings for embeddings."""
        backend = self.backend
        return Embedder.of(backend.model, backend.tokenizer, settings, precision=backend.precision)

    def similarity(self, first: Sequence[str], second: Sequence[str]) -> np.ndarray:
        """Float32 [N, M]: the cosine of the vectors of each text of `first` and each of `second`."""
        return self.embed(first) @ self.embed(second).T

    def search(
        self,
        queries: Sequence[str],
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
        return exact_search(self.embedder(embedding).embed(_texts(queries)), vectors, top_k=top_k)

    def order(self, first: str, second: str) -> float:
        """The probability that the segment `first` comes before `second`, from a model pretrained with SOP."""
        return self.order_batch([(first, second)])[0]

    def order_batch(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """`order` of each (first, second), faster than one by one."""
        model = self.backend.model
        if not isinstance(model, ForPretraining):
            raise ConfigError(
                f"Predictor.order: a {type(model).__name__} has no sentence-pair head; give a model from "
                "`pretrain` with sampling.pairing=sop"
            )
        precision = self.backend.precision
        return order_probabilities(model, self.backend.tokenizer, pairs, precision=precision).tolist()

    def predict(self, examples: Sequence[Any]) -> list[Result]:
        """The results for examples of the task type, such as a task type of your own; texts for `fill_mask`."""
        if isinstance(self.backend, Embedder):
            raise self._wrong_method("predict")
        return list(self.backend.results(examples))

    def _results(self, method: str, examples: Sequence[Any]) -> list[Any]:
        if not isinstance(self.backend, Pipeline) or self.backend.task_type.card.method != method:
            raise self._wrong_method(method)
        return self.backend.results(examples)

    def _wrong_method(self, method: str) -> ConfigError:
        named = {FILL_MASK: "fill_mask", EMBEDDING: "embed"}
        fitting = self.backend.task_type.card.method if isinstance(self.backend, Pipeline) else named[self.task]
        return ConfigError(f"Predictor.{method}: the model's task is {self.task!r}; call {fitting!r}")


def _validate_threshold(given: dict[str, float | None], task: str) -> None:
    validate_not_given(given, f'a model for {task} never predicts "no answer"; remove this setting')


def _threshold(settings: Any, given: float | None, directory: Path) -> NoAnswerThreshold:
    questions: QuestionSettings = settings
    used = questions.threshold(given)
    if used.source == "default":
        advice = "; `litebert evaluate` on labelled questions finds the best one for --threshold"
        logger.warning("%s: no-answer threshold %s%s", directory, used.to_text(), advice)
    else:
        logger.info("%s: no-answer threshold %s", directory, used.to_text())
    return used


def _task(backend: Pipeline | FillMask | Embedder) -> str:
    if isinstance(backend, Pipeline):
        return backend.task_type.name
    return EMBEDDING if isinstance(backend, Embedder) else FILL_MASK


def _examples(texts: Sequence[Text]) -> list[Example]:
    pairs = [(text, None) if isinstance(text, str) else text for text in _texts(texts)]
    return [Example(text=text, text_pair=pair) for text, pair in pairs]


def _texts(texts: Sequence[Any]) -> Sequence[Any]:
    if isinstance(texts, str):
        raise ConfigError("texts: expected a list of texts, found one text; put it into a list")
    return texts
