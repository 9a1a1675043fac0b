"""How examples are drawn from a corpus. Before: a recipe or a command line. After: stream, pairing, masking."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from litebert.corpus.sampling.mlm_probability import MlmProbability
from litebert.corpus.sampling.sampling_presets import PRESETS
from litebert.settings import Settings

Pairing = Literal["sop", "nsp", "none"]


class SamplingSettings(Settings):
    """How examples are drawn from a corpus while it is read.

    In a recipe, `preset` (original, tokens, whole_words, spans) sets all that belongs to a known way of doing it.
    """

    max_length: int = Field(default=512, ge=8)
    """Tokens of the longest example, [CLS] and [SEP] included."""
    short_every: int = Field(default=10, ge=0)
    """Every so many epochs a document is cut into shorter examples of one random length; 0: never. Source: the
    original's short_seq_prob 0.1."""
    short_seq_schedule: Literal["in_turn", "at_random"] = "in_turn"
    """When a document is short: once in every `short_every` epochs, or, as in the original code, in each epoch with
    probability 1 / `short_every`; that needs `dupe_factor`, whose epochs are counted when a run starts."""
    pairing: Pairing = "sop"
    """Second task: sentence order, next sentence, or none (two segments in order that carry no label)."""
    single_sentence_policy: Literal["no_label", "random_document"] = "no_label"
    """An example of one sentence has no order to predict: one segment without a label, or, as in the original code,
    a second segment from another document, labelled as if it were swapped."""
    dupe_factor: int = Field(default=0, ge=0)
    """Epochs after which cuts, pairs and masks repeat, in another order; 0: never. The original's dupe_factor is 40."""
    group_by_length: bool = True
    """Put examples of similar length of a batch into the same microbatch, to pad less."""
    pack: bool = False
    """Put several examples into one row, apart from each other, to pad almost nothing; changes no loss."""

    mask_unit: Literal["words", "whole_word_google", "tokens"] = "words"
    """What n-grams are made of: words of any script, words by the original code's rule (which knows English letters
    only), or single tokens."""
    max_ngram: int = Field(default=3, ge=1, le=16)
    """Longest masked n-gram, in units. Source: ALBERT section 4.1."""
    ngram_weights: Literal["shorter", "equal", "longer", "geometric"] = "shorter"
    """p(n) proportional to 1/n; the same for all n; the first in reverse; or to 0.8^n. Source of the last: SpanBERT."""
    mlm_probability: MlmProbability = 0.15
    """Share of an example's tokens, special ones counted, to predict; or how it changes over a run, such as '0.3 to
    0.15 in 100000 steps'. Held-out text is masked as at the end."""
    max_predictions_per_seq: int | None = Field(default=None, ge=1)
    """Most tokens to predict in one example; the released models were trained with 20."""
    ngrams_cross_segments: bool = False
    """Whether a word or n-gram may begin in the first segment and end in the second, as in the original code."""
    mask_token_prob: float = Field(default=0.8, ge=0, le=1)
    """Share of the predicted tokens that are shown as [MASK]."""
    random_token_prob: float = Field(default=0.1, ge=0, le=1)
    """Share of the predicted tokens that are shown as a random token; the rest is shown unchanged."""
    replacement_unit: Literal["token", "ngram"] = "token"
    """What is shown as [MASK], at random or unchanged as one: each token by itself, or a whole n-gram (SpanBERT)."""
    random_tokens: Literal["ordinary", "include_special"] = "ordinary"
    """Random tokens come from the vocabulary without, or, as in the original code, with the special tokens."""

    @model_validator(mode="before")
    @classmethod
    def _from_preset(cls, values: Any) -> Any:
        if not isinstance(values, dict) or "preset" not in values:
            return values
        rest = dict(values)
        name = rest.pop("preset")
        if name not in PRESETS:
            raise ValueError(f"preset: there is no {name!r}; expected one of {', '.join(PRESETS)}")
        return {**PRESETS[name], **rest}

    @model_validator(mode="after")
    def _shares_fit(self) -> Self:
        if self.mask_token_prob + self.random_token_prob > 1:
            raise ValueError(
                f"mask_token_prob {self.mask_token_prob} and random_token_prob {self.random_token_prob} "
                "must not add up to more than 1; lower one of them"
            )
        return self

    @model_validator(mode="after")
    def _epochs_can_be_counted(self) -> Self:
        if self.short_seq_schedule == "at_random" and not self.dupe_factor:
            raise ValueError(
                "short_seq_schedule at_random: needs dupe_factor, since the sizes of endlessly many different epochs "
                "cannot be counted; set it (the original's is 40) or take short_seq_schedule in_turn"
            )
        return self
