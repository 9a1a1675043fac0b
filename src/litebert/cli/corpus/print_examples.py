"""Training examples in colour, for `litebert corpus show` on a terminal. Before: corpus/statistics/example_view.py. After: a person."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from litebert.corpus.statistics.example_view import MaskingOutcome, ShownExample, ShownToken, gap, stretches

TWO_TONES: dict[MaskingOutcome, tuple[str, str]] = {
    "masked": ("black on color(228)", "black on color(221)"),
    "random": ("black on color(217)", "black on color(210)"),
    "unchanged": ("black on color(157)", "black on color(114)"),
}
"""Colours of tokens to be predicted; neighbouring n-grams take turns, so that one can see where one ends."""
LABELS = {"in order": "green", "swapped": "red", "another document": "magenta", "no label": "bright_black"}
SEGMENTS = (("A", "bold cyan"), ("B", "bold magenta"))


def takes_colour(console: Console) -> bool:
    """Whether a person reads this on a terminal and has not set NO_COLOR."""
    return console.is_terminal and not console.no_color


def print_examples(examples: Sequence[ShownExample], console: Console) -> None:
    """Each example under a heading, and at last what the colours mean."""
    for number, example in enumerate(examples, start=1):
        console.print(_heading(number, example))
        console.print(_segments(example), Text(""))
    console.print(_legend())


def _heading(number: int, example: ShownExample) -> Text:
    colour = LABELS[example.label]
    return Text.assemble(
        (f"{number}  ", "bold"), (f" {example.label} ", f"bold reverse {colour}"), ("  " + example.heading(), "dim")
    )


def _segments(example: ShownExample) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for (name, style), segment in zip(SEGMENTS, example.segments, strict=False):
        table.add_row(Text(name, style), Text.assemble(*_coloured(segment)))
    return table


def _coloured(segment: tuple[ShownToken, ...]) -> Iterator[Text]:
    for stretch in stretches(segment):
        yield Text(stretch.before)
        yield Text(stretch.tokens[0].to_text(), _style(stretch.tokens[0]))
        for before, token in pairwise(stretch.tokens):
            # The space inside an n-gram is coloured too, so that the eye sees how far it goes.
            yield Text(gap(before, token), _style(token) if stretch.is_ngram else "")
            yield Text(token.to_text(), _style(token))


def _style(token: ShownToken) -> str:
    if token.ngram is None:
        return "dim" if token.is_special else ""
    return TWO_TONES[token.fate][token.ngram % 2]


def _legend() -> Text:
    meanings: dict[MaskingOutcome, str] = {
        "masked": "hidden behind [MASK]",
        "random": "replaced by a random token→",
        "unchanged": "shown, but to be predicted=",
    }
    parts = [part for fate, text in meanings.items() for part in ((f" {text} ", TWO_TONES[fate][0]), "  ")]
    return Text.assemble(*parts, ("\nThe tone changes from one n-gram to the next.", "dim"))
