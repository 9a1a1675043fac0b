"""A corpus as a data set of `torch.utils.data`, for training loops and trainers of other libraries."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

from litebert.corpus.format.shards import Corpus, Split
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import LinearSchedule, SamplingSettings
from litebert.errors import ConfigError
from litebert.model.kernels.cross_entropy import NO_LABEL


class PretrainDataset(Dataset[dict[str, Tensor]]):
    """The pretraining examples of an epoch: item i is a function of (seed, i) alone, so any worker draws it.

    An item has `input_ids`, `attention_mask`, `token_type_ids` and `labels` [S], where -100 marks tokens that are not
    predicted, and `sentence_order_label`. `ForPretraining` of litebert and transformers take these names.

    Args:
        corpus: a corpus directory.
        split: `train` or `validation`.
        seed: of order, cuts, pairs and masks; another seed is another epoch.
        sampling: fields of `SamplingSettings`, such as `max_length=128`.
    """

    def __init__(self, corpus: Path | str, *, split: Split = "train", seed: int = 0, **sampling: Any) -> None:
        opened = Corpus.open(corpus, split)
        settings = SamplingSettings.parse(sampling, where="PretrainDataset")
        settings.validate_masked_only()
        _validate_no_steps(settings)
        self.pad_id = opened.vocabulary.pad_id
        self._batches = PretrainBatches(opened, settings, batch_size=1, microbatch_size=1, seed=seed)
        self._size = self._batches.epoch_size()

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        if not 0 <= index < self._size:
            raise IndexError(f"example {index}: the epoch has {self._size}")
        batch = self._batches.in_epoch(index)
        labels = torch.full_like(batch.input_ids[0], NO_LABEL)
        labels[batch.masked_positions] = batch.labels
        return {
            "input_ids": batch.input_ids[0],
            "attention_mask": batch.attention_mask[0].long(),
            "token_type_ids": batch.token_type_ids[0],
            "labels": labels,
            "sentence_order_label": batch.sentence_pair_labels[0],
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """The items as plain lists, for `datasets.IterableDataset.from_generator`."""
        for index in range(len(self)):
            yield {name: tensor.tolist() for name, tensor in self[index].items()}

    def collate(self, items: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
        """A batch of items, padded at the end: the `collate_fn` of a `DataLoader`."""
        fill = {"input_ids": self.pad_id, "labels": NO_LABEL}
        return {
            name: torch.stack([item[name] for item in items])
            if items[0][name].dim() == 0
            else pad_sequence([item[name] for item in items], batch_first=True, padding_value=fill.get(name, 0))
            for name in items[0]
        }


def _validate_no_steps(settings: SamplingSettings) -> None:
    """Raise ConfigError for what depends on batches or steps, which a data set of single examples does not have."""
    if settings.packing:
        raise ConfigError("packing: an item is one example; leave it out, or train with `litebert.pretrain`")
    if LinearSchedule.parse(settings.mlm_probability).steps:
        raise ConfigError(
            f"mlm_probability: {settings.mlm_probability!r} changes by training steps, which a data set does not know; "
            "give a number"
        )
