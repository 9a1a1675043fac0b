"""The outputs of a torch model under the names of the graph, and their comparison with those of the graph."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from litebert.errors import LitebertError, NotFiniteError
from litebert.export.exported_graph import Comparison
from litebert.model.model_inputs import ModelInputs
from litebert.model.models import FORBIDDEN
from litebert.randomness import rng_for
from litebert.runtime.onnx_model import open_session, run_session
from litebert.tasks.types.extractive_qa.span_outputs import answer_mask
from litebert.tasks.types.extractive_qa.span_scores import BEAM_SIZE

SHAPES: Final = ((1, 1), (2, 7), (3, 40))
"""Rows and longest lengths of the batches that are compared."""
CHOICES: Final = 2
TOLERANCES: Final = {"fp32": 1e-5, "int8": 0.2}
"""`fp32`: largest difference of any output, where these are of the order of 1. `int8`: root mean square error of the
hidden states, relative to their root mean square; docs/guides/export.md has the usual values, well below this."""


def compare(content: bytes, model: Any, precision: str, *, source: Path) -> Comparison:
    """Run a graph and its model, loaded from `source`, on random tokens.

    Raises LitebertError if their outputs differ by more than the tolerance, NotFiniteError if those of the model are
    not finite.
    """
    session = open_session(content, where="the exported graph")
    differences, squared, total = [], 0.0, 0.0
    for inputs in _batches(model):
        expected = reference_outputs(model, inputs)
        feed = {name: np.asarray(value) for name, value in inputs._asdict().items()}
        found = dict(zip(expected, run_session(session, feed, list(expected)), strict=True))
        for name, value in expected.items():
            at = _compared(name, value, feed["attention_mask"])
            if not np.isfinite(value[at]).all():
                raise NotFiniteError(source)
            difference = found[name][at] - value[at]
            differences.append(np.abs(difference).max() / max(1.0, float(np.abs(value[at]).max())))
            if name == "last_hidden_state":
                squared, total = squared + float((difference**2).sum()), total + float((value[at] ** 2).sum())
    # Unlike max(), np.max is NaN if any difference is, and NaN is not within the tolerance.
    result = Comparison(float(np.max(differences)), (squared / total) ** 0.5)
    # The hidden states decide in int8, unless another output is infinite or NaN.
    is_relative = precision == "int8" and np.isfinite(result.largest_difference)
    measured = result.relative_error if is_relative else result.largest_difference
    if not measured <= TOLERANCES[precision]:
        raise LitebertError(
            f"export: the outputs in {precision} differ from torch's by {measured:.2g}, expected at most "
            f"{TOLERANCES[precision]}; nothing was written; "
            + ("export in fp32" if precision == "int8" else "report this model's config.json")
        )
    return result


@torch.inference_mode()
def reference_outputs(model: Any, inputs: ModelInputs) -> dict[str, np.ndarray]:
    """Name of an output → its value; Float32."""
    rows = tuple(each.flatten(0, -2) for each in inputs)
    states = model.encoder(*rows).last_hidden_state
    outputs = {"last_hidden_state": states, **OUTPUTS[type(model).__name__](model, inputs)}
    return {name: value.float().numpy() for name, value in outputs.items()}


def _named(*names: str) -> Callable[[Any, ModelInputs], dict[str, Tensor]]:
    """Outputs of the model that have the names of the graph."""
    return lambda model, inputs: {name: getattr(model(*inputs), name) for name in names}


def _pretraining(model: Any, inputs: ModelInputs) -> dict[str, Tensor]:
    output = model(*inputs)
    logits = output.mlm_logits.unflatten(0, inputs.input_ids.shape)
    pair = {} if model.pairing == "none" else {"sentence_pair_logits": output.sentence_pair_logits}
    return {"logits": logits, **pair}


def _beams(model: Any, inputs: ModelInputs) -> dict[str, Tensor]:
    """Without the positions, which are arbitrary among equal scores."""
    beams = model.beams(*inputs, answer_mask(inputs), num_starts=BEAM_SIZE, num_ends=BEAM_SIZE)
    return {name: getattr(beams, name) for name in ("start_log_probs", "impossible_logits")}


OUTPUTS: Final[dict[str, Callable[[Any, ModelInputs], dict[str, Tensor]]]] = {
    "ForPretraining": _pretraining,
    **dict.fromkeys(("ForMaskedLM", "ForSequenceClassification"), _named("logits")),
    **dict.fromkeys(("ForMultipleChoice", "ForTokenClassification"), _named("logits")),
    "ForQuestionAnswering": _named("start_logits", "end_logits"),
    "ForQuestionAnsweringWithNoAnswer": _beams,
    "SentenceEmbedder": lambda model, inputs: {"sentence_embedding": model(*inputs)},
}


def _batches(model: Any) -> Iterator[ModelInputs]:
    """Random tokens, padded at the end."""
    config, rng = model.config, rng_for(0, "export")
    choices = (CHOICES,) if type(model).__name__ == "ForMultipleChoice" else ()
    for rows, longest in SHAPES:
        length = min(longest, config.max_position_embeddings)
        shape = (rows, *choices, length)
        lengths = rng.integers(1, length + 1, shape[:-1])
        lengths.flat[0] = length
        ids = torch.from_numpy(rng.integers(0, config.vocab_size, shape))
        segments = torch.from_numpy(rng.integers(0, config.type_vocab_size, shape))
        yield ModelInputs(ids, torch.from_numpy(np.arange(length) < lengths[..., None]), segments)


def _compared(name: str, value: np.ndarray, mask: np.ndarray) -> Any:
    """Which values are compared: those of real tokens, and of positions where an answer may start."""
    if name == "start_log_probs":
        return value > FORBIDDEN / 2
    by_token = {"last_hidden_state": 3, "start_logits": 2, "end_logits": 2, "logits": 3}.get(name) == value.ndim
    return mask.reshape(-1, mask.shape[-1]) if by_token and value.shape[1] == mask.shape[-1] else slice(None)
