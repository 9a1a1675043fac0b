"""A tag for each word of a CoNLL file. Before: a model directory and a file. After: a file with the tags.

The output is CoNLL columns (the input's lines with the tag as one more column), a table with a word a row, or JSON
lines with a sentence a row.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from litebert.commands.predict.predict import WRITERS
from litebert.commands.predict.predict_rows import tagged
from litebert.commands.result import Result
from litebert.errors import ConfigError
from litebert.files import write_text
from litebert.inference.predictor import Predictor, TokenPrediction
from litebert.settings import Precision
from litebert.tasks.readers.conll import ENDINGS, Line, read_columns
from litebert.tasks.readers.tables import lines_of, read_text

logger = logging.getLogger(__name__)

WORD_ENDINGS: Final = (*ENDINGS, *WRITERS)
"""What the file with the tags may be called."""


@dataclass(frozen=True)
class TaggedWords(Result):
    """What was written."""

    output: Path
    sentences: int
    words: int
    entities: int
    """Words that the tags mark together."""

    def to_text(self) -> str:
        """One line for a person."""
        return f"{self.output}: {self.words:,} words in {self.sentences:,} sentences tagged, {self.entities:,} entities"


def predict_words(
    model: Path, words_file: Path, output: Path, *, precision: Precision = "fp32", threads: int | None = None
) -> TaggedWords:
    """Tag every word of a file with CoNLL columns, the word first; tags that it holds already do not matter."""
    if output.suffix not in WORD_ENDINGS:
        raise ConfigError(
            f"output: {output.name!r} ends in none of {', '.join(WORD_ENDINGS)}; the ending is the format"
        )
    if output.resolve() == words_file.resolve():
        raise ConfigError(f"output: {output} is the input; write the tags elsewhere")
    sentences = read_columns(words_file)
    predictor = Predictor.load(model, precision=precision, threads=threads)
    answers = predictor.tag([[line.columns[0] for line in lines] for lines in sentences])
    write_text(output, tagged_words(words_file, output, sentences, answers))
    logger.info("%s: %d sentences tagged", output, len(sentences))
    words = sum(map(len, sentences))
    return TaggedWords(output, len(sentences), words, sum(len(answer.entities) for answer in answers))


def tagged_words(
    words_file: Path, output: Path, sentences: Sequence[Sequence[Line]], answers: Sequence[TokenPrediction]
) -> str:
    """What `output` is to hold: the sentences of a file with their tags, as its ending says."""
    if output.suffix in ENDINGS:
        return _columns(lines_of(read_text(words_file)), sentences, answers)
    rows = _by_sentence if output.suffix == ".jsonl" else _by_word
    return WRITERS[output.suffix](output, rows(sentences, answers))


def _columns(texts: list[str], sentences: Sequence[Sequence[Line]], answers: Sequence[TokenPrediction]) -> str:
    """The lines as they were, and behind each word's its tag."""
    for lines, answer in zip(sentences, answers, strict=True):
        for line, tag in zip(lines, answer.tags, strict=True):
            text = texts[line.number - 1].rstrip()
            between = " " if len(line.columns) > 1 and "\t" not in text else "\t"
            texts[line.number - 1] = between.join([text, tag])
    return "".join(f"{text}\n" for text in texts)


def _by_sentence(sentences: Sequence[Sequence[Line]], answers: Sequence[TokenPrediction]) -> list[dict[str, Any]]:
    return [
        {"text": [line.columns[0] for line in lines], **tagged(answer)}
        for lines, answer in zip(sentences, answers, strict=True)
    ]


def _by_word(sentences: Sequence[Sequence[Line]], answers: Sequence[TokenPrediction]) -> list[dict[str, Any]]:
    return [
        {"sentence": number, "word": line.columns[0], "prediction": tag}
        for number, (lines, answer) in enumerate(zip(sentences, answers, strict=True), start=1)
        for line, tag in zip(lines, answer.tags, strict=True)
    ]
