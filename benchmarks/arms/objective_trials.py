"""Trials of ladder.py that change which tokens a step predicts, and from which positions."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

from litebert.commands.pretrain import pretraining_objective
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.inference import sentence_likelihood
from litebert.training.callbacks.callback import Callback

FIRST_SHARE, LAST_SHARE, FALLING_STEPS = 0.95, 0.05, 2000


@contextmanager
def falling_causal_share() -> Iterator[list[Callback]]:
    """Fewer causal steps the later, linearly. Source: Gisserot-Boukhlef et al. 2025, arXiv 2507.00994."""

    def before(step: int) -> float:
        """Causal steps before this one."""
        moving = min(step, FALLING_STEPS)
        fallen = (FIRST_SHARE - LAST_SHARE) * moving * (moving - 1) / (2 * FALLING_STEPS)
        return LAST_SHARE * (step - moving) + FIRST_SHARE * moving - fallen

    def is_causal(self: SamplingSettings, step: int) -> bool:
        return int(before(step + 1)) > int(before(step))

    with patch.object(SamplingSettings, "is_causal", is_causal):
        yield []


@contextmanager
def shifted_masks() -> Iterator[list[Callback]]:
    """Predict a masked token from the state of the position before it, as a causal step does.

    Source: Charpentier and Samuel 2024, GPT-BERT (masked next-token prediction).
    """

    def losses(model: Any, batch: Any) -> Any:
        if not batch.causal:
            batch = replace(batch, masked_positions=(batch.masked_positions - 1).clamp(min=0))
        return original(model, batch)

    def log_probabilities(model: Any, copies: Any, positions: Any, labels: Any, temperature: float) -> Any:
        return original_scores(model, copies, positions - 1, labels, temperature)

    original, original_scores = pretraining_objective.pretraining_losses, sentence_likelihood._masked_log_probabilities
    with (
        patch.object(pretraining_objective, "pretraining_losses", losses),
        patch.object(sentence_likelihood, "_masked_log_probabilities", log_probabilities),
    ):
        yield []


OBJECTIVE_TRIALS: Final[dict[str, Callable[[], AbstractContextManager[list[Callback]]]]] = {
    "falling_causal_share": falling_causal_share,
    "shifted_masks": shifted_masks,
}
