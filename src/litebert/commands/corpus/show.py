"""`corpus show`: the first examples of a training run, in a readable form."""

from pathlib import Path

from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.statistics.example_view import ExampleView, show_examples
from litebert.errors import ConfigError


def show(corpus: Path, settings: SamplingSettings, *, number: int = 5, seed: int = 0) -> list[ExampleView]:
    """The first `number` examples of a run with this seed."""
    if number < 1:
        raise ConfigError(f"number: must be at least 1, found {number}")
    return show_examples(Corpus.open(corpus), settings, count=number, seed=seed)
