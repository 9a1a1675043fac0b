"""`corpus show`: examples in colour on a terminal, as plain text elsewhere."""

import io

import pytest
from rich.console import Console

from litebert.cli.corpus.print_examples import TWO_TONES, print_in_colour, supports_colour
from litebert.cli.main import main
from litebert.corpus.statistics.example_view import ExampleView, TokenView

FIRST = (
    TokenView("[CLS]", "[CLS]", "not_predicted", None),
    TokenView("▁a", "▁a", "not_predicted", None),
    TokenView("▁hidden", "[MASK]", "masked", 0),
    TokenView("▁old", "▁sea", "random", 0),
    TokenView("er", "er", "unchanged", 1),
    TokenView("[SEP]", "[SEP]", "not_predicted", None),
)
EXAMPLE = ExampleView("swapped", 3, (10, 12), (FIRST, FIRST[1:]))


def printed(**console):
    file = io.StringIO()
    print_in_colour([EXAMPLE], Console(file=file, width=100, **console))
    return file.getvalue()


def test_corpus_show_prints_label_segments_and_legend():
    text = printed()
    assert "1   swapped   document 3, sentences 10 to 11: 11 tokens, 6 to predict (55%) in 2 n-grams" in text
    assert "A  [CLS] a hidden old→seaer= [SEP]" in text
    assert "B  a hidden old→seaer= [SEP]" in text
    assert "replaced by [MASK]" in text


def test_corpus_show_colours_the_space_inside_an_ngram():
    text = printed(force_terminal=True, color_system="256")
    assert "\x1b[30;48;5;228m \x1b" not in text, "not the space before it"
    assert "\x1b[30;48;5;217m \x1b" in text


def test_corpus_show_alternates_the_tone_of_adjacent_ngrams():
    assert all(first != second for first, second in TWO_TONES.values())


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_corpus_show_uses_colour_on_terminals_without_no_color(environment, coloured):
    assert supports_colour(Console(force_terminal=True, _environ=environment)) == coloured
    assert not supports_colour(Console(file=io.StringIO(), _environ=environment))


def test_corpus_show_prints_plain_text_into_a_pipe(made, capsys, monkeypatch):
    words = ["corpus", "show", str(made / "corpus"), "--number", "2", "--max-length", "32"]
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(words) == 0
    plain = capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(words) == 0
    coloured = capsys.readouterr().out
    assert "\x1b[" not in plain
    assert plain.endswith("{masked}  {replaced→random}  {unchanged=}, with | between the pieces of a word\n")
    assert "\x1b[" in coloured


def test_corpus_show_accepts_a_preset_with_changes(made, capsys):
    words = ["corpus", "show", str(made / "corpus"), "--preset", "bert", "--mlm-probability", "0.5"]
    assert main(words) == 0
    assert "(5" in capsys.readouterr().out


def test_corpus_show_refuses_an_unknown_preset(made, capsys):
    assert main(["corpus", "show", str(made / "corpus"), "--preset", "orginal"]) == 2
    assert "expected one of google" in capsys.readouterr().err
