"""Training examples in a readable form, for `litebert corpus show`."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.corpus_examples import ExampleRef
from litebert.corpus.sampling.example_grid import ExampleGrid, to_grid
from litebert.corpus.sampling.masking import MaskedGrid, mask_tokens
from litebert.corpus.sampling.mixture import Mixture
from litebert.corpus.sampling.pairing import IN_ORDER, NO_LABEL, SWAPPED
from litebert.corpus.sampling.pretrain_batches import vocabulary_for
from litebert.corpus.sampling.sampling_settings import LinearSchedule, SamplingSettings
from litebert.errors import ConfigError
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.wordpiece_model import WordPieceModel

MaskingOutcome = Literal["not_predicted", "masked", "random", "unchanged"]
"""What masking did to a token: it is not predicted, or it is predicted and shown as [MASK], as a random token, or as
itself."""
LABEL_NAMES = {
    "sop": {IN_ORDER: "in order", SWAPPED: "swapped", NO_LABEL: "no label"},
    "nsp": {IN_ORDER: "in order", SWAPPED: "another document", NO_LABEL: "no label"},
    "none": {NO_LABEL: "no label"},
}
WORD_START = "▁"


@dataclass(frozen=True)
class TokenView:
    """One token of an example."""

    original: str
    """The piece of the text."""
    shown: str
    """The piece that the model sees."""
    outcome: MaskingOutcome
    ngram: int | None
    """Index of the masked n-gram of this token, counted from 0 in the order of the text."""

    @property
    def is_special(self) -> bool:
        """Whether it is [CLS] or [SEP]."""
        return self.original in ("[CLS]", "[SEP]")

    def to_text(self) -> str:
        """The text; `text→other` if a random token is shown, `text=` if it is predicted but unchanged."""
        if self.outcome == "not_predicted":
            return self.original.replace(WORD_START, "")
        text, shown = (piece.replace(WORD_START, "") or WORD_START for piece in (self.original, self.shown))
        return {"masked": text, "random": f"{text}→{shown}", "unchanged": f"{text}="}[self.outcome]


@dataclass(frozen=True)
class ExampleView:
    """One example as the model of a training run gets it."""

    label: str
    document: int
    """Index of its document."""
    sentences: tuple[int, int]
    """Indices of its first sentence and of the sentence after its last, in the whole corpus."""
    segments: tuple[tuple[TokenView, ...], ...]
    """One or two segments, with special tokens."""

    @property
    def tokens(self) -> tuple[TokenView, ...]:
        """The tokens of all segments."""
        return tuple(token for segment in self.segments for token in segment)

    @property
    def num_predicted(self) -> int:
        """Number of tokens to predict."""
        return sum(token.ngram is not None for token in self.tokens)

    @property
    def num_ngrams(self) -> int:
        """Number of masked n-grams."""
        return len({token.ngram for token in self.tokens} - {None})

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def heading(self) -> str:
        """Source and size of the example in one line."""
        first, end = self.sentences
        share, ngrams = self.num_predicted / len(self.tokens), self.num_ngrams
        return (
            f"document {self.document}, sentences {first} to {end - 1}: {len(self.tokens)} tokens, "
            f"{self.num_predicted} to predict ({share:.0%}) in {ngrams} n-gram{'s' * (ngrams > 1)}"
        )

    def to_text(self) -> str:
        """The heading and the segments; braces enclose a masked n-gram, `|` separates the pieces of a word in it."""
        lines = [f"{name}  {''.join(_plain(segment))}" for name, segment in zip("AB", self.segments, strict=False)]
        return "\n".join([f"({self.label}) {self.heading()}", *lines])


class TokenGroup(NamedTuple):
    """Adjacent tokens of one masked n-gram, or of the text between n-grams."""

    before: str
    """The separator before the first token: a space or nothing."""
    tokens: tuple[TokenView, ...]
    is_ngram: bool


def token_groups(segment: tuple[TokenView, ...]) -> Iterator[TokenGroup]:
    """A segment, cut at the edges of its masked n-grams."""
    last = None
    for ngram, run in groupby(segment, key=lambda token: token.ngram):
        tokens = tuple(run)
        yield TokenGroup(separator(last, tokens[0]) if last else "", tokens, ngram is not None)
        last = tokens[-1]


def separator(before: TokenView, token: TokenView, *, inside: str = "") -> str:
    """What is printed between two tokens: a space at the start of a word, otherwise `inside`."""
    return " " if token.original.startswith(WORD_START) or token.is_special or before.is_special else inside


def _plain(segment: tuple[TokenView, ...]) -> Iterator[str]:
    for group in token_groups(segment):
        inside = "|" if group.is_ngram else ""
        text = group.tokens[0].to_text()
        for before, token in pairwise(group.tokens):
            text += separator(before, token, inside=inside) + token.to_text()
        yield group.before + (f"{{{text}}}" if group.is_ngram else text)


def show_examples(corpus: Corpus, settings: SamplingSettings, *, number: int = 5, seed: int = 0) -> list[ExampleView]:
    """The first `number` examples of a training run with this seed."""
    if number < 1:
        raise ConfigError(f"number: must be at least 1, found {number}")
    settings.validate_masked_only()
    tokenizer, vocabulary = Tokenizer.load(corpus.tokenizer_directory), vocabulary_for(corpus, settings)
    mixture = Mixture([(corpus, 1.0)], settings, seed=seed)
    refs = [mixture.at(position) for position in range(number)]
    examples = [ref.draw() for ref in refs]
    grid = to_grid(examples, vocabulary)
    mlm_probability = LinearSchedule.parse(settings.mlm_probability).at(0)
    masked = mask_tokens(grid, vocabulary, settings, mlm_probability=mlm_probability)
    names = LABEL_NAMES[settings.pairing]
    views = []
    for row, (ref, example) in enumerate(zip(refs, examples, strict=True)):
        tokens, middle = _token_views(grid, masked, row, tokenizer), len(example.first) + 2
        segments = (tokens[:middle], tokens[middle:]) if len(example.second) else (tokens,)
        views.append(ExampleView(names[example.label], *_place(corpus, ref), segments))
    return views


def _place(corpus: Corpus, ref: ExampleRef) -> tuple[int, tuple[int, int]]:
    """Document, and first sentence and the one after the last, in the whole corpus, of which `ref` may see a window."""
    window, document = ref.source.stream.corpus, int(ref.epoch.documents[ref.index])
    first, end = ref.epoch.starts[ref.index : ref.index + 2].tolist()
    shard = int(np.searchsorted(window.first_documents, document, side="right")) - 1
    whole = corpus.entries.index(window.entries[shard])
    moved = int(corpus.first_sentences[whole] - window.first_sentences[shard])
    return document + int(corpus.first_documents[whole] - window.first_documents[shard]), (first + moved, end + moved)


def _token_views(grid: ExampleGrid, masked: MaskedGrid, row: int, tokenizer: Tokenizer) -> tuple[TokenView, ...]:
    ngram_numbers: dict[int, int] = {-1: -1}
    views = []
    for position in range(int(grid.lengths[row])):
        original, shown = int(grid.input_ids[row, position]), int(masked.input_ids[row, position])
        number = ngram_numbers.setdefault(int(masked.ngrams[row, position]), len(ngram_numbers) - 1)
        outcome: MaskingOutcome = "masked" if shown == tokenizer.mask_id else "random"
        if shown == original:
            outcome = "unchanged" if number >= 0 else "not_predicted"
        pieces = _marked_piece(original, tokenizer), _marked_piece(shown, tokenizer)
        views.append(TokenView(*pieces, outcome, number if number >= 0 else None))
    return tuple(views)


def _marked_piece(token: int, tokenizer: Tokenizer) -> str:
    """The piece of a token with `▁` at the start of a word, which WordPiece vocabularies do not have."""
    piece = tokenizer.id_to_piece(token)
    special = (tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id)
    if not isinstance(tokenizer.model, WordPieceModel) or token in special:
        return piece
    return piece.removeprefix("##") if piece.startswith("##") else WORD_START + piece
