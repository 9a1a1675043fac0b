"""Trains a SentencePiece vocabulary. Source: the `spm_train` command in the README of google-research/albert."""

import io
import logging
import re
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import Any, Self

import numpy as np
import sentencepiece
from pydantic import Field, model_validator

from litebert.errors import ConfigError, DataError
from litebert.randomness import rng_for
from litebert.tokenization.sentencepiece_model import SentencePieceModel
from litebert.tokenization.sentencepiece_proto import CHARACTER_COVERAGE, MAX_SENTENCE_BYTES
from litebert.tokenization.text_settings import TextSettings
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

MAX_WORD_CHARS = 1000
"""Characters without a space in training: SentencePiece's sums lose precision in words of 50,000, such as a Japanese
document on one line. Pieces have 16 at most."""
MAX_EQUAL_CHARS = 100
"""Equal characters after one another in training: SentencePiece takes minutes for 100,000 hyphens of a rule."""
_RESERVED = "\u2585"
"""SentencePiece's own sign of what is unknown: it skips lines that have it."""
_EQUAL = re.compile(rf"(\S)\1{{{MAX_EQUAL_CHARS},}}")
_LONG_WORD = re.compile(rf"(\S{{{MAX_WORD_CHARS}}})(?=\S)")


class VocabularyTooLargeError(DataError):
    """The texts yield fewer than `vocab_size` pieces: at most `largest`."""

    def __init__(self, vocab_size: int, *, largest: int) -> None:
        self.largest = largest
        super().__init__(
            f"vocab_size: {vocab_size} pieces requested, but the texts yield at most {largest}; "
            f"give --vocab-size {largest} or less, or more text"
        )


class TokenizerSettings(TextSettings):
    """Settings of a vocabulary to train. Defaults: google-research/albert."""

    vocab_size: int = Field(default=30_000, gt=5)
    """Number of pieces, including the five special tokens and `user_defined_symbols`."""

    character_coverage: float = Field(default=CHARACTER_COVERAGE, ge=0.98, le=1.0)
    """Share of the characters of the texts that the vocabulary covers; the rarest become unknown."""

    input_sentence_size: int = Field(default=10_000_000, gt=0)
    """Maximum number of lines to train on; a random sample if there are more."""

    user_defined_symbols: tuple[str, ...] = ("(", ")", '"', "-", ".", "–", "£", "€")
    """Strings that are always single pieces; their ids follow the special tokens, from 5."""

    seed: int = Field(default=0, ge=0)
    """Seed of the sample of lines."""

    @model_validator(mode="after")
    def _validate_user_defined_symbols(self) -> Self:
        """A symbol must be unique and unchanged by normalization; otherwise it would never occur."""
        symbols = {*self.user_defined_symbols, *SentencePieceModel.specials.values()}
        if len(symbols) < len(self.user_defined_symbols) + 5:
            raise ValueError("user_defined_symbols: a symbol is listed twice, or is a special token")
        for symbol in self.user_defined_symbols:
            normalized = self.normalize(symbol)
            if not symbol or symbol != normalized or " " in symbol:
                raise ValueError(
                    f"user_defined_symbols: no normalized text has {symbol!r}; leave it out or give {normalized!r}"
                )
        return self


def train_tokenizer(texts: Iterable[str], settings: TokenizerSettings, out: Path) -> Tokenizer:
    """A tokenizer trained on the lines of `texts` and saved to the directory `out`; equal texts give equal bytes."""
    lines = (with_short_words(_trainable(settings.normalize(line))) for text in texts for line in text.splitlines())
    rng = rng_for(settings.seed, "tokenizer lines")
    sample = sample_lines(filter(None, lines), settings.input_sentence_size, rng=rng)
    if not sample:
        raise DataError("tokenizer training: the texts have no words; give files with text")
    logger.info("training a vocabulary of %d pieces on %d lines", settings.vocab_size, len(sample))
    text_settings = TextSettings(**{name: getattr(settings, name) for name in TextSettings.model_fields})
    tokenizer = Tokenizer(SentencePieceModel(_train(sample, settings), text_settings, where="the trained model"))
    tokenizer.save(out)
    return tokenizer


def _trainable(line: str) -> str:
    return line.replace(_RESERVED, " ").strip() if _RESERVED in line else line


def with_short_words(line: str) -> str:
    """The line with at most `MAX_EQUAL_CHARS`, and with a space after each `MAX_WORD_CHARS` of a longer word."""
    if max(map(len, line.split()), default=0) <= MAX_EQUAL_CHARS:  # as in nearly every line
        return line
    line = _EQUAL.sub(lambda match: match[1] * MAX_EQUAL_CHARS, line)
    return _LONG_WORD.sub(r"\1 ", line)


def sample_lines(lines: Iterable[str], size: int, *, rng: np.random.Generator) -> list[str]:
    """A uniform random sample of `size` lines, or all if there are fewer (reservoir sampling).

    SentencePiece's own sampling uses one generator per process, whose seed can be set only once.
    """
    sample: list[str] = []
    for index, line in enumerate(lines):
        if index < size:
            sample.append(line)
        elif (slot := int(rng.integers(index + 1))) < size:
            sample[slot] = line
    return sample


def _train(lines: list[str], settings: TokenizerSettings) -> bytes:
    """Serialized SentencePiece model of normalized lines."""
    model = io.BytesIO()
    specials = SentencePieceModel.specials
    try:
        _in_thread(
            sentencepiece.SentencePieceTrainer.train,
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type="unigram",
            vocab_size=settings.vocab_size,
            character_coverage=settings.character_coverage,
            max_sentence_length=MAX_SENTENCE_BYTES,
            pad_id=0,
            pad_piece=specials["pad"],
            unk_id=1,
            unk_piece=specials["unk"],
            bos_id=-1,
            eos_id=-1,
            control_symbols=[specials[role] for role in ("cls", "sep", "mask")],
            user_defined_symbols=list(settings.user_defined_symbols),
            num_threads=1,  # float sums, and so the vocabulary, depend on the number of threads
            minloglevel=2,
        )
    except RuntimeError as error:
        raise _translated(error, settings) from None
    return model.getvalue()


def _in_thread(call: Callable[..., None], **arguments: Any) -> None:
    """Call it and wait, so that Ctrl-C ends the wait: Python sees a signal only between its own instructions.

    The call itself continues until it is done, or the process ends.
    """
    ended = Future[None]()

    def run() -> None:
        try:
            ended.set_result(call(**arguments))
        except BaseException as error:
            ended.set_exception(error)

    Thread(target=run, daemon=True).start()
    ended.result()


def _translated(error: RuntimeError, settings: TokenizerSettings) -> ConfigError | DataError:
    """SentencePiece's errors about the size of the vocabulary as errors that name the setting."""
    message = str(error)
    if too_high := re.search(r"value <= (\d+)", message):
        return VocabularyTooLargeError(settings.vocab_size, largest=int(too_high[1]))
    if too_low := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return ConfigError(
            f"vocab_size: {settings.vocab_size} pieces cannot hold the special pieces and the {too_low[1]} characters "
            "that character_coverage asks for; give a larger vocab_size or a smaller character_coverage"
        )
    return DataError(f"tokenizer training: SentencePiece failed: {message}")
