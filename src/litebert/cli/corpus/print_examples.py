"""Print training examples for `litebert corpus show`: in colour on a terminal, else as text or JSON lines."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.console import Console
from rich.table import Table
from rich.text import Text

from litebert.cli.arguments.common import emit
from litebert.corpus.statistics.example_view import ExampleView, MaskingOutcome, TokenView, separator, token_groups

TWO_TONES: dict[MaskingOutcome, tuple[str, str]] = {
    "masked": ("black on color(228)", "black on color(221)"),
    "random": ("black on color(217)", "black on color(210)"),
    "unchanged": ("black on color(157)", "black on color(114)"),
}
"""Colours of predicted tokens; adjacent n-grams alternate between two tones, which shows where one ends."""
LABELS = {"in order": "green", "swapped": "red", "another document": "magenta", "no label": "bright_black"}
SEGMENTS = (("A", "bold cyan"), ("B", "bold magenta"))


def print_examples(examples: Sequence[ExampleView], *, as_json: bool) -> None:
    """Print examples to stdout in the form that suits it."""
    console = Console()
    if supports_colour(console) and not as_json:
        print_in_colour(examples, console)
        return
    for example in examples:
        emit(example.to_dict(), f"{example.to_text()}\n", as_json=as_json)
    if not as_json:
        print("{masked}  {replaced→random}  {unchanged=}, with | between the pieces of a word")


def supports_colour(console: Console) -> bool:
    """Whether stdout is a terminal and NO_COLOR is not set."""
    return console.is_terminal and not console.no_color


def print_in_colour(examples: Sequence[ExampleView], console: Console) -> None:
    """Print each example under a heading, and a legend at the end."""
    for number, example in enumerate(examples, start=1):
        label = (f" {example.label} ", f"bold reverse {LABELS[example.label]}")
        console.print(Text.assemble((f"{number}  ", "bold"), label, ("  " + example.heading(), "dim")))
        table = Table.grid(padding=(0, 2))
        for (name, style), segment in zip(SEGMENTS, example.segments, strict=False):
            table.add_row(Text(name, style), Text.assemble(*_coloured(segment)))
        console.print(table, Text(""))
    console.print(_legend())


def _coloured(segment: tuple[TokenView, ...]) -> Iterator[Text]:
    for group in token_groups(segment):
        yield Text(group.before)
        yield Text(group.tokens[0].to_text(), _style(group.tokens[0]))
        for before, token in pairwise(group.tokens):
            # The space inside an n-gram is coloured too, so that the n-gram is visible as one.
            yield Text(separator(before, token), _style(token) if group.is_ngram else "")
            yield Text(token.to_text(), _style(token))


def _style(token: TokenView) -> str:
    if token.ngram is None:
        return "dim" if token.is_special else ""
    return TWO_TONES[token.outcome][token.ngram % 2]


def _legend() -> Text:
    meanings: dict[MaskingOutcome, str] = {
        "masked": "replaced by [MASK]",
        "random": "replaced by a random token→",
        "unchanged": "predicted, but unchanged=",
    }
    parts = [part for outcome, text in meanings.items() for part in ((f" {text} ", TWO_TONES[outcome][0]), "  ")]
    return Text.assemble(*parts, ("\nAdjacent n-grams have different tones.", "dim"))
