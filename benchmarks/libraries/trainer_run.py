"""`transformers.Trainer` on given batches, with a given optimizer and learning rate of each step.

Before: the weights and batches of `learning.py`. After: a trained model and the seconds that `Trainer.train` took.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from measurement.clocks import clock_for, seconds_of
from torch import Tensor
from torch.utils.data import IterableDataset

from libraries.speed_contestants import their_arguments
from litebert.corpus.sampling.pretrain_batches import PretrainBatch


class Batches(IterableDataset[dict[str, Tensor]]):
    """Batches as the arguments of `AlbertForPreTraining`, made before the clock starts."""

    def __init__(self, batches: Sequence[PretrainBatch]) -> None:
        self._arguments = [their_arguments(batch) for batch in batches]

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        yield from self._arguments


def trainer_seconds(
    model: Any,
    optimizer: torch.optim.Optimizer,
    batches: Sequence[PretrainBatch],
    *,
    learning_rate: Callable[[int], float],
    max_grad_norm: float,
    bf16: bool,
) -> float:
    """Seconds of `Trainer.train` on the batches in their order; everything else has the Trainer's defaults."""
    from transformers import Trainer, TrainingArguments

    for group in optimizer.param_groups:
        group["lr"] = 1.0  # what the schedule multiplies
    with tempfile.TemporaryDirectory() as directory:
        arguments = TrainingArguments(
            directory,
            max_steps=len(batches),
            per_device_train_batch_size=1,  # an item is a whole batch
            max_grad_norm=max_grad_norm,
            bf16=bf16,
            use_cpu=True,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, learning_rate)
        trainer = Trainer(
            model,
            arguments,
            train_dataset=Batches(batches),
            data_collator=lambda items: items[0],
            optimizers=(optimizer, schedule),
        )
        return seconds_of(trainer.train, clock_for(torch.get_num_threads()))
