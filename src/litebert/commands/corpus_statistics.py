"""A corpus in numbers and pictures. Before: `corpus build`. After: whoever chooses lengths, masks and batch sizes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litebert.analysis.plots import check_plotting, example_counts, length_histograms
from litebert.corpus.format.shards import Corpus, Split
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.statistics.example_statistics import ExampleStatistics, count_examples, shares
from litebert.corpus.statistics.length_histogram import LengthHistogram
from litebert.corpus.statistics.text_statistics import TextStatistics, count_text
from litebert.errors import ConfigError
from litebert.files import translate_os_errors


@dataclass(frozen=True)
class CorpusStatistics:
    """The text of one split, and examples drawn from it."""

    corpus: Path
    split: Split
    text: TextStatistics
    examples: ExampleStatistics

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: counts, and lengths as mean, extremes and quantiles."""
        drawn = self.examples
        return {
            "corpus": str(self.corpus),
            "split": self.split,
            "text": _plain(self.text),
            "examples": {**_plain(drawn), "tokens": drawn.tokens, "masked_share": drawn.masked_share},
        }

    def to_text(self) -> str:
        """Lines for a person."""
        return "\n".join([f"{self.corpus} ({self.split})", self.text.to_text(), self.examples.to_text()])

    def draw(self, directory: Path) -> None:
        """Write `lengths.png` and `examples.png` into a directory."""
        with translate_os_errors(directory):
            directory.mkdir(parents=True, exist_ok=True)
        text, examples, title = self.text, self.examples, f"{self.corpus.name} ({self.split})"
        lengths = {"sentence": text.sentences, "document": text.documents, "example": examples.lengths}
        plain = {name: (found.values, found.counts) for name, found in lengths.items()}
        length_histograms(plain, directory / "lengths.png", title=f"Lengths in {title}")
        example_counts(
            ngrams=shares(examples.ngrams),
            expected_ngrams=examples.expected_ngrams,
            shown=shares(examples.shown),
            labels=shares(examples.labels),
            path=directory / "examples.png",
            title=f"{examples.lengths.total:,} examples of {title}, {examples.masked_share:.1%} of tokens to predict",
        )


def corpus_statistics(
    directory: Path, settings: SamplingSettings, *, split: Split, examples: int, seed: int, plots: Path | None
) -> CorpusStatistics:
    """Count the text of a corpus, draw examples from it, and draw pictures of both if `plots` names a directory."""
    if examples < 1:
        raise ConfigError(f"examples: must be at least 1, found {examples}")
    if plots:
        check_plotting()
    corpus = Corpus.open(directory, split)
    drawn = count_examples(corpus, settings, examples=examples, seed=seed)
    statistics = CorpusStatistics(directory, split, count_text(corpus), drawn)
    if plots:
        statistics.draw(plots)
    return statistics


def _plain(statistics: TextStatistics | ExampleStatistics) -> dict[str, Any]:
    return {
        name: value.to_dict() if isinstance(value, LengthHistogram) else value
        for name, value in vars(statistics).items()
    }
