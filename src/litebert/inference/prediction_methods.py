"""The methods of both `Predictor`s, of torch and of `litebert.runtime`. Importing it loads no torch."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from litebert.errors import ConfigError
from litebert.inference.method_inputs import EXAMPLES, Options, Sentence, Text, validate_single_texts
from litebert.tasks.masked_text import DEFAULT_TOP_K
from litebert.tasks.results import Candidate, Choice, Classification, FilledMasks, MultiLabelPrediction, TokenPrediction
from litebert.tasks.types.built_in_inference import BUILT_IN_INFERENCE
from litebert.tasks.types.extractive_qa.span_scores import Answer
from litebert.tasks.types.multiple_choice.choice_examples import MAX_ANSWER_LENGTH as MAX_ANSWER_LENGTH
from litebert.tasks.types.multiple_choice.choice_examples import fill_blank

METHODS_WITHOUT_TASK_TYPE: Final = {"fill_mask": "fill_mask", "embedding": "embed"}


def choice_texts(text: str, question: str | None, options: Sequence[str]) -> list[tuple[str, str]]:
    """The two texts that the model reads for each option; of the second at most `MAX_ANSWER_LENGTH` tokens."""
    return [(text, fill_blank(question, option)) for option in options]


class EmbeddingOptions(NamedTuple):
    """The options of `embed`; those of `EmbeddingSettings`, without pydantic."""

    pooling: Literal["mean", "cls"] | None
    normalize: bool
    dimensions: int | None
    max_length: int | None


class PredictionMethods(ABC):
    """Python values in, results out; `results` and the abstract methods run the model."""

    task: str
    """Name of the task type, or `fill_mask` or `embedding`."""

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """Label names in the order of the model; empty for task types without."""

    @property
    @abstractmethod
    def _own_method(self) -> str:
        """Name of the method of the model's task."""

    def _wrong_method(self, method: str) -> ConfigError:
        """The error of a method that is not that of the model's task; it names the one to call."""
        return ConfigError(f"Predictor.{method}: the model's task is {self.task!r}; call {self._own_method!r}")

    @abstractmethod
    def results(self, method: str, examples: Sequence[Any]) -> list[Any]:
        """The results for examples of the task type; ConfigError unless `method` is that of the model's task."""

    @abstractmethod
    def fill_masks(self, texts: Iterable[str], *, top_k: int = DEFAULT_TOP_K) -> list[FilledMasks]:
        """The `top_k` best candidates for each `[MASK]` of each text; DataError for a text without one or too long."""

    @abstractmethod
    def _vectors(self, texts: Sequence[str], options: EmbeddingOptions) -> np.ndarray:
        """The result of `embed`."""

    @abstractmethod
    def order_batch(self, pairs: Iterable[tuple[str, str]]) -> list[float]:
        """`order` of each (first, second), faster than one by one."""

    def embed(
        self,
        texts: Iterable[str],
        *,
        pooling: Literal["mean", "cls"] | None = None,
        normalize: bool = True,
        dimensions: int | None = None,
        max_length: int | None = None,
    ) -> np.ndarray:
        """Float32 [N, H]: the vector of each text, from the last hidden states of any model.

        Args:
            texts: N texts.
            pooling: `mean` of the hidden states, special tokens included, or that of the first token, `cls`; None: that
                of a `SentenceEmbedder`, otherwise `mean`.
            normalize: scale the vectors to length 1.
            dimensions: keep only the first dimensions; None: all.
            max_length: tokens after which a text is truncated; None: as many as the model has positions.
        """
        return self._vectors(validate_single_texts(texts), EmbeddingOptions(pooling, normalize, dimensions, max_length))

    def fill_mask(self, text: str, *, top_k: int = DEFAULT_TOP_K) -> list[list[Candidate]]:
        """For each `[MASK]` of `text` the `top_k` (at least 1) best candidates, best first."""
        if not isinstance(text, str):
            raise ConfigError(f"fill_mask: expected one text, found {text!r:.60}; fill_masks takes a list of texts")
        (filled,) = self.fill_masks([text], top_k=top_k)
        return [list(candidates) for candidates in filled.masks]

    def classify(self, texts: Iterable[Text]) -> list[Classification]:
        """The label of each text or pair of texts, with the probabilities of all labels."""
        return self._examples_results("classify", texts)

    def classify_multi_label(self, texts: Iterable[Text]) -> list[MultiLabelPrediction]:
        """The labels of each text or pair of texts, which may have several or none."""
        return self._examples_results("classify_multi_label", texts)

    def probabilities(self, texts: Iterable[Text]) -> np.ndarray:
        """Float32 [N, C]: the probability of each label for each text or pair, in the order of `labels`.

        Of models for classification, where each row sums to 1, and for multi-label classification, where it does not.
        """
        inference = BUILT_IN_INFERENCE.get(self.task)
        if inference is None or not inference.has_label_probabilities:
            raise self._wrong_method("probabilities")
        results = self._examples_results(inference.method, texts)
        rows = [list(each.probabilities.values()) for each in results]
        return np.array(rows, np.float32).reshape(len(rows), len(self.labels))

    def regress(self, texts: Iterable[Text]) -> list[float]:
        """The score of each text or pair of texts."""
        return [each.value for each in self._examples_results("regress", texts)]

    def multiple_choice(self, questions: Iterable[Options]) -> list[Choice]:
        """The best option of each question; all have equally many."""
        return self._examples_results("multiple_choice", questions)

    def classify_tokens(self, sentences: Iterable[Sentence]) -> list[TokenPrediction]:
        """The labels of the words of each sentence, and the entities that they mark, with their probabilities.

        A sentence is a running text of any length, whose punctuation becomes words of its own, or a list of words.
        `sentence[entity.start:entity.end]` is the entity in both. An empty text has no words and no entities.
        """
        return self._examples_results("classify_tokens", sentences)

    def resolve_pronouns(self, pairs: Iterable[tuple[str, str]]) -> list[Classification]:
        """For each text and its repetition with a phrase instead of the pronoun: 1 if the pronoun means the phrase."""
        return self._examples_results("resolve_pronouns", pairs)

    def answer(self, question: str, context: str) -> Answer:
        """The span of `context` that answers `question`; empty if the model predicts that there is none."""
        return self.answer_batch([(question, context)])[0]

    def answer_batch(self, questions: Iterable[tuple[str, str]]) -> list[Answer]:
        """The answer to each (question, context), faster than one by one."""
        return self._examples_results("answer", questions)

    def similarity(self, first: Iterable[str], second: Iterable[str]) -> np.ndarray:
        """Float32 [N, M]: the cosine of the vectors of each text of `first` and each of `second`."""
        return self.embed(first) @ self.embed(second).T

    def order(self, first: str, second: str) -> float:
        """The probability that the segment `first` comes before `second`, from a model pretrained with SOP."""
        return self.order_batch([(first, second)])[0]

    def _examples_results(self, method: str, inputs: Iterable[Any]) -> list[Any]:
        return self.results(method, EXAMPLES[method](inputs))


def validate_order_head(pairing: str | None) -> None:
    """Raise ConfigError for a sentence-pair head that was trained on something else than SOP.

    Without a record it is that of SOP, as in the released models of ALBERT.
    """
    if pairing not in ("sop", None):
        trained = "not trained" if pairing == "none" else "trained on next-sentence prediction"
        raise ConfigError(
            f"Predictor.order: the sentence-pair head of this model was {trained} (sampling.pairing={pairing}); give a "
            "model from `pretrain` with sampling.pairing=sop"
        )


def unit_length(vectors: np.ndarray) -> np.ndarray:
    """Float32 [N, D]: each row divided by its Euclidean norm; zeros stay zeros."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(norms, np.finfo(np.float32).tiny)
