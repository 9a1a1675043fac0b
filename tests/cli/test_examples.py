"""Examples in colour: everything that is said is there, and plain text where colour would be in the way."""

import io

import pytest
from rich.console import Console

from litebert.cli.corpus.print_examples import TWO_TONES, print_examples, takes_colour
from litebert.cli.main import main
from litebert.corpus.statistics.example_view import ShownExample, ShownToken

FIRST = (
    ShownToken("[CLS]", "[CLS]", "read", None),
    ShownToken("▁a", "▁a", "read", None),
    ShownToken("▁hidden", "[MASK]", "masked", 0),
    ShownToken("▁old", "▁sea", "random", 0),
    ShownToken("er", "er", "unchanged", 1),
    ShownToken("[SEP]", "[SEP]", "read", None),
)
EXAMPLE = ShownExample("swapped", 3, (10, 12), (FIRST, FIRST[1:]))


def printed(**console):
    file = io.StringIO()
    print_examples([EXAMPLE], Console(file=file, width=100, **console))
    return file.getvalue()


def test_the_label_both_segments_and_a_legend_are_shown():
    text = printed()
    assert "1   swapped   document 3, sentences 10 to 11: 11 tokens, 6 to predict (55%) in 2 n-grams" in text
    assert "A  [CLS] a hidden old→seaer= [SEP]" in text
    assert "B  a hidden old→seaer= [SEP]" in text
    assert "hidden behind [MASK]" in text


def test_the_space_inside_an_ngram_has_its_colour():
    text = printed(force_terminal=True, color_system="256")
    assert "\x1b[30;48;5;228m \x1b" not in text, "not the space before it"
    assert "\x1b[30;48;5;217m \x1b" in text


def test_neighbouring_ngrams_differ_in_tone():
    assert all(first != second for first, second in TWO_TONES.values())


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour_is_for_terminals_whose_owner_has_not_refused_it(environment, coloured):
    assert takes_colour(Console(force_terminal=True, _environ=environment)) == coloured
    assert not takes_colour(Console(file=io.StringIO(), _environ=environment))


def test_a_terminal_gets_colour_and_a_pipe_plain_text(made, capsys, monkeypatch):
    words = ["corpus", "show", str(made / "corpus"), "--number", "2", "--max-length", "32"]
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(words) == 0
    plain = capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(words) == 0
    coloured = capsys.readouterr().out
    assert "\x1b[" not in plain
    assert "{" in plain
    assert "\x1b[" in coloured


def test_a_preset_is_shown_with_changes(made, capsys):
    words = ["corpus", "show", str(made / "corpus"), "--preset", "tokens", "--mlm-probability", "0.5"]
    assert main(words) == 0
    assert "(5" in capsys.readouterr().out


def test_a_preset_that_is_not_there_is_refused(made, capsys):
    assert main(["corpus", "show", str(made / "corpus"), "--preset", "orginal"]) == 2
    assert "expected one of original" in capsys.readouterr().err
