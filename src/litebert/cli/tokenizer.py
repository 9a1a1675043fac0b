"""`litebert tokenizer train` and `litebert tokenizer encode`."""

import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Files, Json, emit, print_result
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.tokenization.vocabulary_training import TokenizerSettings


def train(
    files: Files,
    *,
    out: Path,
    settings: Annotated[TokenizerSettings, arguments_of(TokenizerSettings)],
    validation_fraction: float = 0.01,
    json: Json = False,
) -> None:
    """Train a SentencePiece vocabulary on text files, by default with the settings of google-research/albert.

    Prints a report on validation lines, which is also written to report.json in the tokenizer directory.

    Args:
        files: text files, globs or directories (.txt, .jsonl, each also .gz or .zst; .md, .parquet), or data sets of
            the Hugging Face hub (hf:OWNER/NAME[/CONFIG][:SPLIT])
        out: the tokenizer directory to write
        validation_fraction: share of the lines that are not trained on; the report reads at most 10,000 of them
    """
    from litebert.commands.tokenizer import train as run

    print_result(run(files, settings, out, validation_fraction=validation_fraction), as_json=json)


def encode(
    tokenizer: Annotated[Path, Positional, arg(metavar="TOKENIZER")],
    text: Annotated[tuple[str, ...], Positional, arg(metavar="[TEXTS …]", help_behavior_hint="")] = (),
    json: Json = False,
) -> None:
    """Print the pieces and ids of texts.

    Args:
        tokenizer: a tokenizer directory, a model directory or a .model file
        text: the texts; without texts, lines are read from standard input
    """
    from litebert.commands.tokenizer import encode as run

    texts = text or tuple(line.decode("utf-8", "replace").rstrip("\r\n") for line in sys.stdin.buffer)
    for row in run(tokenizer, texts):
        pieces = " ".join(f"{piece}/{index}" for piece, index in zip(row["pieces"], row["ids"], strict=True))
        emit(row, pieces, as_json=json)
