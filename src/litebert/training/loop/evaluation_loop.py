"""Evaluation: exact losses and accuracies over batches, on all ranks."""

from collections import Counter
from collections.abc import Iterable

import torch
from torch import nn

from litebert.device import autocast
from litebert.loss_sums import LossSums
from litebert.settings import TrainingPrecision
from litebert.training.distributed.context import DistributedContext, gathered_weights
from litebert.training.loop.step import add_sums
from litebert.training.protocols import Batch, Number, Objective


def evaluate(
    model: nn.Module,
    objective: Objective,
    batches: Iterable[Batch],
    *,
    device: torch.device,
    precision: TrainingPrecision = "fp32",
) -> dict[str, Number]:
    """Metrics over all ranks: `loss`, and `<name>_loss`, `<name>_accuracy` and `<name>_count` of each named loss.

    Sums are divided by counts once, at the end: neither batch size nor the number of ranks changes the result. The
    ranks may have different numbers of batches.
    """
    training = model.training
    model.eval()
    counts: Counter[str] = Counter()
    total = LossSums(losses={}, correct={})
    # The weights are gathered outside of inference mode, whose tensors cannot be used for training.
    try:
        with gathered_weights(model), torch.inference_mode():
            for batch in batches:
                with autocast(precision, device):
                    add_sums(total, objective(model, batch.to(device)))
                counts.update(objective.counts(batch))
    finally:
        model.train(training)
    return _means(total, counts)


def _means(total: LossSums, counts: Counter[str]) -> dict[str, Number]:
    sums = [{name: value.item() for name, value in part.items()} for part in (total.losses, total.correct)]
    losses, correct, all_counts = totals = Counter(), Counter(), Counter()
    for parts in DistributedContext.current("cpu").gather((*sums, counts)):
        for all_ranks, own in zip(totals, parts, strict=True):
            all_ranks.update(own)
    means = {f"{name}_loss": value / max(all_counts[name], 1) for name, value in losses.items()}
    accuracies = {f"{name}_accuracy": value / max(all_counts[name], 1) for name, value in correct.items()}
    named_counts = {f"{name}_count": value for name, value in all_counts.items()}
    return {"loss": sum(means.values()), **means, **accuracies, **named_counts}
