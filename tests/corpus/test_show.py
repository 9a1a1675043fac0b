import pytest

from litebert.corpus.example_settings import ExampleSettings
from litebert.corpus.shards import Corpus
from litebert.corpus.show import ShownToken, show_examples


def test_examples_are_shown_as_training_gets_them(corpus_directory):
    examples = show_examples(Corpus.open(corpus_directory), ExampleSettings(max_length=32), count=8, seed=3)
    assert len(examples) == 8
    for example in examples:
        assert example.label in ("in order", "not in order", "no label")
        assert example.tokens[0].piece == "[CLS]"
        assert example.tokens[-1].piece == "[SEP]"
        assert all(token.piece != "[MASK]" for token in example.tokens)
        assert len(example.to_text().splitlines()) == (2 if example.label == "no label" else 3)
        assert example.to_dict()["label"] == example.label
    assert any(token.predicted and token.shown == "[MASK]" for e in examples for token in e.tokens)


@pytest.mark.parametrize(
    ("shown", "predicted", "text"),
    [("▁old", False, "▁old"), ("▁old", True, "{▁old}"), ("[MASK]", True, "{▁old→[MASK]}")],
)
def test_what_is_to_be_predicted_is_marked(shown, predicted, text):
    assert ShownToken("▁old", shown, 0, predicted).to_text() == text
