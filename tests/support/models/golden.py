"""Outputs of google-research/albert for stored models: see tests/parity/golden/README.md."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from litebert.interop.tf_checkpoint import read_tf_checkpoint
from litebert.model.losses import classification_loss
from litebert.model.models import ForPretraining

GOLDEN = Path(__file__).parents[2] / "parity" / "golden"
MODELS = ("all_shared", "inner_group_2", "not_shared_E_equals_H", "relu", "two_groups")


class Golden:
    """One model, its batch, and the outputs of google-research/albert."""

    def __init__(self, name: str, dtype: torch.dtype) -> None:
        with np.load(GOLDEN / name / "expected.npz") as arrays:
            self.expected = {key: torch.from_numpy(arrays[key]) for key in arrays.files}
        checkpoint = read_tf_checkpoint(GOLDEN / name)
        self.model = ForPretraining(checkpoint.spec.config)
        self.model.load_state_dict(checkpoint.weights.tensors)
        self.model.to(dtype)
        self.model.encoder.attention_kernel = "sdpa"  # which computes the padding too, as google-research/albert does

    @property
    def batch(self) -> tuple[Tensor, Tensor, Tensor]:
        mask = self.expected["attention_mask"].bool()
        return self.expected["input_ids"], mask, self.expected["token_type_ids"]

    @property
    def flat_positions(self) -> Tensor:
        rows, length = self.expected["input_ids"].shape
        return (self.expected["masked_lm_positions"] + torch.arange(rows)[:, None] * length).flatten()

    @property
    def masked_labels(self) -> Tensor:
        """-100 where the weight of a masked position is zero."""
        weights = self.expected["masked_lm_weights"].flatten()
        return self.expected["masked_lm_ids"].flatten().masked_fill(weights == 0, -100)

    def losses(self) -> tuple[Tensor, Tensor]:
        """The means of google-research/albert, which adds 1e-5 to the MLM count."""
        output = self.model(*self.batch, self.flat_positions, masked_labels=self.masked_labels)
        orders = self.expected["sentence_order_labels"][:, 0]
        mlm = output.mlm.loss / (self.expected["masked_lm_weights"].sum() + 1e-5)
        return mlm, classification_loss(output.sentence_pair_logits, orders) / len(orders)
