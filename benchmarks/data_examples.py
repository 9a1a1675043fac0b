"""How fast one core draws masked examples, how little of the rows is padding, and what any step costs to reach.

python benchmarks/data_examples.py CORPUS [MORE_CORPORA...]      further corpora are mixed in, with weight 0.3 each
"""

import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

from litebert.corpus.batches import PretrainBatches
from litebert.corpus.example_settings import ExampleSettings
from litebert.corpus.shards import Corpus

STEPS = 10
BATCH_SIZE, MICROBATCH_SIZE = 256, 32
WAYS = {
    "as they come": {"group_by_length": False},
    "by length (default)": {},
    "packed": {"pack": True},
    "packed spans": {"pack": True, "preset": "spans"},
    "next sentences": {"pairing": "nsp"},
    "the original's": {"preset": "original"},
}


def measure(corpora: list[Corpus], settings: ExampleSettings) -> str:
    """A row of figures, in processor time."""
    began = time.process_time()
    first, *others = corpora
    batches = PretrainBatches(
        first,
        settings,
        batch_size=BATCH_SIZE,
        microbatch_size=MICROBATCH_SIZE,
        seed=1,
        mixed_with=[(corpus, 0.3) for corpus in others],
    )
    batches.microbatches(1_000_000)
    resumed, began = time.process_time() - began, time.process_time()
    drawn = [batch for step in range(STEPS) for batch in batches.microbatches(step)]
    seconds = time.process_time() - began
    examples = sum(batch.num_examples for batch in drawn)
    filled = sum(batch.num_tokens for batch in drawn) / sum(batch.input_ids.numel() for batch in drawn)
    return f"{examples / seconds:10,.0f} {filled:10.1%} {resumed:13.2f}"


def main(*directories: str) -> None:
    corpora = [Corpus.open(directory) for directory in directories]
    print(f"batches of {BATCH_SIZE}, microbatches of {MICROBATCH_SIZE}")
    print("length  way                   examples/s  rows full  step 10^6 (s)")
    for max_length in (128, 512):
        for name, values in WAYS.items():
            settings = ExampleSettings.parse({"max_length": max_length, **values}, where=name)
            print(f"{max_length:6}  {name:20} {measure(corpora, settings)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
