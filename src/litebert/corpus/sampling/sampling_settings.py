"""Settings for drawing examples from a corpus."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from litebert.errors import ConfigError
from litebert.settings import Settings

Pairing = Literal["sop", "nsp", "none"]

PRESETS: dict[str, dict[str, Any]] = {
    # create_pretraining_data.py of google-research/albert with the flags of the released models; see
    # docs/reference/sampling.md.
    "google": {
        "short_seq_schedule": "random",
        "single_sentence_policy": "random_document",
        "dupe_factor": 40,
        "mask_unit": "whole_word_google",
        "max_predictions_per_seq": 20,
        "ngrams_cross_segments": True,
        "random_tokens": "all",
    },
    # Sections 3.1 and 4.1 of the paper; what they leave open is as in `google`.
    "paper": {"short_seq_schedule": "random", "dupe_factor": 40, "random_tokens": "all"},
    # BERT's first release: single tokens.
    "bert": {"mask_unit": "token", "max_ngram": 1},
    # BERT's whole-word masking.
    "bert_whole_word": {"max_ngram": 1},
    # SpanBERT, section 3.1: spans of Geo(0.2) words, at most 10, each replaced as a unit.
    "spanbert": {"max_ngram": 10, "ngram_weights": "geometric", "replacement_unit": "ngram"},
}
"""Published ways of drawing examples, by name: the settings that differ from the defaults."""


def with_preset_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings whose `preset`, if there is one, is replaced by those that it names; settings beside it stay.

    Raises ValueError for an unknown preset.
    """
    rest = dict(values)
    if "preset" not in rest:
        return rest
    name = rest.pop("preset")
    if name not in PRESETS:
        raise ValueError(f"preset: unknown preset {name!r}; expected one of {', '.join(PRESETS)}")
    return {**PRESETS[name], **rest}


_SCHEDULE = re.compile(r"\s*([0-9.]+)\s+to\s+([0-9.]+)\s+in\s+([0-9_]+)\s+steps\s*")
_EXPECTED = "expected a probability between 0 and 1, or a linear schedule such as '0.3 to 0.15 in 100000 steps'"


@dataclass(frozen=True)
class LinearSchedule:
    """A value that moves linearly from `start` to `end` during the first `steps` steps and is constant afterwards."""

    start: float
    end: float
    steps: int

    @classmethod
    def parse(cls, value: float | str) -> Self:
        """The schedule for a constant, or for a text such as `0.3 to 0.15 in 100000 steps`."""
        if isinstance(value, str) and (match := _SCHEDULE.fullmatch(value)):
            start, end, steps = match.groups()
        else:
            start, end, steps = value, value, 0
        try:
            schedule = cls(float(start), float(end), int(steps))
        except ValueError:
            raise ConfigError(_EXPECTED) from None
        if not (0 < schedule.start < 1 and 0 < schedule.end < 1):
            raise ConfigError(_EXPECTED)
        return schedule

    @property
    def largest(self) -> float:
        """The largest value."""
        return max(self.start, self.end)

    def at(self, step: int) -> float:
        """The value at a step, counted from 0."""
        return self.end if step >= self.steps else self.start + (self.end - self.start) * step / self.steps


def _validate(value: float | str) -> float | str:
    LinearSchedule.parse(value)
    return value


MlmProbability = Annotated[float | str, AfterValidator(_validate)]


SMALLEST_SHORT_SEQ_PROB: Final = 0.01
"""Of the probabilities above 0."""
ALWAYS_IN_DIGEST = (
    *("max_length", "short_seq_prob", "short_seq_schedule", "pairing", "single_segment", "single_sentence_policy"),
    *("dupe_factor", "group_by_length", "packing", "causal_fraction", "mask_unit", "max_ngram", "ngram_weights"),
    *("mlm_probability", "max_predictions_per_seq", "ngrams_cross_segments", "mask_token_prob", "random_token_prob"),
    *("replacement_unit", "random_tokens"),
)
"""Settings whose values, also their defaults, are in the digests of the first checkpoints. Add none: see `digested`."""


class SamplingSettings(Settings):
    """How examples are drawn from a corpus while it is read.

    In a recipe, `preset` (google, paper, bert, bert_whole_word, spanbert) sets the values of a published method.
    """

    max_length: int = Field(default=512, ge=8)
    """Maximum number of tokens of an example, [CLS] and [SEP] included."""
    short_seq_prob: float = Field(default=0.1, ge=0, le=1)
    """Share of the epochs in which a document is cut into shorter examples, all of one random length; a document is
    short in one of every `round(1 / short_seq_prob)` epochs. 0: never; otherwise at least 0.01."""
    short_seq_schedule: Literal["periodic", "random"] = "periodic"
    """`periodic`: each document is short in every n-th epoch. `random`: it is short in each epoch with probability
    1/n, as in google-research/albert; this needs `dupe_factor`, because the epochs are counted when a run starts."""
    pairing: Pairing = "sop"
    """Sentence-pair objective: sentence order, next sentence, or none (two segments in order, without a label)."""
    single_segment: bool = False
    """With `pairing: none`: an example is one segment, without [SEP] between two parts, as in RoBERTa (Liu et al. 2019,
    section 4.2). The embedding of the second segment is then not trained. `single_sentence_policy` and
    `ngrams_cross_segments` then concern only the pairs of `eval_pair_objectives`."""
    single_sentence_policy: Literal["no_label", "random_document"] = "no_label"
    """What to do with an example of one sentence, which has no order to predict. `no_label`: one segment without a
    label. `random_document`: a second segment from another document, labelled as swapped, as in
    google-research/albert."""
    dupe_factor: int = Field(default=0, ge=0)
    """Number of epochs after which examples, pairs and masks repeat in another order; 0: never. google-research/albert
    uses 40."""
    group_by_length: bool = True
    """Put examples of similar length into the same microbatch, which reduces padding."""
    packing: bool = False
    """Put several examples into one row, with attention restricted to each; removes padding, changes no loss."""

    causal_fraction: float = Field(default=0.0, ge=0, lt=1)
    """Share of the steps that predict each next token, with attention to earlier tokens only, instead of masked tokens;
    they are spread evenly over the run. Source: GPT-BERT (arXiv 2410.24159)."""
    mask_unit: Literal["whole_word", "whole_word_google", "token"] = "whole_word"
    """What n-grams consist of: words of any script, words by the rule of google-research/albert (which only knows
    English letters), or single tokens."""
    max_ngram: int = Field(default=3, ge=1, le=16)
    """Maximum length of a masked n-gram, in units. Source: ALBERT section 4.1."""
    ngram_weights: Literal["inverse", "uniform", "reversed", "geometric"] = "inverse"
    """p(n) proportional to 1/n (ALBERT), to 1, to 1/n in reverse order, or to 0.8^n (SpanBERT)."""
    mlm_probability: MlmProbability = 0.15
    """Share of the tokens of an example to predict, with special tokens counted; or a linear schedule such as '0.3 to
    0.15 in 100000 steps' (Ankner et al. 2024, arXiv 2305.15096). Validation text is masked with the final value."""
    max_predictions_per_seq: int | None = Field(default=None, ge=1)
    """Maximum number of tokens to predict in one example; the released models were trained with 20."""
    ngrams_cross_segments: bool = False
    """Whether a word or n-gram may start in the first segment and end in the second, as in google-research/albert."""
    mask_token_prob: float = Field(default=0.8, ge=0, le=1)
    """Share of the predicted tokens that are replaced by [MASK]."""
    random_token_prob: float = Field(default=0.1, ge=0, le=1)
    """Share of the predicted tokens that are replaced by a random token; the rest is unchanged."""
    replacement_unit: Literal["token", "ngram"] = "token"
    """Whether [MASK], a random token or no change is drawn for each token, or once for an n-gram (SpanBERT)."""
    random_tokens: Literal["exclude_special", "all"] = "exclude_special"
    """Whether random tokens come from the vocabulary without special tokens, or, as in google-research/albert, from all
    of it."""

    def is_causal(self, step: int) -> bool:
        """Whether a step, counted from 0, predicts next tokens."""
        return math.floor((step + 1) * self.causal_fraction) > math.floor(step * self.causal_fraction)

    def digested(self) -> dict[str, Any]:
        """The values that a digest of the examples is made of.

        A setting of a later version is among them only if it differs from its default, so that the checkpoints of the
        versions without it can still be resumed.
        """
        defaults = type(self)().to_dict()
        return {
            name: value for name, value in self.to_dict().items() if name in ALWAYS_IN_DIGEST or value != defaults[name]
        }

    def validate_masked_only(self) -> None:
        """Raises ConfigError if there are causal steps, for what reads masked examples alone."""
        if self.causal_fraction:
            raise ConfigError(
                f"causal_fraction: {self.causal_fraction}, expected 0: only masked examples are drawn here; set "
                "causal_fraction=0 (`litebert pretrain` has causal steps)"
            )

    @property
    def short_seq_period(self) -> int:
        """Number of epochs in which a document is short once, on average; 0 if it never is."""
        return round(1 / self.short_seq_prob) if self.short_seq_prob else 0

    def with_preset(self, preset: str | None, *, defaults: Self) -> Self:
        """The settings of a preset, with those of these settings that differ from `defaults`; itself without a preset.

        The maximum length is always that of these settings, because presets have none.
        """
        if preset is None:
            return self
        default_values = defaults.to_dict()
        changed = {name: value for name, value in self.to_dict().items() if value != default_values[name]}
        return type(self).parse({"preset": preset, "max_length": self.max_length, **changed}, where="preset")

    @model_validator(mode="before")
    @classmethod
    def _from_preset(cls, values: Any) -> Any:
        return with_preset_values(values) if isinstance(values, dict) else values

    @model_validator(mode="after")
    def _replacement_probabilities_fit(self) -> Self:
        if self.mask_token_prob + self.random_token_prob > 1:
            raise ValueError(
                f"mask_token_prob {self.mask_token_prob} and random_token_prob {self.random_token_prob} "
                "must not add up to more than 1; lower one of them"
            )
        return self

    @model_validator(mode="after")
    def _single_segment_has_no_pair(self) -> Self:
        if self.single_segment and self.pairing != "none":
            raise ValueError(
                f"single_segment: an example of one segment has no order to predict, but pairing is {self.pairing!r}; "
                "set single_segment=false, or pairing=none"
            )
        return self

    @model_validator(mode="after")
    def _cycle_is_countable(self) -> Self:
        if 0 < self.short_seq_prob < SMALLEST_SHORT_SEQ_PROB:
            raise ValueError(
                f"short_seq_prob {self.short_seq_prob}: expected 0 or at least {SMALLEST_SHORT_SEQ_PROB}, because the "
                "examples of every epoch until the short documents repeat are counted"
            )
        return self

    @model_validator(mode="after")
    def _random_schedule_repeats(self) -> Self:
        if self.short_seq_schedule == "random" and not self.dupe_factor:
            raise ValueError(
                "short_seq_schedule random: needs dupe_factor, because the sizes of an endless number of different "
                "epochs cannot be counted; set it (google-research/albert: 40) or use short_seq_schedule periodic"
            )
        return self
