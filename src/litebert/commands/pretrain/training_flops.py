"""FLOPs of pretraining batches, for the throughput and MFU of a run."""

import torch
from torch import Tensor

from litebert.corpus.sampling.pretrain_batches import PretrainBatch
from litebert.model.config import ModelConfig
from litebert.model.model_stats import flops_per_token


def training_flops(config: ModelConfig, batch: PretrainBatch) -> int:
    """FLOPs of forward and backward; attention is counted by the length of each example, padding not at all."""
    lengths, counts = sequence_lengths(batch).unique(return_counts=True)
    predicted = len(batch.mlm_labels) / batch.num_tokens
    return sum(
        count * length * flops_per_token(config, length=length, predicted=predicted).training
        for length, count in zip(lengths.tolist(), counts.tolist(), strict=True)
    )


def sequence_lengths(batch: PretrainBatch) -> Tensor:
    """Int64 [X]: tokens of each example, in packed rows and in rows of one example."""
    if batch.sequence_starts is None:
        return batch.attention_mask.sum(1)
    tokens_up_to = batch.attention_mask.flatten().cumsum(0)
    first = tokens_up_to[batch.sequence_starts] - 1
    return torch.diff(first, append=tokens_up_to[-1:])
