"""Ideas for pretraining that litebert does not have, as patches of a run; an arm of ladder.py names one, `trial=NAME`.

Each was tried, and its figures are in log.md; what pays becomes a setting. A trial is a context manager around
`pretrain`, which it gives callbacks; trials of another kind are in first_phases.py.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F

from arms.block_trials import BLOCK_TRIALS
from arms.objective_trials import OBJECTIVE_TRIALS
from litebert.commands.pretrain.pretraining_objective import PretrainingObjective
from litebert.commands.pretrain.validation import ValidationSet
from litebert.corpus.sampling import masking
from litebert.corpus.sampling.pairing import NO_LABEL, Example, ExampleSource
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.loss_sums import LossSums
from litebert.model.encoder import Encoder
from litebert.model.kernels.cross_entropy import VocabularyLoss
from litebert.model.kernels.layout import UnpaddedLayout
from litebert.model.kernels.rotary import rotation_at
from litebert.model.layers.block import MaskedLMHead
from litebert.training.callbacks.callback import Callback, RunState, StepRecord

SKIPPED_LAYERS: Final = 0.2
KEPT_TOKENS: Final = 0.5
Z_LOSS: Final = 1e-4
EMA_DECAY: Final = 0.99
OUTPUT_WEIGHTS_RATE: Final = 2e-3
EASIEST: Final = 0.1
"""Weight of a token that is always predicted correctly, relative to one that never is."""
QUOTED_EXAMPLES: Final = 0.5
SHORTEST_QUOTATION: Final = 8
LONGEST_QUOTATION: Final = 48
KEPT_WORDS: Final = 0.7


@contextmanager
def stochastic_depth() -> Iterator[list[Callback]]:
    """Skip each layer but the last with a probability of a fifth. Source: Fan et al. 2020, LayerDrop."""

    def run(self: Encoder, schedule: Any, x: torch.Tensor, inputs: Any) -> Iterator[torch.Tensor]:
        for part in zip(schedule, inputs, strict=True):
            if not self.training or len(schedule) == 1 or torch.rand(()) >= SKIPPED_LAYERS:
                (x,) = original(self, (part[0],), x, (part[1],))
            yield x

    original = Encoder._run_blocks
    with patch.object(Encoder, "_run_blocks", run):
        yield []


@contextmanager
def random_recursion_count() -> Iterator[list[Callback]]:
    """Run the shared block a random number of times, at least half as often. Source: Geiping et al. 2025."""

    def run(self: Encoder, schedule: Any, x: torch.Tensor, inputs: Any) -> Iterator[torch.Tensor]:
        count = len(schedule)
        if self.training and count > 1:
            count = int(torch.randint(count // 2, count + 1, ()))
        yield from original(self, schedule[:count], x, inputs[:count])

    original = Encoder._run_blocks
    with patch.object(Encoder, "_run_blocks", run):
        yield []


class OutputWeights(Callback):
    """Weights of all earlier outputs in the input of each layer, with an optimizer of their own; at first the last.

    They are saved nowhere: for a run in one process that is not resumed, scored by its own evaluations.
    """

    def __init__(self) -> None:
        self.of_layers: list[torch.Tensor] = []
        self.outputs: list[torch.Tensor] = []

    def next_input(self, x: torch.Tensor) -> torch.Tensor:
        """The weighted sum of `x` and the outputs before it."""
        self.outputs.append(x)
        if len(self.outputs) > len(self.of_layers):
            with torch.inference_mode(False):  # the first call is an evaluation
                self.of_layers.append(torch.eye(len(self.outputs))[-1].requires_grad_())
        return (torch.stack(self.outputs, -1) * self.of_layers[len(self.outputs) - 1]).sum(-1)

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Update the weights."""
        if record.step == 1:
            self._optimizer = torch.optim.Adam(self.of_layers, lr=OUTPUT_WEIGHTS_RATE)
        self._optimizer.step()
        self._optimizer.zero_grad()
        self.outputs.clear()


@contextmanager
def weighted_outputs() -> Iterator[list[Callback]]:
    """Each layer reads a learned sum of all earlier outputs. Source: Charpentier and Samuel 2023, ELC-BERT."""

    def block_inputs(self: Encoder, layout: Any, schedule: Any) -> Any:
        weights.outputs.clear()  # a forward pass begins
        return original_inputs(self, layout, schedule)

    def run(self: Encoder, schedule: Any, x: torch.Tensor, inputs: Any) -> Iterator[torch.Tensor]:
        for part in zip(schedule, inputs, strict=True):
            (x,) = original(self, (part[0],), weights.next_input(x), (part[1],))
            yield x

    weights, original, original_inputs = OutputWeights(), Encoder._run_blocks, Encoder._block_inputs
    with patch.object(Encoder, "_run_blocks", run), patch.object(Encoder, "_block_inputs", block_inputs):
        yield [weights]


@contextmanager
def token_dropping() -> Iterator[list[Callback]]:
    """Run the middle layers on a random half of the tokens; unpadded layout, rotary positions.

    Source: Yao et al. 2022, Random-LTD.
    """

    def layout_of(self: Encoder, attention_mask: torch.Tensor, *arguments: Any, **options: Any) -> Any:
        self.__dict__["_dropped_from"] = attention_mask, options["causal"]
        return original_layout(self, attention_mask, *arguments, **options)

    def run(self: Encoder, schedule: Any, x: torch.Tensor, inputs: Any) -> Iterator[torch.Tensor]:
        if not self.training or len(schedule) < 2:
            yield from original(self, schedule, x, inputs)
            return
        (x,) = original(self, schedule[:1], x, inputs[:1])
        yield x
        mask, causal = self.__dict__["_dropped_from"]
        kept, kept_mask = _random_positions(mask)
        kept = kept[kept_mask]
        places = torch.zeros(mask.numel(), dtype=torch.long)
        places[inputs[0].layout.indices] = torch.arange(int(mask.sum()))
        rows = places[kept]
        layout = UnpaddedLayout.of(kept_mask, causal=causal)
        rows_of_zeros = layout.positions.shape[1] - len(rows)
        part = F.pad(x[:, rows], (0, 0, 0, rows_of_zeros))
        positions = F.pad(kept % mask.shape[1], (0, rows_of_zeros))[None]
        turned = rotation_at(positions, head_size=self.config.head_size, theta=self.config.rope_theta)
        middle = [each._replace(layout=layout, rotation=turned) for each in inputs[1:]]
        for output in original(self, schedule[1:], part, middle):
            part = output
        x = x.index_copy(1, rows, part[:, : len(rows)].to(x.dtype))
        yield from [x] * (len(schedule) - 1)

    original, original_layout = Encoder._run_blocks, Encoder._layout
    with patch.object(Encoder, "_run_blocks", run), patch.object(Encoder, "_layout", layout_of):
        yield []


def _random_positions(mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Flat positions [B, K], in order, of a random half of the tokens of each row of `mask` [B, S]; and where they are.

    The first position is always kept.
    """
    counts = (mask.sum(1) * KEPT_TOKENS).ceil().long()
    draws = torch.rand(mask.shape).masked_fill(~mask, 2.0)
    draws[:, 0] = -1.0
    width = int(counts.max())
    chosen = draws.argsort(1)[:, :width]
    kept_mask = torch.arange(width) < counts[:, None]
    chosen = chosen.masked_fill(~kept_mask, mask.shape[1]).sort(1).values
    flat = torch.arange(len(mask))[:, None] * mask.shape[1] + chosen.masked_fill(~kept_mask, 0)
    return flat, kept_mask


@contextmanager
def z_loss() -> Iterator[list[Callback]]:
    """Add 1e-4 times the squared log of the softmax's normalizer. Source: Chowdhery et al. 2022, PaLM.

    It reads logits of its own, in fp32: its gradient, added to that of the other loss in 16 bits, is mostly rounded
    away.
    """

    def loss(self: MaskedLMHead, states: Any, word_embeddings: Any, labels: Any) -> VocabularyLoss:
        found = original(self, states, word_embeddings, labels)
        if not found.loss.requires_grad:
            return found
        logits = self(states, word_embeddings).float()
        added = Z_LOSS * logits[labels != NO_LABEL].logsumexp(-1).square().sum()
        return found._replace(loss=found.loss + added)

    original = MaskedLMHead.loss
    with patch.object(MaskedLMHead, "loss", loss):
        yield []


class AveragedWeights(Callback):
    """An exponential moving average of the weights, which replaces them at the end."""

    def __init__(self) -> None:
        self._averages: list[torch.Tensor] = []

    @torch.no_grad()
    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Move the averages towards the weights."""
        weights = [each.detach() for each in run.model.parameters()]
        if not self._averages:
            self._averages = [each.clone() for each in weights]
        torch._foreach_lerp_(self._averages, weights, 1 - EMA_DECAY)

    @torch.no_grad()
    def on_train_end(self, run: RunState) -> None:
        """Replace the weights."""
        for weight, average in zip(run.model.parameters(), self._averages, strict=True):
            weight.copy_(average)


@contextmanager
def ema() -> Iterator[list[Callback]]:
    """Evaluate the exponential moving average of the weights."""
    yield [AveragedWeights()]


@contextmanager
def adaptive_masking() -> Iterator[list[Callback]]:
    """Mask tokens more often whose type is predicted wrongly. Source: arXiv 2510.20475 (AMLM)."""
    errors, state = np.ones(0), {"training": True}

    def mask_tokens(grid: Any, vocabulary: Any, settings: Any, *, mlm_probability: float) -> Any:
        nonlocal errors
        if not len(errors):
            errors = np.ones(vocabulary.size)
        if state["training"]:
            words = masking.find_mask_units(grid, vocabulary, settings)
            sums = np.zeros(grid.draws.ngram_order.shape)
            rows = np.broadcast_to(np.arange(len(sums))[:, None], words.word_of_token.shape)
            inside = grid.maskable
            np.add.at(sums, (rows[inside], words.word_of_token[inside]), errors[grid.input_ids][inside])
            means = sums[:, : words.lengths.shape[1]] / np.maximum(words.lengths, 1)
            weights = EASIEST + (1 - EASIEST) * means
            draws = grid.draws.ngram_order
            draws[:, : weights.shape[1]] = 1 - (1 - draws[:, : weights.shape[1]]) ** (1 / weights)
        return original(grid, vocabulary, settings, mlm_probability=mlm_probability)

    def sums_of(self: PretrainingObjective, output: Any, batch: Any) -> LossSums:
        if output.mlm.loss.requires_grad and not batch.causal and len(errors):
            has_label = batch.labels != NO_LABEL
            labels = batch.labels[has_label].numpy()
            wrong = 1.0 - output.mlm.correct[has_label].float().numpy()
            counts, missed = np.bincount(labels, minlength=len(errors)), np.bincount(labels, wrong, len(errors))
            kept = 0.98**counts
            errors[:] = kept * errors + (1 - kept) * missed / np.maximum(counts, 1)
        return original_sums(self, output, batch)

    def evaluate(self: ValidationSet, model: Any) -> Any:
        state["training"] = False
        try:
            return original_evaluate(self, model)
        finally:
            state["training"] = True

    original, original_sums, original_evaluate = masking.mask_tokens, PretrainingObjective.sums, ValidationSet.evaluate
    with (
        patch.object(masking, "mask_tokens", mask_tokens),
        patch.object(PretrainingObjective, "sums", sums_of),
        patch.object(ValidationSet, "evaluate", evaluate),
    ):
        yield []


@contextmanager
def quotations() -> Iterator[list[Callback]]:
    """Half of the masked examples become a pair: words of one of their sentences, then the text with that sentence.

    Masked words are mostly found in the other segment, by their neighbours, as an answer is by a question's words.
    """

    def draw(self: ExampleSource, epoch: Any, index: int) -> Example:
        example = original(self, epoch, index)
        if not getattr(state, "masked", False) or example.rng.random() >= QUOTED_EXAMPLES:
            return example
        tokens, edges = self._read(epoch, index)
        lengths = np.diff(edges)
        long_enough = np.flatnonzero((lengths >= SHORTEST_QUOTATION) & (lengths <= LONGEST_QUOTATION))
        if not len(long_enough):
            return example
        chosen = int(example.rng.choice(long_enough))
        sentence = tokens[edges[chosen] : edges[chosen + 1]]
        words = np.cumsum(self.corpus.vocabulary.word_starts[sentence])
        quoted = sentence[example.rng.random(words[-1] + 1)[words] < KEPT_WORDS]
        room = self.settings.max_length - 3 - len(quoted)
        start = 0 if len(tokens) <= room else min(max(0, edges[chosen] - room // 2), len(tokens) - room)
        return Example(quoted, tokens[start : start + room], NO_LABEL, example.rng) if len(quoted) else example

    def microbatches(self: PretrainBatches, step: int) -> Any:
        state.masked = not self.settings.is_causal(step)
        try:
            return original_microbatches(self, step)
        finally:
            state.masked = False

    state = threading.local()  # validation text is read by another thread
    original, original_microbatches = ExampleSource.draw, PretrainBatches.microbatches
    with (
        patch.object(ExampleSource, "draw", draw),
        patch.object(PretrainBatches, "microbatches", microbatches),
    ):
        yield []


TRIALS: Final[dict[str, Callable[[], AbstractContextManager[list[Callback]]]]] = {
    "stochastic_depth": stochastic_depth,
    "random_recursion_count": random_recursion_count,
    "weighted_outputs": weighted_outputs,
    "token_dropping": token_dropping,
    "z_loss": z_loss,
    "ema": ema,
    "adaptive_masking": adaptive_masking,
    "quotations": quotations,
    **OBJECTIVE_TRIALS,
    **BLOCK_TRIALS,
}
