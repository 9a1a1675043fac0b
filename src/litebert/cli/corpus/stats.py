"""`litebert corpus stats`."""

from litebert.cli.arguments.common import CorpusDirectory, Json, OptionalPath, emit
from litebert.corpus.format.shards import Split
from litebert.corpus.sampling.sampling_settings import SamplingSettings

DRAWN = SamplingSettings()


def stats(
    corpus: CorpusDirectory,
    *,
    split: Split = "train",
    examples: int = 10_000,
    seed: int = 0,
    plots: OptionalPath = None,
    settings: SamplingSettings = DRAWN,
    json: Json = False,
) -> None:
    """Count what a corpus holds, and what examples drawn from it come out as: lengths, masks, labels, padding.

    Args:
        split: the part of the corpus
        examples: how many examples to draw, the first ones of a run; at most an epoch
        seed: seed of that run
        plots: directory for lengths.png and examples.png
    """
    from litebert.commands.corpus_statistics import corpus_statistics

    found = corpus_statistics(corpus, settings, split=split, examples=examples, seed=seed, plots=plots)
    emit(found.to_dict(), found.to_text(), as_json=json)
