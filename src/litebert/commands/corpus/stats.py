"""`corpus stats`: statistics of a corpus and of the examples drawn from it, with plots."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litebert.analysis.plots import check_plotting, example_counts, length_histograms
from litebert.commands.result import Result
from litebert.corpus.format.shards import Corpus, Split
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.statistics.corpus_statistics import (
    ExampleStatistics,
    LengthHistogram,
    TextStatistics,
    count_examples,
    count_text,
    shares,
)
from litebert.errors import ConfigError
from litebert.files import translate_os_errors


@dataclass(frozen=True)
class StatsResult(Result):
    """Statistics of the text of one split and of examples drawn from it."""

    corpus: Path
    split: Split
    text: TextStatistics
    examples: ExampleStatistics

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: counts, and lengths as mean, minimum, maximum and quantiles."""
        return {
            "corpus": str(self.corpus),
            "split": self.split,
            "text": _plain(self.text),
            "examples": {
                **_plain(self.examples),
                "tokens": self.examples.tokens,
                "masked_share": self.examples.masked_share,
            },
        }

    def to_text(self) -> str:
        """A report of several lines."""
        return "\n".join([f"{self.corpus} ({self.split})", self.text.to_text(), self.examples.to_text()])

    def plot(self, directory: Path) -> None:
        """Write `lengths.png` and `examples.png` into a directory."""
        with translate_os_errors(directory):
            directory.mkdir(parents=True, exist_ok=True)
        text, examples, title = self.text, self.examples, f"{self.corpus.name} ({self.split})"
        histogram_of = {"sentence": text.sentences, "document": text.documents, "example": examples.lengths}
        histograms = {name: (lengths.values, lengths.counts) for name, lengths in histogram_of.items()}
        length_histograms(histograms, directory / "lengths.png", title=f"Lengths in {title}")
        example_counts(
            ngrams=shares(examples.ngrams),
            expected_ngrams=examples.expected_ngrams,
            shown=shares(examples.replacements),
            labels=shares(examples.labels),
            path=directory / "examples.png",
            title=f"{examples.lengths.total:,} examples of {title}, {examples.masked_share:.1%} of tokens predicted",
        )


def stats(
    corpus: Path, settings: SamplingSettings, *, split: Split, examples: int, seed: int, plots: Path | None
) -> StatsResult:
    """Statistics of a split and of its first `examples` examples; plots are written to the directory `plots`."""
    if examples < 1:
        raise ConfigError(f"examples: must be at least 1, found {examples}")
    if plots:
        check_plotting()
    opened = Corpus.open(corpus, split)
    drawn = count_examples(opened, settings, examples=examples, seed=seed)
    result = StatsResult(corpus, split, count_text(opened), drawn)
    if plots:
        result.plot(plots)
    return result


def _plain(statistics: TextStatistics | ExampleStatistics) -> dict[str, Any]:
    return {
        name: value.to_dict() if isinstance(value, LengthHistogram) else value
        for name, value in vars(statistics).items()
    }
