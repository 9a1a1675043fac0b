import json

import numpy as np
import pytest

from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.corpus_examples import CorpusExamples
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.statistics.example_view import ExampleView, TokenView, _place, show_examples
from litebert.errors import ConfigError
from litebert.tokenization.tokenizer import Tokenizer
from support.data.corpus_builders import make_corpus

SETTINGS = SamplingSettings(max_length=32)


def test_show_examples_shows_the_examples_of_training(corpus_directory, tokenizer):
    examples = show_examples(Corpus.open(corpus_directory), SETTINGS, number=8, seed=3)
    batches = PretrainBatches(
        Corpus.open(corpus_directory), SETTINGS, batch_size=8, microbatch_size=1, seed=3
    ).microbatches(0)
    seen = {tuple(batch.input_ids[0, : batch.num_tokens].tolist()) for batch in batches}
    ids = {tokenizer.id_to_piece(i): i for i in range(tokenizer.vocab_size)}
    assert {tuple(ids[token.shown] for token in example.tokens) for example in examples} == seen


def test_example_view_is_consistent(corpus_directory):
    for example in show_examples(Corpus.open(corpus_directory), SETTINGS, number=20, seed=3):
        assert example.label in ("in order", "swapped", "no label")
        assert example.tokens[0].original == "[CLS]"
        assert all(segment[-1].original == "[SEP]" for segment in example.segments)
        assert len(example.segments) == (1 if example.label == "no label" else 2)
        for token in example.tokens:
            assert token.original != "[MASK]"
            assert (token.outcome == "not_predicted") == (token.ngram is None)
            assert (token.shown == token.original) == (token.outcome in ("not_predicted", "unchanged"))
            assert (token.shown == "[MASK]") == (token.outcome == "masked")
        numbers = [token.ngram for token in example.tokens if token.ngram is not None]
        assert sorted(set(numbers)) == list(range(example.num_ngrams))
        assert numbers == sorted(numbers)
        assert json.loads(json.dumps(example.to_dict()))["label"] == example.label


@pytest.mark.parametrize(("pairing", "labels"), [("nsp", {"in order", "another document"}), ("none", {"no label"})])
def test_example_view_names_labels_by_the_pairing(corpus_directory, pairing, labels):
    settings = SETTINGS.replace(pairing=pairing)
    examples = show_examples(Corpus.open(corpus_directory), settings, number=40)
    assert {example.label for example in examples} - {"no label"} == labels - {"no label"}


def token(piece, shown=None, ngram=None):
    outcome = "not_predicted" if ngram is None else {None: "unchanged", "[MASK]": "masked"}.get(shown, "random")
    return TokenView(piece, shown or piece, outcome, ngram)


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
def test_example_view_as_plain_text_marks_ngrams_and_replacements(tokens, text):
    shown = ExampleView("no label", 0, (4, 5), (tuple(tokens),)).to_text()
    assert shown.splitlines()[0].startswith("(no label) document 0, sentences 4 to 4")
    assert shown.splitlines()[1] == f"A  {text}"


def test_show_examples_refuses_zero_examples(corpus_directory):
    with pytest.raises(ConfigError, match="number: must be at least 1, found 0"):
        show_examples(Corpus.open(corpus_directory), SETTINGS, number=0)


def test_examples_of_a_wordpiece_vocabulary_have_spaces_between_words(tmp_path):
    """Only later pieces of a word are marked there, by `##`."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "film", "was", "go", "##od", "."]
    (tmp_path / "vocab.txt").write_text("\n".join(words) + "\n")
    (tmp_path / "a.txt").write_text("the film was good .\nthe good film .\n")
    tokenizer = Tokenizer.load(tmp_path / "vocab.txt")
    build_corpus([tmp_path / "a.txt"], tokenizer, CorpusSettings(validation_fraction=0.0), tmp_path / "corpus")
    settings = SamplingSettings(max_length=32, mlm_probability=0.01, pairing="none", single_segment=True)
    examples = show_examples(Corpus.open(tmp_path / "corpus"), settings, number=3, seed=0)
    text = examples[0].to_text().replace("{", "").replace("}", "").replace("=", "").replace("|", "")
    assert "the film was good . the good film ." in text


def test_document_and_sentences_are_those_of_the_whole_corpus(tmp_path):
    """Also where an example is drawn from a window of the shards in another order."""
    rng = np.random.default_rng(0)
    shards = [[rng.integers(1, 12, rng.integers(1, 9)).tolist() for _ in range(9)] for _ in range(10)]
    corpus = make_corpus(tmp_path, shards)
    examples = CorpusExamples(corpus, SETTINGS, seed=3, window_tokens=700)
    assert len(examples.windows) > 3
    for ref in examples.one_epoch(0):
        document, (first, end) = _place(corpus, ref)
        own = ref.source.corpus.read(*ref.epoch.starts[ref.index : ref.index + 2].tolist())
        assert all(np.array_equal(one, other) for one, other in zip(corpus.read(first, end), own, strict=True))
        shard = int(np.searchsorted(corpus.first_documents, document, side="right")) - 1
        assert corpus.first_sentences[shard] <= first < end <= corpus.first_sentences[shard + 1]
