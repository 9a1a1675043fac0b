"""A corpus that was built with the tokenizer of a model."""

from pathlib import Path

from litebert.corpus.format.shards import Corpus, Split
from litebert.errors import ConfigError
from litebert.tokenization.tokenizer import Tokenizer


def open_matching_corpus(corpus: Path, split: Split, *, model: Path) -> Corpus:
    """A split of `corpus`; ConfigError if the tokenizer in the directory `model` is another than the corpus's."""
    opened = Corpus.open(corpus, split)
    if not Tokenizer.load(model).has_ids_of(Tokenizer.load(opened.tokenizer_directory)):
        raise ConfigError(f"{corpus}: was built with another tokenizer than {model}; build it with the model's")
    return opened
