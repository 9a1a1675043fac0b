"""`litebert corpus build`, `verify`, `show` and `stats`."""

from pathlib import Path
from typing import Annotated

from litebert.cli.arguments.common import (
    CorpusDirectory,
    FilesOrValidation,
    Json,
    OptionalName,
    OptionalPath,
    Several,
    print_result,
)
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import Split
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.datatrove_stages import Executor

SHOW = SamplingSettings(max_length=128)


def build(
    files: FilesOrValidation,
    *,
    tokenizer: Path,
    out: Path,
    validation: Several = (),
    workers: int = 1,
    executor: Executor = "processes",
    executor_options: Several = (),
    settings: Annotated[CorpusSettings, arguments_of(CorpusSettings)],
    json: Json = False,
) -> None:
    """Turn text files into a corpus directory. After an interruption the same command reuses finished shards.

    Args:
        files: text files, globs or directories (.txt, .jsonl, each also .gz or .zst; .md, .parquet), or data sets of
            the Hugging Face hub as hf:OWNER/NAME[/CONFIG][:SPLIT]
        tokenizer: tokenizer directory, model directory or .model file
        out: the corpus directory to write
        validation: further files, whose documents are all in the validation split
        workers: number of processes, or of tasks of the executor, that tokenize; it does not change the result
        executor: processes of this machine, or an executor of datatrove (pip install 'litebert[datatrove]'): local
            tasks, a Slurm cluster, a Ray cluster
        executor_options: arguments of the datatrove executor, such as partition=cpu time=04:00:00 for Slurm
    """
    from litebert.cli.corpus.progress_bar import build_display
    from litebert.commands.corpus.build import build as run

    with build_display() as progress:
        result = run(
            files,
            tokenizer,
            settings,
            out,
            validation=validation,
            workers=workers,
            executor=executor,
            executor_options=executor_options,
            progress=progress,
        )
    print_result(result, as_json=json)


def verify(corpus: CorpusDirectory, json: Json = False) -> None:
    """Read every byte of a corpus directory and check checksums, values and counts."""
    from litebert.corpus.format.verification import verify_corpus

    print_result(verify_corpus(corpus), as_json=json)


def show(
    corpus: CorpusDirectory,
    *,
    number: int = 5,
    seed: int = 0,
    preset: OptionalName = None,
    settings: Annotated[SamplingSettings, arguments_of(SamplingSettings, defaults=SHOW)],
    json: Json = False,
) -> None:
    """Show training examples: both segments, the masked tokens with their replacements, the label.

    In colour on a terminal. Otherwise, or if NO_COLOR is set, braces enclose a masked n-gram:

      {masked}  {replaced→random}  {unchanged=}, with | between the pieces of a word.

    Args:
        number: number of examples, the first ones of a run
        seed: seed of that run
        preset: a published method (google, paper, bert, bert_whole_word, spanbert) instead of the defaults
    """
    from litebert.cli.corpus.print_examples import print_examples
    from litebert.corpus.format.shards import Corpus
    from litebert.corpus.statistics.example_view import show_examples

    sampling = settings.with_preset(preset, defaults=SHOW)
    examples = show_examples(Corpus.open(corpus), sampling, number=number, seed=seed)
    print_examples(examples, as_json=json)


def stats(
    corpus: CorpusDirectory,
    *,
    split: Split = "train",
    examples: int = 10_000,
    seed: int = 0,
    plots: OptionalPath = None,
    settings: Annotated[SamplingSettings, arguments_of(SamplingSettings)],
    json: Json = False,
) -> None:
    """Statistics of a corpus and of examples drawn from it: lengths, masks, labels, padding.

    Args:
        split: the split of the corpus
        examples: number of examples to draw, the first ones of a run; at most one epoch
        seed: seed of that run
        plots: directory for lengths.png and examples.png
    """
    from litebert.commands.corpus.stats import stats as run

    print_result(run(corpus, settings, split=split, examples=examples, seed=seed, plots=plots), as_json=json)
