"""`Predictor`: predictions of a model directory from Python."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self

import torch

from litebert.errors import ConfigError
from litebert.inference.fill_mask import DEFAULT_TOP_K, MASKED_LANGUAGE_MODELS, Candidate, FillMask
from litebert.inference.pipeline import Pipeline
from litebert.model.io.model_directory import load_model
from litebert.model.io.model_spec import read_model_spec
from litebert.model.io.resolve import resolve_model_directory
from litebert.settings import Precision, validate_not_given
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


class Predictor:
    """A loaded model; `task` decides which of its methods applies."""

    def __init__(self, backend: Pipeline | FillMask, *, threshold: NoAnswerThreshold | None = None) -> None:
        self.backend = backend
        self.threshold = threshold
        """When a question has no answer; None for models that always answer."""
        self.task: str = backend.task_type.name if isinstance(backend, Pipeline) else FILL_MASK
        """Name of the task type, or `fill_mask`."""

    @classmethod
    def load(
        cls,
        directory: Path | str,
        *,
        precision: Precision = "fp32",
        threads: int | None = None,
        device: str = "cpu",
        threshold: float | None = None,
    ) -> Self:
        """The model of a model or run directory.

        Args:
            directory: from `finetune` or `pretrain`.
            precision: arithmetic of the model.
            threads: number of threads of torch, for the whole process.
            device: where the model runs.
            threshold: null score above which a question has no answer; None: the one chosen in fine-tuning.

        Raises:
            ConfigError: the model has no head for predictions, or `threshold` does not apply to it.
        """
        directory = resolve_model_directory(directory)
        spec = read_model_spec(directory)
        if threads is not None:
            torch.set_num_threads(threads)
        if spec.model in MASKED_LANGUAGE_MODELS:
            _validate_threshold({"threshold": threshold}, FILL_MASK)
            backend = FillMask(
                model=load_model(directory, as_model="ForMaskedLM").to(device),
                tokenizer=Tokenizer.load(directory),
                max_length=spec.config.max_position_embeddings,
                precision=precision,
            )
            return cls(backend)
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

    def predict(self, examples: Sequence[Any]) -> list[Result]:
        """The results for examples of the task type, such as a task type of your own; texts for `fill_mask`."""
        return list(self.backend.results(examples))

    def _results(self, method: str, examples: Sequence[Any]) -> list[Any]:
        if not isinstance(self.backend, Pipeline) or self.backend.task_type.card.method != method:
            raise self._wrong_method(method)
        return self.backend.results(examples)

    def _wrong_method(self, method: str) -> ConfigError:
        fitting = self.backend.task_type.card.method if isinstance(self.backend, Pipeline) else FILL_MASK
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


def _examples(texts: Sequence[Text]) -> list[Example]:
    if isinstance(texts, str):
        raise ConfigError("texts: expected a list of texts, found one text; put it into a list")
    pairs = [(text, None) if isinstance(text, str) else text for text in texts]
    return [Example(text=text, text_pair=pair) for text, pair in pairs]
