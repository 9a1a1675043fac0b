"""`TaskInference`: how the models of one task type predict, from examples to results.

`TaskType` has it for torch, `litebert.runtime` for exported models. Importing it loads no torch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from litebert.tasks.encoded import Encoded, PaddedArrays
from litebert.tasks.results import DecodedPrediction, mean
from litebert.tasks.text_sequences import encode_sequences
from litebert.tokenization.tokenizer import Tokenizer

Prediction = Any
"""What a model predicts for one example: probabilities, a score or span scores. Predictions can be averaged."""


def _rows(outputs: Sequence[np.ndarray], batch: PaddedArrays) -> Sequence[Any]:
    """The first output of each sequence."""
    return list(outputs[0])


def is_finite(output: Any) -> bool:
    """Whether all numbers of an output are finite: of an array, or of the arrays and numbers of a tuple."""
    return all(map(is_finite, output)) if isinstance(output, tuple) else bool(np.isfinite(output).all())


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphOutputs:
    """What is read of the graph of an exported model."""

    names: tuple[str, ...] = ("logits",)
    """Outputs to compute."""
    by_sequence: Callable[[Sequence[np.ndarray], PaddedArrays], Sequence[Any]] = _rows
    """(outputs of a batch, batch) → the output of each sequence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskInference:
    """How the models of one task type predict."""

    method: str = "predict"
    """Method of `Predictor`."""
    encode: Callable[[Sequence[Any], Tokenizer, Any], Encoded] = encode_sequences
    """(examples, tokenizer, settings) → sequences."""
    validate_inputs: Callable[[Sequence[Any], Tokenizer], None] = lambda examples, tokenizer: None
    """Raises NoTokensError for an example that `encode` refuses; cheaper, as `predict` first calls it for all rows."""
    graph: GraphOutputs = GraphOutputs()
    """How the outputs of an exported model are read."""
    predict: Callable[[Any, Any, type[np.floating]], Prediction]
    """(output of one example, settings, dtype) → prediction; `dtype` is float64 for ensembles, else float32."""
    average: Callable[[Sequence[Prediction]], Prediction] = mean
    """The prediction of an ensemble for one example, from those of its members."""
    decode: Callable[[Prediction, Any, Sequence[str], Any], DecodedPrediction]
    """(prediction, example, labels, settings) → result."""
    result: type[DecodedPrediction]
    """Class of what `decode` returns; its `columns` are those that `predict` adds to the rows."""
    settings: tuple[str, ...] = ("max_length",)
    """Settings that an exported model needs for these functions."""
    has_label_probabilities: bool = False
    """Whether a result has the probability of every label by its name."""
