"""Examples as a person reads them. Before: pairing, masking. After: the eye of whoever wants to know what a model sees.

`cli/examples.py` colours what is here.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby, pairwise
from typing import Any, Literal

from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.example_grid import ExampleGrid, to_grid
from litebert.corpus.sampling.masking import Masked, mask
from litebert.corpus.sampling.mixture import ExampleRef, Mixture
from litebert.corpus.sampling.mlm_probability import LinearSchedule
from litebert.corpus.sampling.pairing import IN_ORDER, NO_LABEL, SWAPPED, Example
from litebert.corpus.sampling.pretrain_batches import vocabulary_for
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.tokenization.tokenizer import Tokenizer

MaskingOutcome = Literal["read", "masked", "random", "unchanged"]
"""What becomes of a token: it can be read and is not asked for, or it is to be predicted and hidden behind [MASK],
replaced by a random token, or shown as it is."""
LABEL_NAMES = {
    "sop": {IN_ORDER: "in order", SWAPPED: "swapped", NO_LABEL: "no label"},
    "nsp": {IN_ORDER: "in order", SWAPPED: "another document", NO_LABEL: "no label"},
    "none": {NO_LABEL: "no label"},
}
SPACE = "▁"


@dataclass(frozen=True)
class ShownToken:
    """One token of an example."""

    piece: str
    """What the text says."""
    shown: str
    """What the model sees."""
    fate: MaskingOutcome
    ngram: int | None
    """Number of the n-gram it is predicted with, counted from 0 in the order of the text."""

    @property
    def is_special(self) -> bool:
        """Whether it is [CLS] or [SEP]."""
        return self.piece in ("[CLS]", "[SEP]")

    def to_text(self) -> str:
        """The text; `text→other` if a random token is shown, `text=` if it is to be predicted but not hidden."""
        if self.fate == "read":
            return self.piece.replace(SPACE, "")
        text, shown = (piece.replace(SPACE, "") or SPACE for piece in (self.piece, self.shown))
        return {"masked": text, "random": f"{text}→{shown}", "unchanged": f"{text}="}[self.fate]


@dataclass(frozen=True)
class ShownExample:
    """One example, as the model of a training run would get it."""

    label: str
    document: int
    """Number of the document it is from."""
    sentences: tuple[int, int]
    """Numbers of its first sentence and of the one behind its last, in the whole corpus."""
    segments: tuple[tuple[ShownToken, ...], ...]
    """One or two, with the special tokens around them."""

    @property
    def tokens(self) -> tuple[ShownToken, ...]:
        """Those of all segments."""
        return tuple(token for segment in self.segments for token in segment)

    @property
    def num_predicted(self) -> int:
        """Tokens to be predicted."""
        return sum(token.ngram is not None for token in self.tokens)

    @property
    def num_ngrams(self) -> int:
        """n-grams they form."""
        return len({token.ngram for token in self.tokens} - {None})

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def heading(self) -> str:
        """Where it is from and how much of it is hidden, in one line."""
        first, end = self.sentences
        share, ngrams = self.num_predicted / len(self.tokens), self.num_ngrams
        return (
            f"document {self.document}, sentences {first} to {end - 1}: {len(self.tokens)} tokens, "
            f"{self.num_predicted} to predict ({share:.0%}) in {ngrams} n-gram{'s' * (ngrams > 1)}"
        )

    def to_text(self) -> str:
        """The heading, then the segments; n-grams stand in braces, `|` parts the pieces of a word in them."""
        lines = [f"{name}  {''.join(_plain(segment))}" for name, segment in zip("AB", self.segments, strict=False)]
        return "\n".join([f"({self.label}) {self.heading()}", *lines])


@dataclass(frozen=True)
class TokenGroup:
    """Neighbouring tokens with what is written around them."""

    before: str
    """A space, if one is written before the first of them."""
    tokens: tuple[ShownToken, ...]
    """Those of one n-gram, or of the text between n-grams."""

    @property
    def is_ngram(self) -> bool:
        """Whether they are to be predicted."""
        return self.tokens[0].ngram is not None


def stretches(segment: tuple[ShownToken, ...]) -> Iterator[TokenGroup]:
    """A segment cut at the ends of its n-grams."""
    last = None
    for _, run in groupby(segment, key=lambda token: token.ngram):
        tokens = tuple(run)
        yield TokenGroup(gap(last, tokens[0]) if last else "", tokens)
        last = tokens[-1]


def gap(before: ShownToken, token: ShownToken, *, inside: str = "") -> str:
    """What is written between two tokens: a space at the beginning of a word, otherwise `inside`."""
    return " " if token.piece.startswith(SPACE) or token.is_special or before.is_special else inside


def _plain(segment: tuple[ShownToken, ...]) -> Iterator[str]:
    for stretch in stretches(segment):
        inside = "|" if stretch.is_ngram else ""
        text = stretch.tokens[0].to_text()
        for before, token in pairwise(stretch.tokens):
            text += gap(before, token, inside=inside) + token.to_text()
        yield stretch.before + (f"{{{text}}}" if stretch.is_ngram else text)


def show_examples(corpus: Corpus, settings: SamplingSettings, *, count: int = 5, seed: int = 0) -> list[ShownExample]:
    """The first examples that a training run with this seed is given."""
    tokenizer, vocabulary = Tokenizer.load(corpus.tokenizer_directory), vocabulary_for(corpus, settings)
    mixture = Mixture([(corpus, 1.0)], settings, seed=seed)
    places = [mixture.at(position) for position in range(count)]
    examples = [place.draw() for place in places]
    grid = to_grid(examples, vocabulary)
    masked = mask(grid, vocabulary, settings, mlm_probability=LinearSchedule.parse(settings.mlm_probability).at(0))
    names = LABEL_NAMES[settings.pairing]
    return [
        _show(place, names[example.label], _tokens(grid, masked, row, tokenizer), example)
        for row, (place, example) in enumerate(zip(places, examples, strict=True))
    ]


def _show(place: ExampleRef, label: str, tokens: tuple[ShownToken, ...], example: Example) -> ShownExample:
    middle = len(example.first) + 2
    segments = (tokens[:middle], tokens[middle:]) if len(example.second) else (tokens,)
    sentences = int(place.epoch.starts[place.index]), int(place.epoch.starts[place.index + 1])
    return ShownExample(label, int(place.epoch.documents[place.index]), sentences, segments)


def _tokens(grid: ExampleGrid, masked: Masked, row: int, tokenizer: Tokenizer) -> tuple[ShownToken, ...]:
    numbers: dict[int, int] = {-1: -1}
    found = []
    for position in range(int(grid.lengths[row])):
        told, shown = int(grid.input_ids[row, position]), int(masked.input_ids[row, position])
        first_word = int(masked.ngrams[row, position])
        number = numbers.setdefault(first_word, len(numbers) - 1)
        fate = _fate(told, shown, tokenizer.mask_id) if number >= 0 else "read"
        pieces = tokenizer.id_to_piece(told), tokenizer.id_to_piece(shown)
        found.append(ShownToken(*pieces, fate, number if number >= 0 else None))
    return tuple(found)


def _fate(told: int, shown: int, mask_id: int) -> MaskingOutcome:
    if shown == mask_id:
        return "masked"
    return "unchanged" if shown == told else "random"
