"""How examples are drawn from a corpus. Before: a recipe or a command line. After: stream, pairing, masking."""

from typing import Literal, Self

from pydantic import Field, model_validator

from litebert.settings import Settings

Pairing = Literal["sop", "nsp", "none"]


class ExampleSettings(Settings):
    """How examples are drawn from a corpus while it is read."""

    max_length: int = Field(default=512, ge=8)
    """Tokens of the longest example, [CLS] and [SEP] included."""
    short_every: int = Field(default=10, ge=0)
    """Every so many epochs a document is cut into shorter examples of one random length; 0: never. Source: the
    original's short_seq_prob 0.1."""
    pairing: Pairing = "sop"
    """Second task: sentence order, next sentence, or none (two segments in order that carry no label)."""
    single_sentence: Literal["no_label", "random_document"] = "no_label"
    """An example of one sentence has no order to predict: one segment without a label, or, as in the original code,
    a second segment from another document, labelled as if it were swapped."""
    repeat_draws_after: int = Field(default=0, ge=0)
    """Epochs after which cuts, orders and masks repeat; 0: never. The original's dupe_factor is 40."""
    group_by_length: bool = True
    """Put examples of similar length of a batch into the same microbatch, to pad less."""

    mask_unit: Literal["words", "tokens"] = "words"
    """What n-grams are made of: whole words, or single tokens."""
    max_ngram: int = Field(default=3, ge=1, le=16)
    """Longest masked n-gram, in units. Source: ALBERT section 4.1."""
    ngram_weights: Literal["shorter", "equal", "longer"] = "shorter"
    """p(n) proportional to 1/n; the same for all n; or the first in reverse."""
    masked_fraction: float = Field(default=0.15, gt=0, lt=1)
    """Share of an example's tokens, special ones counted, to predict."""
    max_predictions: int | None = Field(default=None, ge=1)
    """Most tokens to predict in one example; the released models were trained with 20."""
    across_segments: bool = False
    """Whether an n-gram may begin in the first segment and end in the second, as in the original code."""
    mask_probability: float = Field(default=0.8, ge=0, le=1)
    """Share of the predicted tokens that are shown as [MASK]."""
    random_probability: float = Field(default=0.1, ge=0, le=1)
    """Share of the predicted tokens that are shown as a random token; the rest is shown unchanged."""
    random_tokens: Literal["ordinary", "whole_vocabulary"] = "ordinary"
    """Random tokens come from the vocabulary without, or, as in the original code, with the special tokens."""

    @model_validator(mode="after")
    def _shares_fit(self) -> Self:
        if self.mask_probability + self.random_probability > 1:
            raise ValueError(
                f"mask_probability {self.mask_probability} and random_probability {self.random_probability} "
                "must not add up to more than 1; lower one of them"
            )
        return self
