"""`litebert tokenizer train` and `litebert tokenizer encode`."""

import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Files, Json, emit
from litebert.tokenization.vocabulary_training import TokenizerSettings

RECIPE = TokenizerSettings()


def train(
    files: Files,
    out: Path,
    settings: TokenizerSettings = RECIPE,
    validation_fraction: float = 0.01,
    json: Json = False,
) -> None:
    """Learn a SentencePiece vocabulary from text files, with the original's recipe unless told otherwise.

    Prints how well it fits lines that it was not trained on; report.json in the tokenizer directory keeps that.

    Args:
        files: text files, globs or directories (.txt, .jsonl, each also compressed)
        out: the tokenizer directory to write
        validation_fraction: share of the lines, at most 10,000, to measure the vocabulary on instead of training on them
    """
    from litebert.commands import tokenizer

    result = tokenizer.train(files, settings, out, validation_fraction=validation_fraction)
    emit(result.to_dict(), result.to_text(), as_json=json)


def encode(
    tokenizer: Annotated[Path, Positional, arg(metavar="TOKENIZER")],
    text: Annotated[tuple[str, ...], Positional, arg(metavar="[TEXTS …]", help_behavior_hint="")] = (),
    json: Json = False,
) -> None:
    """Show the pieces and ids of texts.

    Args:
        tokenizer: a tokenizer directory, a model directory or a .model file
        text: the texts; none reads lines from standard input
    """
    from litebert.commands import tokenizer as runs

    texts = text or tuple(line.rstrip("\n") for line in sys.stdin)
    for row in runs.encode(tokenizer, texts):
        pieces = " ".join(f"{piece}/{index}" for piece, index in zip(row["pieces"], row["ids"], strict=True))
        emit(row, pieces, as_json=json)
