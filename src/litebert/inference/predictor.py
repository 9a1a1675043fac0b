"""Texts in, answers out. Before: a model directory. After: `runs.predict`, a server, your program."""

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, Literal, Self

import numpy as np
import torch
from torch import nn

from litebert.errors import ConfigError, DataError
from litebert.inference.batching import outputs_of
from litebert.inference.prediction_types import (
    Answer,
    Candidate,
    Choice,
    Classification,
    MultiLabelPrediction,
    TokenPrediction,
)
from litebert.model.io.model_directory import load_model
from litebert.model.io.model_spec import ModelName, ModelSpec, read_model_spec
from litebert.settings import Precision, validate_not_given
from litebert.tasks.encoded import Encoded
from litebert.tasks.features import Feature, pad
from litebert.tasks.labelled_data import ChoiceExample, Example, TaggedExample
from litebert.tasks.task_type import Kind
from litebert.tasks.types.predictions import softmax
from litebert.tasks.types.question_settings import Threshold, stored_settings
from litebert.tasks.types.questions import Question
from litebert.tasks.types.registry import KINDS, Encode, encode_for, kind_of
from litebert.tasks.types.span_answers import QuestionAnswers
from litebert.tasks.types.span_evaluation import answers_with
from litebert.tasks.types.span_features import EncodedQuestions
from litebert.tasks.types.token_classification import TokenSequences
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

__all__ = ["Answer", "Candidate", "Choice", "Classification", "MultiLabelPrediction", "Predictor", "TokenPrediction"]

Answers = Literal["fill_mask", "classify", "label", "score", "choose", "tag", "answer"]
Text = str | tuple[str, str]
"""A text, or a text and its pair."""
Options = tuple[str, str | None, Sequence[str]]
"""A text, perhaps a question about it, and the options."""

MASK: Final = "[MASK]"
_METHODS: Final[dict[Kind, Answers]] = {
    "classification": "classify",
    "regression": "score",
    "multi_label": "label",
    "multiple_choice": "choose",
    "tokens": "tag",
    "spans": "answer",
    "answerability": "answer",
}


class Predictor:
    """A loaded model that answers; `answers` names the one method that fits it."""

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        description: ModelSpec,
        *,
        precision: Precision = "fp32",
        encode: Encode | None = None,
        threshold: Threshold | None = None,
    ) -> None:
        self.description = description
        self.threshold = threshold
        """When there is no answer; None where the model never says so."""
        self.answers: Answers = _answers(description)
        self._model = model.eval()
        self._tokenizer = tokenizer
        self._device = next(model.parameters()).device
        self._precision: Precision = precision
        self._encode_as = encode

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
        """A model directory, ready.

        Args:
            directory: of a model from `finetune` or pretraining.
            precision: arithmetic of the model.
            threads: how many threads torch uses, in this whole process.
            device: where the model computes.
            threshold: null score above which a question has no answer; None takes the one kept with the model.

        Raises ConfigError when the model has no head that answers, or a threshold that it does not use.
        """
        directory = Path(directory)
        description = read_model_spec(directory)
        _answers(description)
        limit = _threshold(directory, description, threshold)
        if threads is not None:
            torch.set_num_threads(threads)
        # The head that orders sentences is of no use here.
        as_model: ModelName | None = "ForMaskedLM" if description.model == "ForPretraining" else None
        model = load_model(directory, as_model=as_model).to(device)
        method = _answers(description)
        encode = None if method == "fill_mask" else encode_for(directory, kind_of(description, where=str(directory)))
        return cls(model, Tokenizer.load(directory), description, precision=precision, encode=encode, threshold=limit)

    def fill_mask(self, text: str, *, top_k: int = 5) -> list[list[Candidate]]:
        """For each `[MASK]` of `text`, its `top_k` best fillings, best first; DataError without one or if too long."""
        self._require("fill_mask")
        feature = self._masked_feature(text)
        (positions,) = np.nonzero(feature.input_ids == self._tokenizer.mask_id)
        inputs = pad([feature], pad_id=self._tokenizer.pad_id).to(self._device)
        where = torch.from_numpy(positions).to(self._device)
        with torch.inference_mode(), self._autocast():
            output = self._model(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids, where)
        best = output.mlm_logits.float().softmax(-1).topk(min(top_k, self._tokenizer.vocab_size))
        return [
            [Candidate(self._tokenizer.id_to_piece(piece), value) for piece, value in zip(pieces, values, strict=True)]
            for pieces, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]

    def classify(self, texts: Sequence[Text]) -> list[Classification]:
        """The label of each text (or pair of texts), with the probabilities of all labels."""
        self._require("classify")
        outputs = self._outputs(_examples(texts))
        return [Classification.of(softmax(logits).tolist(), self.description.labels) for logits in outputs]

    def label(self, texts: Sequence[Text]) -> list[MultiLabelPrediction]:
        """The labels of each text (or pair of texts), where a text may have several."""
        self._require("label")
        return [MultiLabelPrediction.of(logits, self.description.labels) for logits in self._outputs(_examples(texts))]

    def score(self, texts: Sequence[Text]) -> list[float]:
        """The score that a regression gives each text (or pair of texts)."""
        self._require("score")
        return [float(logits[0]) for logits in self._outputs(_examples(texts))]

    def choose(self, questions: Sequence[Options]) -> list[Choice]:
        """The best option of each question; all have equally many."""
        self._require("choose")
        examples = [ChoiceExample(text, question, tuple(options), None) for text, question, options in questions]
        if len({len(each.options) for each in examples}) > 1:
            raise ConfigError("questions: some have more options than others; ask them apart")
        return [
            Choice(int(given.argmax()), float(given.max()), tuple(given.tolist()))
            for given in map(softmax, self._outputs(examples))
        ]

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[TokenPrediction]:
        """The tag of each word of each sentence, which is a list of words."""
        self._require("tag")
        if any(isinstance(words, str) for words in sentences):
            raise ConfigError("sentences: expected lists of words, found a text; split it into words")
        if not all(sentences):
            raise ConfigError("sentences: one of them has no words; leave it out")
        encoded = self._encode([TaggedExample(tuple(words), None) for words in sentences])
        assert isinstance(encoded, TokenSequences), encoded
        given = encoded.by_example(self._through_model(encoded))
        labels = self.description.labels
        return [TokenPrediction.of(words, logits, labels) for words, logits in zip(sentences, given, strict=True)]

    def answer(self, question: str, context: str) -> Answer:
        """The words of `context` that answer `question`, with their place in it; none if the model says so."""
        return self.answer_batch([(question, context)])[0]

    def answer_batch(self, questions: Sequence[tuple[str, str]]) -> list[Answer]:
        """The answer to each (question, context), faster than one by one."""
        examples = [Question(str(index), text, context, ()) for index, (text, context) in enumerate(questions)]
        found, threshold = self.question_answers(examples)
        return [Answer.of(each, threshold=threshold) for each in found]

    def question_answers(self, questions: Sequence[Question]) -> tuple[list[QuestionAnswers], float]:
        """All that is known of the answer to each question, and the null score above which there is none."""
        self._require("answer")
        encoded = self._encode(questions)
        assert isinstance(encoded, EncodedQuestions), encoded
        found = answers_with(encoded, self._through_model(encoded), beams=self._kind == "answerability")
        return found, self.threshold.value if self.threshold else 0.0

    def _outputs(self, examples: Sequence[Any]) -> list[np.ndarray]:
        """Logits of each example."""
        return self._through_model(self._encode(examples)) if examples else []

    def _encode(self, examples: Sequence[Any]) -> Encoded:
        encode = self._encode_as or KINDS[self._kind].encode
        return encode(examples, self._tokenizer, max_length=self._max_length)

    def _through_model(self, encoded: Encoded) -> list[np.ndarray]:
        with self._autocast():
            return outputs_of(self._model, encoded, KINDS[self._kind].outputs)

    def _masked_feature(self, text: str) -> Feature:
        """`[CLS] text [SEP]` in which every "[MASK]" is the mask: the tokenizer never makes it from text."""
        first, *others = self._tokenizer.encode_batch(text.split(MASK))
        ids = [self._tokenizer.cls_id, *first]
        for part, between in zip(text.split(MASK)[1:], others, strict=True):
            ids += [self._tokenizer.mask_id, *self._without_added_space(part, between)]
        ids.append(self._tokenizer.sep_id)
        if not others:
            raise DataError(f"{text[:60]!r}: holds no {MASK}; write {MASK} where the model should fill in a word")
        if len(ids) > self._max_length:
            raise DataError(f"{text[:60]!r}…: {len(ids)} tokens, the model reads {self._max_length}; shorten the text")
        return Feature(np.array(ids, np.int32), np.zeros(len(ids), np.int8))

    def _without_added_space(self, text: str, ids: list[int]) -> list[int]:
        """Ids of a text that follows a mask directly, as in "[MASK].", without the space that encoding put there."""
        glued = bool(text) and not text[0].isspace()
        return ids[1:] if glued and ids and self._tokenizer.id_to_piece(ids[0]) == "▁" else ids

    @property
    def _kind(self) -> Kind:
        return kind_of(self.description, where="model")

    @property
    def _max_length(self) -> int:
        return self.description.config.max_position_embeddings

    def _autocast(self) -> AbstractContextManager[object]:
        dtype = torch.float16 if self._precision == "fp16" else torch.bfloat16
        return torch.autocast(self._device.type, dtype=dtype, enabled=self._precision != "fp32")

    def _require(self, method: Answers) -> None:
        if method != self.answers:
            raise ConfigError(f"{method}: this model is a {self.description.model}; it answers by {self.answers!r}")


def _answers(description: ModelSpec) -> Answers:
    if description.model in ("ForPretraining", "ForMaskedLM"):
        return "fill_mask"
    return _METHODS[kind_of(description, where="model")]


def _threshold(directory: Path, description: ModelSpec, given: float | None) -> Threshold | None:
    """The threshold of a model that may say that there is no answer, said aloud."""
    if description.model != "ForQuestionAnsweringWithNoAnswer":
        validate_not_given(
            {"threshold": given}, f"a {description.model} never says that there is no answer; leave it out"
        )
        return None
    used = stored_settings(directory, longest=description.config.max_position_embeddings).threshold(given)
    if used.source == "default":
        advice = "; `litebert evaluate` on labelled questions tells the best, which --threshold then takes"
        logger.warning("%s: no-answer threshold %s%s", directory, used.to_text(), advice)
    else:
        logger.info("%s: no-answer threshold %s", directory, used.to_text())
    return used


def _examples(texts: Sequence[Text]) -> list[Example]:
    if isinstance(texts, str):
        raise ConfigError("texts: expected a list of texts, found one text; put it into a list")
    return [Example(text, None, None) if isinstance(text, str) else Example(*text, None) for text in texts]
