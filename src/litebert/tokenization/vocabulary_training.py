"""Trains a vocabulary by the original's recipe. Before: texts. After: a tokenizer directory for `Tokenizer.load`.

Source: the `spm_train` command in the original's README.
"""

import io
import logging
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import numpy as np
import sentencepiece
from pydantic import Field, model_validator

from litebert.errors import ConfigError, DataError
from litebert.randomness import rng_for
from litebert.tokenization.normalize import normalize
from litebert.tokenization.sentencepiece_model import SentencePieceModel
from litebert.tokenization.text_settings import TextSettings
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

_LARGEST_SENTENCE_BYTES = 2**30
"""SentencePiece would skip longer ones without a word; its own default is 4192."""


class VocabularyTooLargeError(DataError):
    """More pieces were asked for than the texts yield; `largest` is what they do yield."""

    def __init__(self, asked: int, *, largest: int) -> None:
        self.largest = largest
        super().__init__(
            f"vocab_size: {asked} pieces were asked for, but the texts yield at most {largest}; "
            f"give vocab_size={largest} or less, or more text"
        )


class TokenizerSettings(TextSettings):
    """A vocabulary to train. The defaults are the original's."""

    vocab_size: int = Field(default=30_000, gt=5)
    """Number of pieces, the five special ones and the user symbols included."""

    character_coverage: float = Field(default=0.99995, ge=0.98, le=1.0)
    """Share of the characters of the texts that the vocabulary must be able to spell; the rarest become unknown."""

    input_sentence_size: int = Field(default=10_000_000, gt=0)
    """Most lines to train on; of more, so many are drawn by chance."""

    user_defined_symbols: tuple[str, ...] = ("(", ")", '"', "-", ".", "–", "£", "€")
    """Strings that are always a piece of their own; they follow the special pieces, from id 5."""

    seed: int = Field(default=0, ge=0)
    """Seed of the draw of lines."""

    @model_validator(mode="after")
    def _user_symbols_can_occur(self) -> Self:
        """A symbol must be new, and stay as it is when a text is normalised; otherwise it would wait in vain."""
        if (
            len({*self.user_defined_symbols, *SentencePieceModel.specials.values()})
            < len(self.user_defined_symbols) + 5
        ):
            raise ValueError("user_defined_symbols: a symbol stands there twice, or is one of the special pieces")
        for symbol in self.user_defined_symbols:
            seen = normalize(symbol, lowercase=self.lowercase, keep_accents=self.keep_accents)
            if not symbol or symbol != seen or " " in symbol:
                raise ValueError(
                    f"user_defined_symbols: no normalised text holds {symbol!r}; leave it out or give {seen!r}"
                )
        return self


def train_tokenizer(texts: Iterable[str], settings: TokenizerSettings, out: Path) -> Tokenizer:
    """A tokenizer trained on the lines of `texts` and saved to the directory `out`; equal texts give equal bytes."""
    lines = (
        normalize(line, lowercase=settings.lowercase, keep_accents=settings.keep_accents)
        for text in texts
        for line in text.splitlines()
    )
    drawn = draw(filter(None, lines), settings.input_sentence_size, rng=rng_for(settings.seed, "tokenizer lines"))
    if not drawn:
        raise DataError("tokenizer training: the texts hold no words; give files with some text")
    logger.info("training a vocabulary of %d pieces on %d lines", settings.vocab_size, len(drawn))
    text_settings = TextSettings(**{name: getattr(settings, name) for name in TextSettings.model_fields})
    tokenizer = Tokenizer(SentencePieceModel(_train(drawn, settings), text_settings, where="the trained model"))
    tokenizer.save(out)
    return tokenizer


def draw(lines: Iterable[str], most: int, *, rng: np.random.Generator) -> list[str]:
    """All lines, or `most` of them, each as likely as any other.

    SentencePiece could do this, but its generator belongs to the process: the first seed ever set would decide.
    """
    drawn: list[str] = []
    for index, line in enumerate(lines):
        if index < most:
            drawn.append(line)
        elif (place := int(rng.integers(index + 1))) < most:
            drawn[place] = line
    return drawn


def _train(lines: list[str], settings: TokenizerSettings) -> bytes:
    """Serialized SentencePiece model of normalised lines."""
    model = io.BytesIO()
    specials = SentencePieceModel.specials
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type="unigram",
            vocab_size=settings.vocab_size,
            character_coverage=settings.character_coverage,
            max_sentence_length=_LARGEST_SENTENCE_BYTES,
            pad_id=0,
            pad_piece=specials["pad"],
            unk_id=1,
            unk_piece=specials["unk"],
            bos_id=-1,
            eos_id=-1,
            control_symbols=[specials[role] for role in ("cls", "sep", "mask")],
            user_defined_symbols=list(settings.user_defined_symbols),
            num_threads=1,  # sums of floats depend on the number of threads, and so would the vocabulary
            minloglevel=2,
        )
    except RuntimeError as error:
        raise _explained(error, settings) from None
    return model.getvalue()


def _explained(error: RuntimeError, settings: TokenizerSettings) -> ConfigError | DataError:
    """SentencePiece's two complaints about the size of the vocabulary, in our words."""
    message = str(error)
    if too_high := re.search(r"value <= (\d+)", message):
        return VocabularyTooLargeError(settings.vocab_size, largest=int(too_high[1]))
    if too_low := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return ConfigError(
            f"vocab_size: {settings.vocab_size} pieces cannot hold the special pieces and the {too_low[1]} characters "
            "that character_coverage asks for; give a larger vocab_size or a smaller character_coverage"
        )
    return DataError(f"tokenizer training: SentencePiece refused the texts or settings: {message}")
