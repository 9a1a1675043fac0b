"""How fast one core draws masked examples and builds a corpus from text. Needs text files and a tokenizer.

python benchmarks/data_examples.py TOKENIZER TEXT...
"""

import sys
import tempfile
import time
from pathlib import Path

from litebert.corpus.batches import PretrainBatches
from litebert.corpus.build import build_corpus
from litebert.corpus.example_settings import ExampleSettings
from litebert.corpus.settings import CorpusSettings
from litebert.corpus.shards import Corpus
from litebert.tokenization.tokenizer import Tokenizer

STEPS = 10


def examples_per_second(corpus: Corpus, *, max_length: int, microbatch_size: int, **settings) -> float:
    """Rate over some batches of 256, in processor time, after the tables of the epoch are made."""
    batches = PretrainBatches(
        corpus,
        ExampleSettings(max_length=max_length, **settings),
        batch_size=256,
        microbatch_size=microbatch_size,
        seed=1,
    )
    batches.microbatches(0)
    started = time.process_time()
    drawn = sum(batch.num_examples for step in range(1, 1 + STEPS) for batch in batches.microbatches(step))
    return drawn / (time.process_time() - started)


def main(tokenizer: str, *texts: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        started = time.process_time()
        report = build_corpus(texts, Tokenizer.load(tokenizer), CorpusSettings(), Path(directory) / "corpus")
        seconds = time.process_time() - started
        size = sum(path.stat().st_size for path in report.directory.rglob("*") if path.is_file())
        print(f"build: {report.text_bytes / 1e6:.1f} MB of text, {report.text_bytes / 1e6 / seconds:.1f} MB/s a core")
        print(f"corpus: {size / 1e6:.1f} MB, {report.splits['train'].tokens} tokens to train on")
        corpus = Corpus.open(report.directory)
        for max_length in (128, 512):
            started = time.process_time()
            PretrainBatches(
                corpus, ExampleSettings(max_length=max_length), batch_size=1, microbatch_size=1, seed=1
            ).microbatches(0)
            print(f"first batch at length {max_length}: {time.process_time() - started:.2f} s")
            for microbatch_size in (8, 32, 128):
                rate = examples_per_second(corpus, max_length=max_length, microbatch_size=microbatch_size)
                print(f"length {max_length}, microbatches of {microbatch_size}: {rate:.0f} examples/s a core")


if __name__ == "__main__":
    main(*sys.argv[1:])
