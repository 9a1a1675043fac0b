"""The facts about token ids that sampling needs: special tokens and word starts."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from litebert.tokenization.tokenizer import Tokenizer


@dataclass(frozen=True)
class Vocabulary:
    """Ids of the special tokens, and `word_starts`, bool [V]: which tokens start a word."""

    pad_id: int
    unk_id: int
    cls_id: int
    sep_id: int
    mask_id: int
    word_starts: np.ndarray

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self:
        """The vocabulary of a tokenizer."""
        ids = (tokenizer.pad_id, tokenizer.unk_id, tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id)
        return cls(*ids, word_starts=np.asarray(tokenizer.word_starts, dtype=bool))

    @property
    def size(self) -> int:
        """Number of token ids, V."""
        return len(self.word_starts)

    @cached_property
    def non_special_ids(self) -> np.ndarray:
        """The ids of all tokens that are not special, ascending."""
        special = [self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id]
        return np.setdiff1d(np.arange(self.size), special)
