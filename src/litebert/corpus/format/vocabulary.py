"""What drawing examples needs to know about token ids. Before: a tokenizer. After: shards keep it, masking uses it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from litebert.tokenization.tokenizer import Tokenizer


@dataclass(frozen=True)
class Vocabulary:
    """Ids of the special tokens, and which tokens begin a word (bool of length V)."""

    pad_id: int
    unk_id: int
    cls_id: int
    sep_id: int
    mask_id: int
    word_starts: np.ndarray

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self:
        """What the tokenizer says."""
        ids = (tokenizer.pad_id, tokenizer.unk_id, tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id)
        return cls(*ids, word_starts=np.asarray(tokenizer.word_starts, dtype=bool))

    @property
    def size(self) -> int:
        """Number of token ids, V."""
        return len(self.word_starts)

    @cached_property
    def ordinary_ids(self) -> np.ndarray:
        """Every id that is not a special token's, ascending."""
        special = [self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id]
        return np.setdiff1d(np.arange(self.size), special)
