"""`litebert tokenizer train` and `litebert tokenizer encode`."""

import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Files, Json, emit, print_result
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.corpus.corpus_settings import InvalidRows, InvalidUtf8
from litebert.tokenization.vocabulary_training import TokenizerSettings


def train(
    files: Files,
    *,
    out: Path,
    settings: Annotated[TokenizerSettings, arguments_of(TokenizerSettings)],
    validation_fraction: float = 0.01,
    encoding: str = "utf-8",
    invalid_utf8: InvalidUtf8 = "replace_few",
    text_key: str = "text",
    invalid_rows: InvalidRows = "error",
    json: Json = False,
) -> None:
    """Train a SentencePiece vocabulary on text files, by default with the settings of google-research/albert.

    Prints a report on validation lines, which is also written to report.json in the tokenizer directory.

    Args:
        files: text files, globs or directories (.txt, .jsonl, each also .gz or .zst; .md, .parquet), or data sets of
            the Hugging Face hub (hf:OWNER/NAME[/CONFIG][:SPLIT])
        out: the tokenizer directory to write
        validation_fraction: share of the lines that are not trained on; the report reads at most 10,000 of them
        encoding: encoding of text files and JSON lines, such as cp1252 or gbk
        invalid_utf8: bytes that are not UTF-8, or not `encoding`: `replace` them by U+FFFD, `error`, or (`replace_few`)
            an error if these are ten lines or more, and over 1 % of the lines, of a file or of those read so far
        text_key: key (JSON lines) or column (Parquet, data sets) of the text of a document
        invalid_rows: rows of JSON lines, Parquet or data sets without text: stop, or skip and count them
    """
    from litebert.commands.tokenizer import train as run

    result = run(
        files,
        settings,
        out,
        validation_fraction=validation_fraction,
        encoding=encoding,
        invalid_utf8=invalid_utf8,
        text_key=text_key,
        invalid_rows=invalid_rows,
    )
    print_result(result, as_json=json)


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
