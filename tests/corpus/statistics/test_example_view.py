import json

import pytest

from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.statistics.example_view import ShownExample, ShownToken, show_examples

SETTINGS = SamplingSettings(max_length=32)


def test_examples_are_shown_as_training_gets_them(corpus_directory, tokenizer):
    examples = show_examples(Corpus.open(corpus_directory), SETTINGS, count=8, seed=3)
    batches = PretrainBatches(
        Corpus.open(corpus_directory), SETTINGS, batch_size=8, microbatch_size=1, seed=3
    ).microbatches(0)
    seen = {tuple(batch.input_ids[0, : batch.num_tokens].tolist()) for batch in batches}
    ids = {tokenizer.id_to_piece(i): i for i in range(tokenizer.vocab_size)}
    assert {tuple(ids[token.shown] for token in example.tokens) for example in examples} == seen


def test_what_is_shown_of_an_example_is_consistent(corpus_directory):
    for example in show_examples(Corpus.open(corpus_directory), SETTINGS, count=20, seed=3):
        assert example.label in ("in order", "swapped", "no label")
        assert example.tokens[0].piece == "[CLS]"
        assert all(segment[-1].piece == "[SEP]" for segment in example.segments)
        assert len(example.segments) == (1 if example.label == "no label" else 2)
        for token in example.tokens:
            assert token.piece != "[MASK]"
            assert (token.fate == "read") == (token.ngram is None)
            assert (token.shown == token.piece) == (token.fate in ("read", "unchanged"))
            assert (token.shown == "[MASK]") == (token.fate == "masked")
        numbers = [token.ngram for token in example.tokens if token.ngram is not None]
        assert sorted(set(numbers)) == list(range(example.num_ngrams))
        assert numbers == sorted(numbers)
        assert json.loads(json.dumps(example.to_dict()))["label"] == example.label


@pytest.mark.parametrize(("pairing", "labels"), [("nsp", {"in order", "another document"}), ("none", {"no label"})])
def test_labels_are_named_by_the_task(corpus_directory, pairing, labels):
    settings = SETTINGS.replace(pairing=pairing)
    examples = show_examples(Corpus.open(corpus_directory), settings, count=40)
    assert {example.label for example in examples} - {"no label"} == labels - {"no label"}


def token(piece, shown=None, ngram=None):
    fate = "read" if ngram is None else {None: "unchanged", "[MASK]": "masked"}.get(shown, "random")
    return ShownToken(piece, shown or piece, fate, ngram)


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ([token("[CLS]"), token("▁old"), token("er"), token("[SEP]")], "[CLS] older [SEP]"),
        ([token("▁the"), token("▁old", "[MASK]", 0), token("▁man", "[MASK]", 0)], "the {old man}"),
        ([token("▁old", "[MASK]", 0), token("er", "▁sea", 0), token("▁man", None, 0)], "{old|er→sea man=}"),
        ([token("▁old"), token(",", "[MASK]", 0), token("▁so", "[MASK]", 1)], "old{,} {so}"),
        ([token("▁", "[MASK]", 0), token("犬"), token("猫", "犬", 1)], "{▁}犬{猫→犬}"),
        ([token("[CLS]"), token("i"), token("'s"), token("[SEP]")], "[CLS] i's [SEP]"),
        ([token("[CLS]"), token("i", "[MASK]", 0), token("[SEP]")], "[CLS] {i} [SEP]"),
        ([token("▁a"), token("▁"), token("("), token("b")], "a (b"),
    ],
)
def test_plain_text_says_all_that_colour_does(tokens, text):
    shown = ShownExample("no label", 0, (4, 5), (tuple(tokens),)).to_text()
    assert shown.splitlines()[0].startswith("(no label) document 0, sentences 4 to 4")
    assert shown.splitlines()[1] == f"A  {text}"
