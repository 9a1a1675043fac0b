"""`litebert corpus build`, `litebert corpus verify` and `litebert corpus show`."""

from dataclasses import asdict
from pathlib import Path
from typing import Literal

from litebert.cli.arguments.common import CorpusDirectory, Files, Json, OptionalName, Several, emit
from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError
from litebert.settings import with_overrides

BUILD = CorpusSettings()
SHOWN = SamplingSettings(max_length=128)


def build(
    files: Files,
    *,
    tokenizer: Path,
    out: Path,
    held_out: Several = (),
    workers: int = 1,
    executor: Literal["processes", "local", "slurm", "ray"] = "processes",
    executor_options: Several = (),
    settings: CorpusSettings = BUILD,
    json: Json = False,
) -> None:
    """Turn text files into a corpus directory. The same command after an interruption redoes only unfinished shards.

    Args:
        files: text files, globs or directories (.txt, .jsonl, each also .gz or .zst; .parquet), or data sets of the
            Hugging Face hub as hf:OWNER/NAME[/CONFIG][:SPLIT]
        tokenizer: tokenizer directory, model directory or .model file
        out: the corpus directory to write
        held_out: further files, all of whose documents are kept for evaluation
        workers: processes, or tasks of the executor, that tokenize; the result does not depend on their number
        executor: processes of this machine, or datatrove's executors (pip install 'litebert[datatrove]'): tasks on
            this machine, on a Slurm cluster, on a Ray cluster
        executor_options: arguments of datatrove's executor, such as partition=cpu time=04:00:00 for Slurm
    """
    from litebert.cli.corpus.progress_bar import build_display
    from litebert.corpus.build.build_corpus import CorpusBuild, build_corpus
    from litebert.durations import readable_seconds
    from litebert.tokenization.tokenizer import Tokenizer

    if executor != "processes":
        from litebert.corpus.build.executors import build_with_datatrove

        options = with_overrides({}, executor_options)
        started = CorpusBuild(files, Tokenizer.load(tokenizer), settings, out, held_out)
        logs = build_with_datatrove(started, executor, tasks=workers, options=options)
        state = "built" if out.exists() else f"handed to {executor}, and there once its last job has run"
        emit({"directory": out, "logs": logs, "built": out.exists()}, f"{out}: {state}; logs: {logs}", as_json=json)
        return
    if executor_options:
        raise ConfigError(f"executor_options: {executor_options} mean nothing to processes; choose another executor")
    with build_display() as listener:
        report = build_corpus(
            files, Tokenizer.load(tokenizer), settings, out, held_out=held_out, workers=workers, listener=listener
        )
    sizes = [
        f"{split.replace('_', '-')}: {size.documents:,} documents, {size.sentences:,} sentences, {size.tokens:,} tokens"
        for split, size in report.splits.items()
    ]
    left_out = [f"{name}: {count:,}" for name, count in report.counts.items()]
    rate = f"{report.text_bytes / 1e6:,.1f} MB of text in {readable_seconds(report.seconds)}"
    kept = [f"{report.reused_shards:,} shards kept from an interrupted build"] if report.reused_shards else []
    emit(asdict(report), "\n".join([f"{out}: {rate}", *sizes, *left_out, *kept]), as_json=json)


def verify(corpus: CorpusDirectory, json: Json = False) -> None:
    """Read every byte of a corpus directory and check sums, ranges and counts."""
    from litebert.corpus.format.verify import verify_corpus

    found = verify_corpus(corpus)
    text = (
        f"{corpus}: whole: {found.files:,} files, {found.documents:,} documents, {found.sentences:,} sentences, "
        f"{found.tokens:,} tokens"
    )
    emit(asdict(found), text, as_json=json)


def show(
    corpus: CorpusDirectory,
    *,
    number: int = 5,
    seed: int = 0,
    preset: OptionalName = None,
    settings: SamplingSettings = SHOWN,
    json: Json = False,
) -> None:
    """Show training examples as they are drawn: both segments, what is masked and by what, the label.

    In colour on a terminal. Elsewhere, or with NO_COLOR set, braces hold an n-gram to be predicted:

      {hidden}  {replaced→random}  {shown as it is=}, with | between the pieces of a word.

    Args:
        number: how many examples, the first ones of a run
        seed: seed of that run
        preset: start from a known way of drawing (original, tokens, whole_words, spans) instead of ours
    """
    from rich.console import Console

    from litebert.cli.corpus.print_examples import print_examples, takes_colour
    from litebert.corpus.format.shards import Corpus
    from litebert.corpus.statistics.example_view import show_examples

    chosen = _with_preset(preset, settings) if preset else settings
    examples = show_examples(Corpus.open(corpus), chosen, count=number, seed=seed)
    if takes_colour(console := Console()) and not json:
        print_examples(examples, console)
        return
    for example in examples:
        emit(example.to_dict(), f"{example.to_text()}\n", as_json=json)


def _with_preset(preset: str, settings: SamplingSettings) -> SamplingSettings:
    """The preset, with the settings that differ from the defaults of this verb."""
    usual = SHOWN.to_dict()
    changed = {name: value for name, value in settings.to_dict().items() if value != usual[name]}
    return SamplingSettings.parse({"preset": preset, "max_length": SHOWN.max_length, **changed}, where="corpus show")
