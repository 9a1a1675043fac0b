"""The methods of both `Predictor`s, of torch and of `litebert.runtime`. Importing it loads no torch."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from litebert.errors import ConfigError
from litebert.tasks.labelled_data import Example
from litebert.tasks.masked_text import DEFAULT_TOP_K
from litebert.tasks.questions import Question
from litebert.tasks.results import Candidate, Choice, Classification, FilledMasks, MultiLabelPrediction, TokenPrediction
from litebert.tasks.types.extractive_qa.span_scores import Answer
from litebert.tasks.types.multiple_choice.choice_examples import MAX_ANSWER_LENGTH as MAX_ANSWER_LENGTH
from litebert.tasks.types.multiple_choice.choice_examples import ChoiceExample, fill_blank
from litebert.tasks.types.pronoun_resolution.pronoun_examples import pronoun_examples
from litebert.tasks.types.token_classification.token_examples import TokenExample

Text = str | tuple[str, str]
"""A text, or a text and its pair."""
Options = tuple[str, str | None, Sequence[str]]
"""A text, an optional question about it, and the options."""


def choice_texts(text: str, question: str | None, options: Sequence[str]) -> list[tuple[str, str]]:
    """The two texts that the model reads for each option; of the second at most `MAX_ANSWER_LENGTH` tokens."""
    return [(text, fill_blank(question, option)) for option in options]


class PredictionMethods(ABC):
    """Python values in, results out; `results` and the abstract methods run the model."""

    @abstractmethod
    def results(self, method: str, examples: Sequence[Any]) -> list[Any]:
        """The results for examples of the task type; ConfigError unless `method` is that of the model's task."""

    @abstractmethod
    def fill_masks(self, texts: Sequence[str], *, top_k: int = DEFAULT_TOP_K) -> list[FilledMasks]:
        """The `top_k` best candidates for each `[MASK]` of each text; DataError for a text without one or too long."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Float32 [N, H]: the vector of each text, of length 1."""

    @abstractmethod
    def order_batch(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """`order` of each (first, second), faster than one by one."""

    def fill_mask(self, text: str, *, top_k: int = DEFAULT_TOP_K) -> list[list[Candidate]]:
        """For each `[MASK]` of `text` the `top_k` (at least 1) best candidates, best first."""
        validate_positive("top_k", top_k)
        (filled,) = self.fill_masks([text], top_k=top_k)
        return [list(candidates) for candidates in filled.masks]

    def classify(self, texts: Sequence[Text]) -> list[Classification]:
        """The label of each text or pair of texts, with the probabilities of all labels."""
        return self.results("classify", _examples(texts))

    def classify_multi_label(self, texts: Sequence[Text]) -> list[MultiLabelPrediction]:
        """The labels of each text or pair of texts, which may have several or none."""
        return self.results("classify_multi_label", _examples(texts))

    def regress(self, texts: Sequence[Text]) -> list[float]:
        """The score of each text or pair of texts."""
        return [each.value for each in self.results("regress", _examples(texts))]

    def multiple_choice(self, questions: Sequence[Options]) -> list[Choice]:
        """The best option of each question; all have equally many."""
        examples = [
            ChoiceExample(text=text, question=question, options=tuple(options)) for text, question, options in questions
        ]
        if not all(each.options for each in examples):
            raise ConfigError("questions: one of them has no options; remove it")
        if len({len(each.options) for each in examples}) > 1:
            raise ConfigError("questions: they have different numbers of options; predict them separately")
        return self.results("multiple_choice", examples)

    def classify_tokens(self, sentences: Sequence[Sequence[str]]) -> list[TokenPrediction]:
        """The label of each word of each sentence, which is a list of words."""
        if any(isinstance(words, str) for words in sentences):
            raise ConfigError("sentences: expected lists of words, found a text; split it into words")
        if not all(sentences):
            raise ConfigError("sentences: one of them has no words; remove it")
        if not all(isinstance(word, str) for words in sentences for word in words):
            raise ConfigError("sentences: expected lists of words, found something else in a list")
        return self.results("classify_tokens", [TokenExample(words=tuple(words)) for words in sentences])

    def resolve_pronouns(self, pairs: Sequence[tuple[str, str]]) -> list[Classification]:
        """For each text and its repetition with a phrase instead of the pronoun: 1 if the pronoun means the phrase."""
        return self.results("resolve_pronouns", pronoun_examples(_examples(pairs)))

    def answer(self, question: str, context: str) -> Answer:
        """The span of `context` that answers `question`; empty if the model predicts that there is none."""
        return self.answer_batch([(question, context)])[0]

    def answer_batch(self, questions: Sequence[tuple[str, str]]) -> list[Answer]:
        """The answer to each (question, context), faster than one by one."""
        examples = [
            Question(id=str(index), text=text, context=context)
            for index, (text, context) in enumerate(validate_pairs(questions))
        ]
        return self.results("answer", examples)

    def similarity(self, first: Sequence[str], second: Sequence[str]) -> np.ndarray:
        """Float32 [N, M]: the cosine of the vectors of each text of `first` and each of `second`."""
        return self.embed(first) @ self.embed(second).T

    def order(self, first: str, second: str) -> float:
        """The probability that the segment `first` comes before `second`, from a model pretrained with SOP."""
        return self.order_batch([(first, second)])[0]


def validate_positive(name: str, value: int | None) -> None:
    """Raise ConfigError for an argument below 1; None is none."""
    if value is not None and value < 1:
        raise ConfigError(f"{name}: {value}, expected 1 or more")


def validate_texts(texts: Sequence[Any], *, name: str = "texts") -> Sequence[Any]:
    """`texts`, of the argument `name`; ConfigError for a single text."""
    if isinstance(texts, str):
        raise ConfigError(f"{name}: expected a list of texts, found one text; put it into a list")
    return texts


def validate_single_texts(texts: Sequence[Any], *, name: str = "texts") -> Sequence[str]:
    """`texts`, of the argument `name`; ConfigError unless each is a text, not a pair."""
    for number, text in enumerate(validate_texts(texts, name=name)):
        if not isinstance(text, str):
            raise ConfigError(f"{name}[{number}]: expected a text, found {text!r:.80}")
    return texts


def validate_pairs(pairs: Sequence[Any]) -> Sequence[tuple[str, str]]:
    """`pairs`; ConfigError unless each is two texts."""
    for number, pair in enumerate(validate_texts(pairs)):
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise ConfigError(f"pairs[{number}]: expected two texts, found {pair!r:.80}")
    return pairs


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


def _examples(texts: Sequence[Text]) -> list[Example]:
    for number, text in enumerate(validate_texts(texts)):
        parts = (text,) if isinstance(text, str) else text
        if not isinstance(parts, tuple | list) or len(parts) > 2 or not all(isinstance(part, str) for part in parts):
            raise ConfigError(f"texts[{number}]: expected a text or a pair of texts, found {text!r:.80}")
    pairs = [(text, None) if isinstance(text, str) else text for text in texts]
    return [Example(text=text, text_pair=pair) for text, pair in pairs]
