"""Texts in, answers out. Before: a model directory. After: `runs.predict`, a server, your program."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import numpy as np
import torch
from torch import nn

from litebert.errors import ConfigError, DataError
from litebert.inference.batching import classifier_logits
from litebert.model.description import Description, ModelName
from litebert.model.directory import load_model, read_description
from litebert.tasks.features import Feature, encode, pad
from litebert.tokenization.tokenizer import Tokenizer

Precision = Literal["fp32", "bf16"]
Answers = Literal["fill_mask", "classify", "score"]
Text = str | tuple[str, str]
"""A text, or a text and its pair."""

MASK = "[MASK]"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to fill a mask."""

    piece: str
    """The piece of the vocabulary; `▁` marks the beginning of a word."""
    probability: float

    @property
    def word(self) -> str:
        """The piece as a person writes it."""
        return self.piece.replace("▁", " ").strip()


@dataclass(frozen=True, slots=True)
class Classification:
    """The answer of a classifier for one text."""

    label: str
    probability: float
    probabilities: dict[str, float]
    """Of every label, in the order of the model."""


class Predictor:
    """A loaded model that answers; `answers` names the one method that fits it."""

    def __init__(
        self, model: nn.Module, tokenizer: Tokenizer, description: Description, *, precision: Precision = "fp32"
    ) -> None:
        self.description = description
        self.answers: Answers = _answers(description)
        self._model = model.eval()
        self._tokenizer = tokenizer
        self._device = next(model.parameters()).device
        self._precision: Precision = precision

    @classmethod
    def load(
        cls, directory: Path | str, *, precision: Precision = "fp32", threads: int | None = None, device: str = "cpu"
    ) -> Self:
        """A model directory, ready; `threads` sets how many threads torch uses in this whole process.

        Raises ConfigError when the model answers neither by filling masks nor by classifying texts.
        """
        directory = Path(directory)
        description = read_description(directory)
        _answers(description)
        if threads is not None:
            torch.set_num_threads(threads)
        # The head that orders sentences is of no use here.
        as_model: ModelName | None = "ForMaskedLM" if description.model == "ForPretraining" else None
        model = load_model(directory, as_model=as_model).to(device)
        return cls(model, Tokenizer.load(directory), description, precision=precision)

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
        logits = torch.from_numpy(self._logits(texts))
        return [_classification(row, self.description.labels) for row in logits.softmax(-1).tolist()]

    def score(self, texts: Sequence[Text]) -> list[float]:
        """The score that a regression gives each text (or pair of texts)."""
        self._require("score")
        return self._logits(texts)[:, 0].tolist()

    def _logits(self, texts: Sequence[Text]) -> np.ndarray:
        if isinstance(texts, str):
            raise ConfigError("texts: expected a list of texts, found one text; put it into a list")
        if not texts:
            return np.zeros((0, max(1, len(self.description.labels))), dtype=np.float32)
        pairs = [(text, None) if isinstance(text, str) else text for text in texts]
        features = encode(pairs, self._tokenizer, max_length=self._max_length)
        with self._autocast():
            return classifier_logits(self._model, features, pad_id=self._tokenizer.pad_id)

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
    def _max_length(self) -> int:
        return self.description.config.max_position_embeddings

    def _autocast(self) -> AbstractContextManager[object]:
        return torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=self._precision == "bf16")

    def _require(self, method: Answers) -> None:
        if method != self.answers:
            raise ConfigError(f"{method}: this model is a {self.description.model}; it answers by {self.answers!r}")


def _answers(description: Description) -> Answers:
    if description.model in ("ForPretraining", "ForMaskedLM"):
        return "fill_mask"
    if description.model == "ForSequenceClassification":
        is_regression = description.problem_type == "regression" or len(description.labels) == 1
        return "score" if is_regression else "classify"
    raise ConfigError(f"model: a {description.model} neither fills masks nor classifies texts; give another model")


def _classification(probabilities: list[float], labels: tuple[str, ...]) -> Classification:
    named = dict(zip(labels, probabilities, strict=True))
    label = max(named, key=named.__getitem__)
    return Classification(label, named[label], named)
